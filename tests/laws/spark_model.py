"""Spark's part in the bridge, played in Python: what holds here needs no JVM to be tried a thousand times.

`planned` runs `correlate_frames` on frames that are schemas alone, and keeps what it would have handed to Spark: the
sources and the functions that Spark calls. `MicroBatches` then does as Spark does: rows come in partitions, each
packed by a worker of its own; chunks are shuffled; a bucket is called if it has rows or if its timeout lies before the
watermark; the watermark that a call sees is what the micro-batches before it have given; a task may be repeated, and
another worker may go on. What Spark leaves open (how rows are cut into batches, chunks and frames, which order they
have there) is drawn.

Source: Spark's FlatMapGroupsInPandasWithStateExec, EventTimeWatermarkExec and WatermarkTracker; SPARK_FACTS.md.
tests/spark/test_laws.py runs the same programs on Spark itself.
"""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from unittest import mock

import attrs
import pandas as pd
import pyarrow as pa

from spark_bridge import correlate_frames
from spark_bridge.columns.values import arrow_type
from spark_bridge.reading.prefixes import CLOCK
from spark_bridge.running.stateful import batch_call, streaming_call
from spark_bridge.state.engine_cache import ENGINES
from spark_bridge.transport.emission import CHANGES, DELETE, PART, kind_of
from spark_bridge.transport.packing import EVERYWHERE, chunk_schema, packer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import types as t

    from spark_bridge.running.buckets import Buckets
    from spark_bridge.transport.source_frames import Source

MILLISECOND = 1_000
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


@attrs.frozen
class Frame:
    """All of a DataFrame that is asked before Spark comes in."""

    schema: t.StructType
    isStreaming: bool = True

    sparkSession: Any = None
    _jdf: Any = None

    def selectExpr(self, *_: str) -> Frame:
        """Return a frame; nothing is asked of it any more."""
        return self


def plan_of(*nodes) -> Any:
    """Return a plan of Spark's as a frame has it, of nodes one below the other."""
    found: Any = None
    for name in reversed(nodes):
        below = mock.Mock(size=lambda found=found: int(found is not None), apply=lambda _, found=found: found)
        found = mock.Mock(nodeName=lambda name=name: name, children=lambda below=below: below)
    return mock.Mock(queryExecution=lambda: mock.Mock(analyzed=lambda: found))


@attrs.frozen(eq=False)
class Plan:
    """What `correlate_frames` would have handed to Spark."""

    sources: tuple[Source, ...]
    runner: Buckets
    count: int
    has_watermark: bool
    holds: bool
    follows: bool
    close: bool
    numbers: tuple[int, ...]
    called: int
    is_prefix: bool
    delays: Mapping[str, int] | None


def planned(
    program: Any,
    schemas: Mapping[str, t.StructType],
    *,
    is_streaming: bool,
    static: Mapping[str, Sequence[Row]] | None = None,
    **options: Any,
) -> Plan:
    """Run `correlate_frames` up to where Spark comes in; raises what it raises. Static frames have these rows."""
    found: dict[str, Any] = {"has_watermark": False, "holds": False, "follows": False, "close": False, "numbers": ()}
    found |= {"called": 1, "is_prefix": False, "delays": None}
    sources: list[Source] = []
    static = static or {}

    def tagged(source: Source, count: int, _: object, called: int = 1) -> None:
        sources.append(source)
        found.update(count=count, called=called)

    def gathered(source: Source, count: int, _: object) -> dict[int, list[bytes]]:
        sources.append(source)
        by_bucket: dict[int, list[bytes]] = defaultdict(list)
        for _, bucket, chunk in packed(source, static[source.input.name], count, random.Random(0)):
            by_bucket[max(bucket, 0)].append(chunk)
        return by_bucket

    def clock_rows(_: object, __: object, ___: object, watermark: Any, until: None) -> None:
        found["is_prefix"] = True
        if watermark is not None:
            one = {"": watermark} if isinstance(watermark, str) else watermark
            found["delays"] = {name: int(delay.split()[0]) for name, delay in one.items()}  # in milliseconds

    def streaming(_: object, runner: Buckets, numbers: Sequence[int], *, has_watermark: bool, holds: bool) -> None:
        found.update(runner=runner, numbers=tuple(numbers), has_watermark=has_watermark, holds=holds)

    def batch(_: object, runner: Buckets, *, follows: bool, close: bool) -> None:
        found.update(runner=runner, follows=follows, close=close)

    frames: Any = {name: Frame(schema, is_streaming and name not in static) for name, schema in schemas.items()}
    nothing = mock.Mock(return_value=None)
    with (
        mock.patch.multiple(
            "spark_bridge.frames",
            tagged=tagged,
            clock_rows=clock_rows,
            delay_of=nothing,
            united=nothing,
            opened=nothing,
            _watermarked=nothing,
            run_streaming=streaming,
            run_batch=batch,
        ),
        mock.patch("spark_bridge.transport.static_frames.gathered", gathered),
    ):
        correlate_frames(program, frames, **{"event_time": "at", **options})
    return Plan(sources=tuple(sorted(sources, key=lambda source: source.number)), **found)


