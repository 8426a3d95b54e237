"""`make bench-spark ARGS="--only state"`: what a large state costs a micro-batch that touches little of it.

A million ships, by key, in 64 buckets, and a thousand readings of which each bucket has a copy. Once all are there,
micro-batches bring 1 % of the ships, or these and one reading, or one reading alone. Beside the library's states, each
one blob, stand the prototypes of `spark_segments`, for which `transformWithState` holds a map.

What is written is what has come into the folder of the states, as RocksDB's log of changes is on. The time of the
processor is that of this process and all that it has started, so what else runs on the machine counts for less.
"""

from __future__ import annotations

import os
from collections import defaultdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import attrs
import numpy as np
import pyarrow as pa
from pyspark.sql import GroupedData, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bench.sheets import Sheet
from bench.spark_segments import ByKey, Log, Whole
from bench.spark_streams import SECONDS, START, scratch, streams, write
from cartesius import Reactive, correlate
from restrictions import key_by, most_recently
from spark_bridge import correlate_frames
from spark_bridge.transport.emission import PART
from spark_bridge.transport.wire import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from cartesius import Reactive as Output
    from spark_bridge.running.buckets import Buckets
    from spark_bridge.state.bucket_states import BucketStates

CONFIGURATION: Final = {
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}
"""What a session must have: each micro-batch is one that is measured, and what it writes is told by one file each."""
BUCKETS: Final = 64
_READINGS: Final = 1_000
_SCHEMAS: Final = {"ship": "at timestamp, k long, g long, n long", "reading": "at timestamp, g long, h long"}
_FILLS: Final = 2
_KINDS: Final = ("1 %", "1 % and a broadcast row", "a broadcast row")
_TICK: Final = os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Cost:
    """What a micro-batch cost: seconds from its trigger to its end, and of the processor, and bytes written."""

    wall: float
    processor: float
    written: int


def kinds(rounds: int) -> list[str]:
    """Return what the micro-batches bring, one after the other; the first ones fill the states, then each warms up."""
    return ["fill"] * _FILLS + list(_KINDS) * (1 + rounds)


