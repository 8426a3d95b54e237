"""Notes in checkpoints: what a query was, in its checkpoint's folder, so that a restart is checked before it runs.

The states themselves refuse what does not fit, but in a worker, at the first row. The note lets `Frames.start` say it
at once, and ignore columns that are new. It stands beside Spark's own files, which nothing of it depends on: without
it the states still decide.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from cartesius.errors import InvalidArgument, SnapshotMismatch
from spark_bridge.columns.column_drifts import gained, lost, moved
from spark_bridge.state.migration import ways_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

EXPECTED: Final = "start: expected a folder for checkpoint="
_NOTE: Final = "cartesius.json"
_LOG = logging.getLogger("spark_bridge")


class HadoopFile:
    """A small file, of any file system that Spark knows.

    Args:
        spark: A session with a JVM; Spark Connect has no way to the files.
        folder: Its folder.
        name: Its name in there.
        expected: What the caller of the user's wants, for messages.

    Raises:
        InvalidArgument: There is no such file system, or it refuses; each method raises that.
    """

    def __init__(self, spark: SparkSession, folder: str, name: str, expected: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        configuration: Any = spark.sparkContext._jsc
        path = jvm.org.apache.hadoop.fs.Path
        self._told = expected, folder
        with reaching(*self._told):
            given = path(path(folder), name)
            self._files = given.getFileSystem(configuration.hadoopConfiguration())
            self.path = self._files.makeQualified(given)  # one for all ways to write it

    def exists(self) -> bool:
        """Return whether it is there."""
        with reaching(*self._told):
            return bool(self._files.exists(self.path))

    def is_empty(self) -> bool:
        """Return whether it is a folder with no file in it, or none; names that begin with a dot do not count."""
        with reaching(*self._told):
            found = self._files.listStatus(self.path) if self.exists() else ()
            return all(str(one.getPath().getName()).startswith(".") for one in found)

    def read(self) -> str:
        """Return what is in it."""
        with reaching(*self._told):
            stream = self._files.open(self.path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def write(self, text: str) -> None:
        """Write it, in the place of the one there is."""
        with reaching(*self._told):
            stream = self._files.create(self.path, True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()


@contextmanager
def reaching(expected: str, folder: str) -> Iterator[None]:
    """Say which folder it is, and why, where Java cannot read or write in it."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        message = (
            f"{expected} that Spark can read and write but of {folder!r} it says: {reason_of(error)}; see whether this"
            " user may write there, and whether the session has the jars of that file system"
        )
        raise InvalidArgument(message) from error


def reason_of(error: PySparkException | Py4JJavaError) -> str:
    """Return why Spark or Java refused something, in a line: the innermost cause."""
    if isinstance(error, PySparkException):
        return error.getCondition() or str(error).splitlines()[0]
    found = error.java_exception
    while (cause := found.getCause()) is not None:
        found = cause
    return str(found).splitlines()[0]


class CheckpointNote:
    """The note of one checkpoint, whose folder is of any file system that Spark knows."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._file, self._commits, self._query = (
            HadoopFile(spark, checkpoint, name, EXPECTED) for name in (_NOTE, "commits", "metadata")
        )
        self._running = spark.streams

    def is_of_states(self) -> bool:
        """Return whether there are states, as a micro-batch was committed, or may be, as the query runs meanwhile.

        Spark makes its folders before. It would end what runs for another query that is started on the checkpoint.
        """
        if not self._commits.is_empty():
            return True
        name = self._query.read() if self._query.exists() else ""
        return any(query.id in name for query in self._running.active)

    def read(self) -> dict[str, Any] | None:
        """Return the note; None if Spark has begun no query here."""
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
    if reason := moved(before["about"], now["about"]) or begun(before, now):
        return reason
    if before["program"] != now["program"] and before["program"] not in carried:
        cards = (json.dumps(one["about"]["program"]) for one in (before, now))
        return f"it belongs to another program: {ways_on(*cards)}"
    return lost(before["about"]["inputs"], now["about"]["inputs"])


def begun(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say what Spark holds on to since it began, without any state: its sources, and how a state looks; or nothing."""
    if before["waits"] != now["waits"]:
        return "its rows wait for the watermark in one of the two, but not in the other; keep order= and sequence="
    if before.get("has_watermark", now["has_watermark"]) != now["has_watermark"]:
        had, has = ("a", "none") if before["has_watermark"] else ("no", "one")
        return f"it had {had} watermark, by which states get a column of Spark's, and has {has} now; give it as it was"
    was, is_ = (_frames(one["about"]) for one in (before, now))
    if was != is_:
        return f"its frames were in the order {', '.join(was)}, by which alone Spark knows its sources; write them so"
    return ""


def _frames(about: Mapping[str, Any]) -> list[str]:
    """Return the frames of a query, in order, as far as Spark tells them apart."""
    static = about.get("static", {})
    frames = [f"{name} (static)" if name in static else name for name in about["inputs"]]
    return [*frames, "changes="] if about.get("live", False) else frames


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
    before, has_states = note.read(), note.is_of_states()
    if not has_states:
        _refuse("" if before is None else begun(before, now))
        note.write(now)
    if before is None or not has_states:  # of states without a note nothing is known: they decide themselves
        return {}, None
    if "text" in before and "text" in now and before["text"] != now["text"]:
        return {}, before["text"]
    _refuse(objection(before, now, carried))
    new = gained(before["about"]["inputs"], now["about"]["inputs"])
    told = before.get("ignored", {})
    for source, names in new.items():
        untold = [name for name in names if name not in told.get(source, ())]
        if untold:
            listed = ", ".join(map(repr, untold))
            _LOG.warning("new columns of %r are ignored, as the state of the checkpoint has none: %s", source, listed)
    about = {**now["about"], "inputs": before["about"]["inputs"]}
    kept = {**now, "about": about, "ignored": {**told, **new}}
    if kept != before:  # a driver that dies as it writes leaves a damaged one
        note.write(kept)
    return new, None


def _refuse(reason: str) -> None:
    """Raise `SnapshotMismatch` if there is a reason to."""
    if reason:
        message = f"start: expected the query of this checkpoint but {reason}, or begin a new checkpoint"
        raise SnapshotMismatch(message)