@attrs.frozen
class Row:
    """A row of a frame: of which source, when (in microseconds), its place in the order, its columns."""

    source: str
    at: int
    columns: Mapping[str, Any]
    sequence: int = 0


@attrs.define
class GroupState:
    """Of Spark's GroupState what the bridge uses, as strict as Spark's own."""

    blob: bytes | None
    watermark: int
    has_timeout: bool
    timeout: int | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a state."""
        return self.blob is not None

    @property
    def get(self) -> tuple[bytes | None]:
        """The state."""
        return (self.blob,)

    def update(self, new: tuple[bytes]) -> None:
        """Set the state."""
        (self.blob,) = new

    def getCurrentWatermarkMs(self) -> int:
        """Return the watermark."""
        assert self.has_timeout, "no watermark is defined in this query"
        return self.watermark

    def setTimeoutTimestamp(self, timestamp: int) -> None:
        """Ask to be called once the watermark has passed a time."""
        assert self.has_timeout
        assert timestamp > 0
        assert timestamp >= self.watermark
        self.timeout = timestamp


class MicroBatches:
    """A query at work.

    Args:
        plan: What runs.
        draw: Decides what Spark leaves open.
        delay: That of the watermark, in milliseconds: of the union, or of each source.
    """

    def __init__(self, plan: Plan, draw: random.Random, delay: int | Mapping[str, int] = 0) -> None:
        self.plan = plan
        self.watermark = 0
        self.results: list[dict[str, Any]] = []
        self.letters: list[dict[str, Any]] = []
        self._draw = draw
        self._delays = delay if not isinstance(delay, int) else {"": delay}
        self._marks: dict[str, int] = {}
        self._before = 0  # the watermark of the last micro-batch
        self._states: dict[int, bytes] = {}
        self._timeouts: dict[int, int] = {}
        self._call = self._called_of(plan)

    @staticmethod
    def _called_of(plan: Plan) -> Any:
        numbers = plan.numbers or (0,)
        return streaming_call(plan.runner, numbers, has_watermark=plan.has_watermark, holds=plan.holds)

    def restart(self, plan: Plan) -> None:
        """Go on from the checkpoint, with another plan, in a new worker."""
        self.plan, self._call = plan, self._called_of(plan)
        ENGINES.clear()

    def run(self, rows: Sequence[Row]) -> None:
        """Run a micro-batch of these rows."""
        before = (dict(self._states), dict(self._timeouts), dict(self._marks), len(self.results), len(self.letters))
        chunks = {self.plan.numbers[bucket]: found for bucket, found in self._shuffled(rows).items()}
        timed_out = {number for number, timeout in self._timeouts.items() if timeout < self.watermark}
        called = [*chunks, *sorted(timed_out - set(chunks))]
        self._draw.shuffle(called)
        try:
            for number in called:
                self._call_group(number, chunks.get(number, []))
        except Exception:  # one task failed: nothing of the micro-batch is committed
            self._states, self._timeouts, self._marks = before[:3]
            del self.results[before[3] :], self.letters[before[4] :]
            raise
        self._before = self.watermark
        if self.plan.has_watermark and len(self._marks) == len(self._delays):
            self.watermark = max(self.watermark, min(self._marks.values()))

    def settle(self) -> None:
        """Run micro-batches without rows, as Spark does while the watermark has moved."""
        while self.plan.has_watermark and self.watermark > self._before:
            self.run([])

    def run_batch(self, rows: Sequence[Row]) -> None:
        """Run all rows as a batch DataFrame."""
        call = batch_call(self.plan.runner, follows=self.plan.follows, close=self.plan.close)
        shuffled = self._shuffled(rows)
        if self.plan.is_prefix and (clock := self.clock_of(rows)) is not None:
            for bucket in range(self.plan.count):
                shuffled[bucket].append((CLOCK, str(clock).encode()))
        for bucket, chunks in shuffled.items():
            self._keep(bucket, [call((bucket,), _frame(chunks))])

    def clock_of(self, rows: Sequence[Row]) -> int | None:
        """Return the clock that a stream of all rows would have come to."""
        times: dict[str, int] = {}
        delays = self.plan.delays
        for row in rows:
            name = row.source if delays is not None and row.source in delays else ""
            times[name] = max(times.get(name, row.at), row.at)
        if delays is None:
            return times[""] + 1 if times.get("", 0) > 0 else None
        marks = [times[name] // MILLISECOND - delay for name, delay in delays.items() if name in times]
        return min(marks) * MILLISECOND + 1 if len(marks) == len(delays) and min(marks) > 0 else None

    @property
    def clock(self) -> int | None:
        """The clock of the next call, in microseconds: nothing that is as late for Spark comes any more."""
        return self.watermark * MILLISECOND + 1 if self.watermark else None

    def _call_group(self, number: int, chunks: list[tuple[int, bytes]]) -> None:
        if self._draw.random() < 0.3:
            ENGINES.clear()  # another worker
        times = 2 if self._draw.random() < 0.1 else 1
        for _ in range(times):  # the first attempt failed after its work was done
            state = GroupState(self._states.get(number), self.watermark, self.plan.has_watermark)
            parts = list(self._call((number,), iter(self._frames(chunks)), state))
        assert state.blob is not None
        self._states[number] = state.blob
        self._timeouts.pop(number, None)
        if state.timeout is not None:
            self._timeouts[number] = state.timeout
        self._keep(self.plan.numbers.index(number), parts)

    def _frames(self, chunks: list[tuple[int, bytes]]) -> list[pd.DataFrame]:
        """Return the chunks of a bucket, in any order, as frames of any length; one empty frame if there are none."""
        if not chunks:
            return [_frame([])]
        chunks = self._draw.sample(chunks, len(chunks))
        each = self._draw.randint(1, len(chunks))
        return [_frame(chunks[first : first + each]) for first in range(0, len(chunks), each)]

    def _shuffled(self, rows: Sequence[Row]) -> dict[int, list[tuple[int, bytes]]]:
        """Return the chunks of each bucket with the place of their source, and move the watermark."""
        found: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for source in self.plan.sources:
            mine = [row for row in rows if row.source == source.input.name]
            self._draw.shuffle(mine)
            partitions = self._draw.randint(1, 3)
            for partition in range(partitions):
                share = mine[partition::partitions]
                for at, bucket, chunk in packed(source, share, self.plan.count, self._draw, self.plan.called):
                    everywhere = range(self.plan.count) if bucket == EVERYWHERE else [bucket]
                    for one in everywhere:
                        found[one].append((source.number, chunk))
                    self._mark(source.input.name, at)
        return found

    def _mark(self, source: str, at: int) -> None:
        name = source if source in self._delays else ""
        if name in self._delays:
            mark = max(0, at // MILLISECOND - self._delays[name])
            self._marks[name] = max(mark, self._marks.get(name, 0))

    def _keep(self, bucket: int, parts: list[pd.DataFrame]) -> None:
        """Take the parts that a call gave, as rows."""
        layout, schema = self.plan.runner.layout, [(field.name, arrow_type(field.dataType)) for field in PART]
        for frame in parts:
            assert list(frame["bucket"]) == [bucket] * len(frame)
            batch = pa.RecordBatch.from_pandas(frame, pa.schema(schema), preserve_index=False)
            for row in (row for made in layout.rows([batch], layout.schema) for row in made.to_pylist()):
                if row["output"] < 0:
                    self.letters.append(row | {"kind": kind_of(row["output"])})
                else:
                    self.results.append(self._result(row))

    def _result(self, row: dict[str, Any]) -> dict[str, Any]:
        layout = self.plan.runner.layout
        name = layout.names[row["output"]]
        change, schema, places = row["change"], layout.schemas[name], layout.value.names
        fields = {field: row[f"value_{places.index(field)}"] for field in layout.own(name).names}
        key = row[f"key_{layout.keys.index(schema.key)}"] if schema.key in layout.keys else None
        times = {name: None if row[name] is None else micros(row[name]) for name in ("start", "end")}
        return {
            "output": name,
            "bucket": row["bucket"],
            "change": CHANGES[change],
            "key": key,
            "value": None if change == DELETE else fields,
        } | times


def packed(
    source: Source, rows: Sequence[Row], count: int, draw: random.Random, called: int = 1
) -> list[tuple[int, int, bytes]]:
    """Return time, bucket and rows of the chunks that a worker makes of its partition."""
    if not rows:
        return []
    columns = [
        *([row.columns[field.name] for row in rows] for field in source.input.schema),
        [row.sequence if source.sequence is not None or source.event_time is None else 0 for row in rows],
        [row.at for row in rows],
        [None] * len(rows),
        [bucket_of(source, row, count) for row in rows],
    ]
    sequence, time, reason, *own = chunk_schema(source.input.schema).types
    kinds = [*own, sequence, time, reason, pa.int32()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    whole = pa.RecordBatch.from_arrays(arrays, names=[f"column {place}" for place in range(len(arrays))])
    size = draw.randint(1, len(rows))
    batches = [whole.slice(first, size) for first in range(0, len(rows), size)]
    found = pa.Table.from_batches(list(packer(source.input.schema, called)(iter(batches))))
    times = found.column("at").cast(pa.int64()).to_pylist()
    return list(zip(times, found.column("bucket").to_pylist(), found.column("chunk").to_pylist(), strict=True))


def bucket_of(source: Source, row: Row, count: int) -> int:
    """Return a bucket that depends on the key alone, as Spark's hash does."""
    if count == 1:
        return 0
    if source.partition is None:
        return EVERYWHERE
    if source.partition == "*":
        return sum(repr((row.at, row.columns)).encode()) * 7919 % 65537 % count
    key = row.columns[source.partition]
    return (int(key) if isinstance(key, int) else sum(str(key).encode())) * 7919 % 65537 % count


def _frame(chunks: Sequence[tuple[int, bytes]]) -> pd.DataFrame:
    return pd.DataFrame({"source": [source for source, _ in chunks], "chunk": [chunk for _, chunk in chunks]})


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
