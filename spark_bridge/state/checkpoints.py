"""Notes in checkpoints: what a query was, in its checkpoint's folder, so that a restart is checked before it runs.

The states themselves refuse what does not fit, but in a worker, at the first row. The note lets `Frames.start` say it
at once, and ignore columns that are new. It stands beside Spark's own files, which nothing of it depends on: without
it the states still decide.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from cartesius.engines.program_cards import differences, shown
from cartesius.errors import SnapshotMismatch
from spark_bridge.columns.column_drifts import gained, lost, moved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_NOTE: Final = "cartesius.json"
_LOG = logging.getLogger("spark_bridge")


class HadoopFile:
    """A small file, of any file system that Spark knows.

    Args:
        spark: A session with a JVM; Spark Connect has no way to the files.
        folder: Its folder.
        name: Its name in there.
    """

    def __init__(self, spark: SparkSession, folder: str, name: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        configuration: Any = spark.sparkContext._jsc
        path = jvm.org.apache.hadoop.fs.Path
        given = path(path(folder), name)
        self._files = given.getFileSystem(configuration.hadoopConfiguration())
        self.path = self._files.makeQualified(given)  # one for all ways to write it

    def exists(self) -> bool:
        """Return whether it is there."""
        return bool(self._files.exists(self.path))

    def read(self) -> str:
        """Return what is in it."""
        stream = self._files.open(self.path)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, text: str) -> None:
        """Write it, in the place of the one there is."""
        stream = self._files.create(self.path, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()


class CheckpointNote:
    """The note of one checkpoint, whose folder is of any file system that Spark knows."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._file = HadoopFile(spark, checkpoint, _NOTE)
        self._commits = HadoopFile(spark, checkpoint, "commits")

    def read(self) -> dict[str, Any] | None:
        """Return the note; None if no micro-batch was committed, so that there is no state to fit."""
        if not (self._commits.exists() and self._file.exists()):
            return None
        try:
            found: dict[str, Any] = dict(json.loads(self._file.read()))
        except (TypeError, ValueError) as error:
            message = (
                f"{self._file.path}: expected what a query has noted of its program but it is damaged ({error});"
                " bring it back from a copy, or begin anew in another checkpoint"
            )
            raise SnapshotMismatch(message) from error
        return found

    def write(self, note: Mapping[str, Any]) -> None:
        """Write the note, in the place of the one there is."""
        self._file.write(json.dumps(note))


def objection(before: Mapping[str, Any], now: Mapping[str, Any], carried: Mapping[str, Any]) -> str:
    """Return why a query cannot go on from a checkpoint; empty if it can.

    Args:
        before: The note in the checkpoint.
        now: That of the query.
        carried: The fingerprints of the programs whose state it carries over.
    """
    if "buckets" not in before["about"]:
        return "it was written by an earlier release, whose states say less of their query; go on with that one"
    if reason := moved(before["about"], now["about"]):
        return reason
    if before["waits"] != now["waits"]:
        return "its rows wait for the watermark in one of the two, but not in the other; keep order= and sequence="
    if before["program"] != now["program"] and before["program"] not in carried:
        found = differences(json.dumps(before["about"]["program"]), json.dumps(now["about"]["program"]))
        return f"it belongs to another program: {shown(found)}; carry it over with spark_bridge.migrate"
    was, is_ = before["about"]["inputs"], now["about"]["inputs"]
    if [*was] != [*is_]:
        return f"its frames were in the order {', '.join(was)}, by which alone Spark knows its sources; write them so"
    return lost(was, is_)


def settled(
    note: CheckpointNote, now: dict[str, Any], carried: Mapping[str, Any]
) -> tuple[dict[str, list[str]], str | None]:
    """Check a query against its checkpoint and note it there.

    Returns:
        The new columns of each source, to be ignored; and the text with which its program began, if it is another one.
        Of a query with that text nothing was checked yet.

    Raises:
        SnapshotMismatch: It cannot go on from there.
    """
    before = note.read()
    if before is None:
        note.write(now)
        return {}, None
    if "text" in before and "text" in now and before["text"] != now["text"]:
        return {}, before["text"]
    reason = objection(before, now, carried)
    if reason:
        message = f"start: expected the query of this checkpoint but {reason}, or begin a new checkpoint"
        raise SnapshotMismatch(message)
    new = gained(before["about"]["inputs"], now["about"]["inputs"])
    told = before.get("ignored", {})
    for source, names in new.items():
        untold = [name for name in names if name not in told.get(source, ())]
        if untold:
            listed = ", ".join(map(repr, untold))
            _LOG.warning("new columns of %r are ignored, as the state of the checkpoint has none: %s", source, listed)
    about = {**now["about"], "inputs": before["about"]["inputs"]}
    note.write({**now, "about": about, "ignored": {**told, **new}})
    return new, None