def write_ships(folder: Path, keys: int, rounds: int, seed: int = 1) -> None:
    """Write the micro-batches."""
    draw = np.random.default_rng(seed)
    order = np.array_split(draw.permutation(keys), _FILLS)
    for number, kind in enumerate(kinds(rounds)):
        ships = order[number] if kind == "fill" else draw.integers(0, keys, keys // 100 if "1 %" in kind else 0)
        readings = np.arange(_READINGS) if number == 0 else draw.integers(0, _READINGS, int("broadcast" in kind))
        for source, key, n, some in (("ship", "k", "n", ships), ("reading", "g", "h", readings)):
            at = np.sort(draw.integers(0, SECONDS * 1_000_000, len(some))) + START + number * SECONDS * 1_000_000
            columns = {"at": pa.array(at, pa.timestamp("us", "UTC")), key: some}
            if source == "ship":
                columns["g"] = some % _READINGS
            write(folder / source, number, pa.table({**columns, n: draw.integers(0, 1 << 40, len(some))}))


def judged() -> Output:
    """Return each ship with the reading that it refers to, the latest of both."""
    ship, reading = Reactive("ship"), Reactive("reading")
    found: Output = correlate(
        ship=ship,
        reading=reading,
        where=lambda ship, reading: ship.g == reading.g,
        yields=lambda ship, reading: {"k": ship.k, "n": ship.n, "h": reading.h},
        restrict=key_by(ship="k") | most_recently("ship") | key_by(reading="g") | most_recently("reading"),
        name="judged",
    )
    return found


def ours(spark: SparkSession, folder: Path, buckets: int) -> DataFrame:
    """Return the results of the library."""
    frames = correlate_frames(
        judged(),
        streams(spark, folder, _SCHEMAS),
        event_time="at",
        partition_by={"ship": "k"},
        buckets=buckets,
        order="arrival",
        soft_limit=None,
    )
    return frames.results.select("k", "n", "h")


def in_map(spark: SparkSession, folder: Path, states: Callable[[BucketStates], Any]) -> DataFrame:
    """Return the results with states in a map of `transformWithState`, opened and sealed by ``states``."""

    def run(frame: DataFrame, buckets: Buckets, numbers: Sequence[int], **_: Any) -> DataFrame:
        bucket_of = {number: bucket for bucket, number in enumerate(numbers)}
        buckets.states = states(buckets.states)
        done = frame.drop("at").withColumn("bucket", _spread(numbers)).groupBy("bucket")
        return done.transformWithState(Processor(buckets, bucket_of), PART, "append", "None")

    with patch("spark_bridge.frames.run_streaming", run):  # all else is the library's
        return ours(spark, folder, BUCKETS)


def _spread(numbers: Sequence[int]) -> Any:
    return f.element_at(f.array(*map(f.lit, numbers)), f.col("bucket") + 1)


class Processor(StatefulProcessor):
    """Runs buckets, whose states are in maps.

    Args:
        buckets: The program.
        bucket_of: Which bucket travels under which number.
    """

    def __init__(self, buckets: Buckets, bucket_of: dict[int, int]) -> None:
        self.buckets = buckets
        self.bucket_of = bucket_of

    def init(self, handle: Any) -> None:
        """Get the map."""
        self.parts = handle.getMapState("parts", "place long", "part binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        """Run one call."""
        bucket, chunks = self.bucket_of[key[0]], defaultdict(list)
        for row in rows:
            chunks[row.source].append(bytes(row.chunk))
        parts: Any = _Parts(self.parts)  # which these states take in the place of a blob
        for output, part in self.buckets.run(bucket, parts, chunks).parts:
            yield Row(bucket=bucket, output=output, part=bytearray(written(part)))

    def close(self) -> None:
        """Nothing is open."""


@attrs.frozen
class _Parts:
    """Spark's map, of bytes."""

    found: Any

    def get(self, place: int) -> bytes | None:
        value = self.found.getValue((place,))
        return None if value is None else bytes(value[0])

    def put(self, place: int, part: bytes) -> None:
        self.found.updateValue((place,), (bytearray(part),))

    def remove(self, place: int) -> None:
        self.found.removeKey((place,))


_KEYS: Final = {"ship": "k", "reading": "g"}


def sides(keys: int, tell: Callable[[str], None]) -> dict[str, Callable[[SparkSession, Path], DataFrame]]:
    """Return what is compared, by name; the slowest last."""
    designs: dict[str, Callable[[BucketStates], Any]] = {
        "map: a log of changes": Log,
        "map: whole": Whole,
        "map: segments of 1,000 keys": lambda mine: ByKey(mine, _KEYS, max(1, keys // BUCKETS // 1_000)),
        "map: segments of 50 keys": lambda mine: ByKey(mine, _KEYS, max(1, keys // BUCKETS // 50)),
    }
    if not hasattr(GroupedData, "transformWithState"):
        tell("PySpark before 4.1 has no transformWithState of rows: the library's states alone")
        designs = {}
    elif find_spec("google") is None or find_spec("google.protobuf") is None:
        tell("transformWithState needs protobuf, which is not installed: the library's states alone")
        designs = {}
    found: dict[str, Callable[[SparkSession, Path], DataFrame]] = {
        f"ours, {BUCKETS} buckets": partial(ours, buckets=BUCKETS)
    }
    for name, states in designs.items():
        found[name] = partial(in_map, states=states)
    many = max(1, keys // 1_000)
    return {**found, f"ours, {many} buckets": partial(ours, buckets=many)}


def measure(
    spark: SparkSession, keys: int, rounds: int, tell: Callable[[str], None]
) -> Iterator[tuple[str, dict[str, Cost]]]:
    """Iterate over the sides and the median cost of a micro-batch by its kind, of each.

    Args:
        spark: A session with RocksDB and `CONFIGURATION`.
        keys: How many ships.
        rounds: How many micro-batches of each kind are measured.
        tell: Is told the progress.
    """
    with scratch(spark) as folder:
        write_ships(folder, keys, rounds)
        for name, side in sides(keys, tell).items():
            found = _costs(side(spark, folder), kinds(rounds))
            for kind, cost in found.items():
                tell(f"{name}: {kind}: {cost.processor:.2f} s of the processor, {cost.written / 1e6:.2f} MB")
            yield name, found


def _costs(frame: DataFrame, brought: Sequence[str]) -> dict[str, Cost]:
    costs: dict[str, list[Cost]] = defaultdict(list)
    seen: dict[Path, int] = {}
    marks: list[tuple[float, int]] = []
    with scratch(frame.sparkSession) as folder:

        def take(batch: DataFrame, number: int) -> None:
            batch.write.format("noop").mode("append").save()
            now = {path: path.stat().st_size for path in (folder / "state").rglob("*") if path.suffix == ".changelog"}
            marks.append((_processor_time(os.getpid()), sum(now[path] for path in now.keys() - seen.keys())))
            seen.update(now)

        before = _processor_time(os.getpid())
        writer = frame.writeStream.outputMode("append").option("checkpointLocation", str(folder)).foreachBatch(take)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        walls = {one["batchId"]: one["durationMs"]["triggerExecution"] / 1000 for one in query.recentProgress}
    for number, (kind, (time, size)) in enumerate(zip(brought, marks, strict=True)):
        if number >= _FILLS + len(_KINDS):
            costs[kind].append(Cost(walls[number], time - before, size))
        before = time
    return {kind: _median(some) for kind, some in costs.items()}


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        median(one.wall for one in costs),
        median(one.processor for one in costs),
        int(median(one.written for one in costs)),
    )


def _processor_time(root: int) -> float:
    """Return the seconds that a process, and all that it has started, have had the processor."""
    fields = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        fields[int(path.parent.name)] = (int(text[1]), sum(map(int, text[11:15])))
    children: dict[int, list[int]] = defaultdict(list)
    for number, (parent, _) in fields.items():
        children[parent].append(number)
    found, waiting = 0, [root]
    while waiting:
        number = waiting.pop()
        found += fields[number][1]
        waiting += children[number]
    return found / _TICK


def sheet(found: dict[str, dict[str, Cost]]) -> Sheet:
    """Return the table that is printed."""
    rows = tuple(
        (name, kind, f"{cost.wall:.2f}", f"{cost.processor:.2f}", f"{cost.written / 1e6:.2f}")
        for kind in _KINDS
        for name, costs in found.items()
        for cost in [costs[kind]]
    )
    return Sheet(
        "A micro-batch on a large state",
        ("state", "micro-batch", "s", "s of the processor", "MB written"),
        rows,
        left=2,
    )
