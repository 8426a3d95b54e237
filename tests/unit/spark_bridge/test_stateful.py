"""When Spark is asked to call again: at the first watermark at which something is due, no later and no earlier."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from restrictions import as_table, without
from spark_bridge.running.buckets import Buckets
from tests.laws.spark_model import MicroBatches, Row, planned

SHIP = t.StructType([t.StructField("at", t.TimestampType()), t.StructField("mmsi", t.LongType())])
BASE = 1_700_000_000_000_000
ship, other = Reactive("ship"), Reactive("other")
rows_kept = Reactive("ship", table=True, key="mmsi")
seen = correlate(ship=rows_kept, yields=lambda ship: {"mmsi": ship.mmsi}, restrict=as_table("ship"), name="seen")
alone = correlate(
    ship=ship,
    other=other,
    where=lambda ship, other: ship.mmsi == other.mmsi,
    yields=lambda ship: {"mmsi": ship.mmsi},
    restrict=without("other", after="ship", within=5_000),
    name="alone",
)


def at(micros, mmsi, source="ship"):
    return Row(source, BASE + micros, {"mmsi": mmsi})


def query(program, *sources, delay=0):
    plan = planned(program, dict.fromkeys(sources, SHIP), is_streaming=True, watermark="0 seconds", buckets=5)
    return MicroBatches(plan, random.Random(1), delay)


@given(st.integers(0, 3_000), st.integers(1_000, 3_000))
def test_a_row_that_waits_in_an_idle_bucket_is_used_as_soon_as_the_watermark_reaches_it(first, later):
    """Spark's watermark has whole milliseconds, and counts a row at it as passed."""
    model = query(seen, "ship")
    model.run([at(first, 1)])
    model.run([at(first + later, 2)])
    model.settle()
    passed = [time for time in (first, first + later) if time <= (first + later) // 1_000 * 1_000]
    assert len(model.results) == len(passed)


@given(st.integers(90_000, 90_999), st.integers(0, 9_999))
def test_a_row_within_the_delay_is_not_late_however_fine_its_time(latest, earlier):
    model = query(seen, "ship", delay=10)
    model.run([at(latest, 1)])
    model.run([at(latest - earlier, 2)])
    assert model.letters == []


@pytest.mark.parametrize(("more", "late"), [(0, []), (999, ["late"])])
def test_a_clock_of_the_next_millisecond_would_call_a_row_late_that_is_within_the_delay(monkeypatch, more, late):
    """DESIGN.md, section 7, has the watermark plus 1 ms; ours is plus 1 µs: here 80.001 ms, and not 81 ms."""
    run = Buckets.run

    def with_another_clock(self, bucket, state, chunks, clock, **options):
        return run(self, bucket, state, chunks, clock and clock + more, **options)

    monkeypatch.setattr(Buckets, "run", with_another_clock)
    model = query(seen, "ship", delay=10)
    model.run([at(90_500, 1)])
    model.run([at(80_600, 2)])  # 9.9 ms before it
    assert [letter["kind"] for letter in model.letters] == late


@pytest.mark.parametrize(("clock", "found"), [(15_999, 0), (16_000, 1)])
def test_a_deadline_on_an_idle_bucket_is_met_when_the_clock_passes_it(clock, found):
    """A ship of which nothing is heard for 5 ms; the row that moves the clock is in another bucket."""
    model = query(alone, "ship", "other")
    model.run([at(10_900, 1), at(10_950, 2), at(10_960, 2, "other")])
    model.run([at(clock, 3, "other")])
    model.settle()
    assert [row["value"] for row in model.results] == [{"mmsi": 1}] * found
