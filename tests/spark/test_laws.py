"""Random programs on Spark itself: what tests/laws/test_bridge.py says of thousands, for many outputs of one query."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest

from cartesius.analysis.partitioning import Partitioning
from cartesius.errors import InvalidArgument
from cartesius.testing import streams_equivalent
from spark_bridge import correlate_frames
from spark_bridge.columns.values import arrow_type
from tests.laws.bridge_programs import as_rows, by_output, in_order, in_process, together
from tests.laws.spark_model import Row, planned
from tests.spark.test_frames import Folder, micros

SPLIT = {"in0": "k", "in1": "k", "t": "id", "u": "id"}
"""By which column rows are spread; those of in2, in3, w and s go to every bucket."""
DELAY = 5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fits(output):
    try:
        Partitioning((output,), SPLIT)
    except InvalidArgument:
        return False
    return True


class Trial:
    """A program of several outputs, its rows, and what one engine gives of it."""

    def __init__(self, seed, amount):
        self.drawn = together(seed, amount, fits)
        self.rows = in_order(self.drawn.rows, self.drawn.inputs, by_place=False)
        self.options = {
            "event_time": "at",
            "partition_by": {name: SPLIT[name] for name in self.drawn.inputs if name in SPLIT},
            "deleted": "gone",
            "schema": self.drawn.given,
        }
        plan = planned(self.drawn.outputs, self.drawn.schemas, is_streaming=False, **self._without_time())
        self.layout = plan.runner.layout

    def _without_time(self):
        return {name: value for name, value in self.options.items() if name != "event_time"}

    def table_of(self, source, rows):
        mine = [row for row in rows if row.source == source]
        at = [EPOCH + timedelta(microseconds=row.at) for row in mine]
        fields = [field for field in self.drawn.schemas[source] if field.name != "at"]
        columns = {
            field.name: pa.array([row.columns[field.name] for row in mine], arrow_type(field.dataType))
            for field in fields
        }
        return pa.table({"at": pa.array(at, pa.timestamp("us", "UTC")), **columns})

    def tables(self, rows):
        return {source: self.table_of(source, rows) for source in self.drawn.inputs}

    def check(self, found, *, clock, close):
        events, unused = in_process(self.drawn, self.rows, lateness=0, clock=clock, close=close)
        assert not unused
        expected = by_output(as_rows(events, self.layout))
        items: dict[str, list] = {}
        for row in found:
            item = (row.change, repr(None), micros(row.start), micros(row.end), repr({"value": row.value}))
            items.setdefault(row.output, []).append(item)
        assert items.keys() == expected.keys()
        for name, mine in items.items():
            same = streams_equivalent(expected[name], mine)
            assert same, (name, same)


def batch(spark, trial, buckets):
    frames = {source: spark.createDataFrame(table).coalesce(1) for source, table in trial.tables(trial.rows).items()}
    return correlate_frames(trial.drawn.outputs, frames, buckets=buckets, **trial.options).all


def stream(spark, trial, root, cuts, *, buckets, restarts=()):
    """Run slices of rows that are out of order within the delay; at last a row that moves the watermark beyond all."""
    folder, draw = Folder(root, spark), random.Random(len(cuts))
    rows = sorted(trial.rows, key=lambda row: row.at + draw.randrange(DELAY * 1_000_000))
    last = max(row.at for row in rows) + 3_600_000_000
    mark = Row("in0", last, rows[0].columns | {"id": 0, "gone": False})
    options = {"buckets": buckets, "watermark": f"{DELAY} seconds", "unbounded": True, **trial.options}
    found = []
    for place, (first, until) in enumerate(pairwise([0, *cuts, len(rows)])):
        folder.add(trial.tables(rows[first:until]))
        if place in restarts:
            done = folder.run(correlate_frames(trial.drawn.outputs, folder.streams(*trial.drawn.inputs), **options))
            found += done["results"]
    folder.add(trial.tables([mark]))
    done = folder.run(correlate_frames(trial.drawn.outputs, folder.streams(*trial.drawn.inputs), **options))
    assert done["late"] == done["dead"] == []
    return found + done["results"], last // 1_000 * 1_000 - DELAY * 1_000_000 + 1


def check_everywhere(spark, root, seed, amount):
    trial = Trial(seed, amount)
    found = batch(spark, trial, 5).select("kind", "output", "change", "start", "end", "value.*").collect()
    assert {row.kind for row in found} == {"result"}
    trial.check(found, clock=None, close=True)
    whole, clock = stream(spark, trial, root / "whole", [], buckets=3)
    trial.check(whole, clock=clock, close=False)
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(1, len(trial.rows)), 3))
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        cut, clock = stream(spark, trial, root / "cut", cuts, buckets=4, restarts=[1])
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    trial.check(cut, clock=clock, close=False)


@pytest.mark.slow  # the law of tests/laws/test_bridge.py, on Spark itself
def test_random_programs_give_the_same_everywhere(spark, tmp_path):
    check_everywhere(spark, tmp_path, 1, 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 6, 7, 11])  # of which the program uses all rows
def test_more_random_programs_give_the_same_everywhere(spark, tmp_path, seed):
    check_everywhere(spark, tmp_path, seed, 12)
