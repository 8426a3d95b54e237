"""State reports: what a checkpoint holds, by bucket and slot, and where it is heaviest; ``python -m spark_bridge``.

The states are read by Spark's own state data source, from the last batch that was committed or the one that is asked
for; the query may go on meanwhile. No program is needed.

Source: Spark, State Data Source Integration Guide; DESIGN.md, section 7.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cartesius.columns.stages.rows import Rows
from cartesius.columns.vectors.vectors import Struct
from cartesius.data.events import EPOCH
from cartesius.engines.saving import Memory
from cartesius.errors import InvalidArgument
from spark_bridge.state.checkpoints import reason_of
from spark_bridge.state.state_columns import decoded
from spark_bridge.state.state_headers import split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


@attrs.frozen
class SlotContents:
    """What one slot of one bucket holds.

    Args:
        output: The correlation.
        slot: Its slot.
        rows: How many rows are in its memory.
        oldest: When the oldest of them ended, in time units; None if there is none.
    """

    output: str
    slot: str
    rows: int
    oldest: int | float | None


@attrs.frozen
class BucketContents:
    """What one bucket holds.

    Args:
        bucket: Its number.
        version: How many calls it has seen.
        size: How many bytes its state has.
        slots: What its slots hold, those that share a memory each.
        waiting: How many rows wait for the clock.
        keys: How many rows each partition key has.
    """

    bucket: int
    version: int
    size: int
    slots: tuple[SlotContents, ...]
    waiting: int
    keys: Counter[str] = attrs.field(repr=False)

    @property
    def rows(self) -> int:
        """How many rows are in memory or wait, those of a shared memory counted for each slot."""
        return self.waiting + sum(slot.rows for slot in self.slots)


def contents(blob: bytes) -> BucketContents:
    """Return what is in a blob.

    Raises:
        SnapshotMismatch: It is no state of a bucket, damaged, or has values of a type that is not registered here.
    """
    header, body = split(blob)
    about, state = json.loads(header.about), decoded(body)
    keys: Counter[str] = Counter()
    slots = []
    for output, slot, source, memory in _memories(about["program"], state["engine"]):
        ends, values = _ends(memory), _values(memory, about["keys"].get(source))
        slots.append(SlotContents(output, slot, len(ends), min(ends, default=None)))
        keys.update(map(str, values))
    return BucketContents(header.bucket, header.version, len(blob), tuple(slots), state["waiting"], keys)


def _memories(card: Mapping[str, Any], engine: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    """Iterate over (correlation, slot, source, rows of its memory)."""
    for place, (name, _) in enumerate(engine["layout"]["joins"]):
        slots = card["correlations"][name]["slots"]
        found = engine["columns"][place] if "columns" in engine else engine["joins"][place]["memories"]
        for (slot, source), held in zip(slots.items(), found, strict=True):
            memory = held
            if isinstance(held, tuple):  # it is shared, and is where this says
                other, index = held
                memory = engine["joins"][other]["memories"][index]
            yield name, slot, source.split(" ")[0], memory.rows if isinstance(memory, Memory) else memory


def _ends(memory: Any) -> list[Any]:
    if memory is None:
        return []
    return memory.end.tolist() if isinstance(memory, Rows) else [entry.end for entry in memory]


def _values(memory: Any, column: str | None) -> list[Any]:
    """Return what the rows of a memory have in a column."""
    if memory is None or column is None:
        return []
    if isinstance(memory, Rows):
        vector = memory.payload.item(column) if isinstance(memory.payload, Struct) else None
        return [] if vector is None else vector.to_list()
    found = [entry.value for entry in memory]
    return [value[column] if hasattr(value, "keys") else getattr(value, column, None) for value in found]


_SHOWN: Final = 20


@attrs.frozen
class StateReport:
    """What a checkpoint holds; its text is a table.

    >>> from spark_bridge.state.state_reports import StateReport
    >>> print(StateReport(()))
    no bucket has a state yet

    Args:
        buckets: What each bucket holds, the largest first.
    """

    buckets: tuple[BucketContents, ...]

    @property
    def size(self) -> int:
        """How many bytes all states have."""
        return sum(one.size for one in self.buckets)

    @property
    def heaviest_key(self) -> tuple[str, int] | None:
        """The partition key with most rows, and how many; None if no source is partitioned."""
        counted: Counter[str] = sum((one.keys for one in self.buckets), Counter())
        return max(counted.items(), key=lambda item: item[1], default=None)

    def __str__(self) -> str:
        """Show a line for each bucket and slot, the largest buckets first, and below them what is heaviest."""
        if not self.buckets:
            return "no bucket has a state yet"
        lines = [("bucket", "version", "bytes", "output", "slot", "rows", "oldest event")]
        for one in self.buckets[:_SHOWN]:
            head = (str(one.bucket), str(one.version), f"{one.size:,}")
            for slot in one.slots:
                lines.append((*head, slot.output, slot.slot, f"{slot.rows:,}", _shown(slot.oldest)))
                head = ("", "", "")
            if one.waiting:
                lines.append((*head, "(waiting)", "", f"{one.waiting:,}", ""))
        more = len(self.buckets) - _SHOWN
        first = self.buckets[0]
        rows = sum(one.rows for one in self.buckets)
        below = [f"… and {more} smaller buckets"] if more > 0 else []
        below += [f"in all: {len(self.buckets)} buckets, {self.size:,} bytes, {rows:,} rows"]
        below += [f"heaviest bucket: {first.bucket}, {first.size:,} bytes, {first.rows:,} rows"]
        if self.heaviest_key is not None:
            key, count = self.heaviest_key
            below += [f"heaviest key: {key}, {count:,} rows"]
        return "\n".join([*_table(lines), *below])


def _shown(time: Any) -> str:
    if time is None:
        return ""
    try:
        return (EPOCH + timedelta(microseconds=time)).isoformat(sep=" ", timespec="seconds")
    except (OverflowError, ValueError):  # it is infinite, or of no calendar
        return str(time)


def _table(lines: Sequence[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = (0, 1, 2, 5)  # numbers
    for line in lines:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def report_of(blobs: Iterable[bytes]) -> StateReport:
    """Return the report on the states of buckets."""
    found = sorted(map(contents, blobs), key=lambda one: (-one.size, one.bucket))
    return StateReport(tuple(found))


def state_report(
    checkpoint: str | os.PathLike[str], *, batch: int | None = None, spark: SparkSession | None = None
) -> StateReport:
    """Return what the states in a checkpoint hold: rows per slot, bytes, the oldest event, the heaviest key and bucket.

    >>> from spark_bridge import state_report
    >>> print(state_report("out/checkpoint"))  # doctest: +SKIP

    Args:
        checkpoint: The folder that was given to `Frames.start`.
        batch: The number of a micro-batch whose state is not cleaned up yet; None: the last one.
        spark: The session; by default the active one.

    Raises:
        InvalidArgument: There is no session, or the checkpoint has no state of the bridge, or none that can be read.
        SnapshotMismatch: A state is damaged, or has values of a type that is not registered here: import its module.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        message = "state_report: expected a Spark session but none is active; give spark="
        raise InvalidArgument(message)
    reader = session.read.format("statestore")
    if batch is not None:
        reader = reader.option("batchId", batch)
    try:
        frame = reader.load(os.fspath(checkpoint))
        state = frame.schema["value"].dataType.simpleString()
        if "groupState:struct<engine:binary>" not in state:
            message = (
                f"state_report: expected the checkpoint of a query of the bridge but the state of {checkpoint!r} is"
                f" {state}"
            )
            raise InvalidArgument(message)
        return report_of(bytes(row[0]) for row in frame.select("value.groupState.engine").toLocalIterator())
    except (PySparkException, Py4JJavaError) as error:
        number = "" if batch is None else f" with the number {batch}, which is kept for a while only,"
        message = (
            f"state_report: expected a checkpoint with a committed micro-batch{number} but {checkpoint!r} has none that"
            f" can be read ({reason_of(error)}); give the folder that Frames.start was given"
            f"{'' if batch is None else ', or leave the number out, for the last one'}"
        )
        raise InvalidArgument(message) from error
