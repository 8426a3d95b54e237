"""A requirement is added to a rule pack: the query goes on from its checkpoint, and says what a fresh one would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cartesius import Engine
from dsl import RulePack, Source, require, when
from dsl.units import metres
from spark_bridge import correlate_frames, migrate

pytestmark = pytest.mark.slow  # three queries

START = datetime(2024, 6, 30, tzinfo=UTC)
vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, destination=str)
berth = Source("berth", key="id", id=str, depth=metres)
SCHEMAS = {
    "vessel": "mmsi long, draught double, length double, destination string, at timestamp",
    "berth": "id string, depth double, at timestamp",
}


def pack(*, is_stricter):
    port = RulePack("port", subject=vessel, links=[berth.id == vessel.destination])
    with port, when(vessel.draught >= 1 * metres):
        require(berth.depth - vessel.draught >= 1 * metres, name="clearance")
        if is_stricter:
            require(vessel.length <= 200 * metres, name="length")
    return port


def ships(numbers, draught, length):
    return [(n, float(draught + n % 4), float(length + 10 * n), "AB"[n % 2]) for n in numbers]


FEEDS = [
    {"vessel": ships(range(40), 8, 0), "berth": [("A", 12.0), ("B", 9.5)]},
    {"vessel": ships(range(30, 36), 6, 100), "berth": [("C", 1.0)]},  # the berth calls all buckets
    {"vessel": ships(range(5, 45), 9, 50), "berth": [("B", 20.0)]},
]


class Checkpoint:
    """The files that came, and the query over them."""

    def __init__(self, spark, path):
        self.spark, self.path, self.count = spark, path, 0
        for source in SCHEMAS:
            (path / source).mkdir()

    def add(self, feed):
        for source, rows in feed.items():
            names = [field.split()[0] for field in SCHEMAS[source].split(", ")]
            stamped = [(*row, START + timedelta(minutes=self.count, seconds=place)) for place, row in enumerate(rows)]
            table = pa.table(dict(zip(names, map(list, zip(*stamped, strict=True)), strict=True)))
            table = table.set_column(len(names) - 1, "at", table.column("at").cast(pa.timestamp("us", "UTC")))
            pq.write_table(table, self.path / source / f"{self.count:03}.parquet")
            self.count += 1

    def run(self, program):
        streams = {
            name: self.spark.readStream.schema(schema).parquet(str(self.path / name))
            for name, schema in SCHEMAS.items()
        }
        frames = correlate_frames(
            program, streams, event_time="at", partition_by={"vessel": "mmsi"}, buckets=4, order="arrival"
        )
        found = []
        query = frames.start(
            results=lambda batch, _: found.extend(batch.collect()),
            checkpoint=str(self.path / "checkpoint"),
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        return [(row.output, row.change, row.key, row.status) for row in found]  # those of one key in order


def outputs(*, is_stricter):
    port = pack(is_stricter=is_stricter)
    return [port.table(), port.warnings()]


def test_a_requirement_is_added_under_way(spark, tmp_path):
    query, fresh = Checkpoint(spark, tmp_path), Engine(*outputs(is_stricter=True))
    judged: dict[tuple[str, int], str] = {}

    def both(program, feed):
        """Return what the query says of a feed, and what an engine says that had the new rules all the time."""
        query.add(feed)
        given = [
            (event.reactive, "update", event.value.key, event.value.value.status)
            for source in feed
            for row in feed[source]
            for event in fresh.push(fresh.inputs[source], dict(zip(FIELDS[source], row, strict=True)))
        ]
        said = query.run(program)
        judged.update({(output, key): status for output, _, key, status in said})
        return said, given

    old, new = outputs(is_stricter=False), outputs(is_stricter=True)
    both(old, FEEDS[0])
    assert judged != statuses(fresh)  # some are too long
    both(migrate(new, old), FEEDS[1])
    assert judged == statuses(fresh)
    said, given = both(new, FEEDS[2])  # the old program is not needed any more
    assert sorted(said) == sorted(given)
    assert judged == statuses(fresh)


FIELDS = {name: [field.split()[0] for field in schema.split(", ")][:-1] for name, schema in SCHEMAS.items()}


def statuses(engine):
    return {
        (output.name, key): verdict.status for output in engine.outputs for key, verdict in engine.query(output).items()
    }
