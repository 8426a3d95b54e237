"""The law of the bridge: however rows are cut into micro-batches, chunks and buckets, results are those of one engine.

Without Spark, whose part tests/laws/spark_model.py plays: so there are thousands of programs, traces and cuts.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import pairwise

import attrs
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from cartesius.testing import streams_equivalent
from restrictions import key_by, most_recently, sliding, tumbling, without
from restrictions.tables import aggregate, changelog, sum_
from restrictions.windows import final, on_close, on_content_change
from spark_bridge.transport.packing import BEFORE_ALL, EVERYWHERE
from tests.laws.bridge_programs import (
    as_rows,
    by_output,
    drawn_from,
    drawn_of,
    fitting,
    in_order,
    in_process,
    set_aside_of,
    unit_of,
)
from tests.laws.spark_model import MicroBatches, bucket_of, planned
from tests.oracle.tier_programs import FAMILIES, Case

MODES = ("batch", "event_time", "sequence", "arrival")
REFUSALS = r"number of buckets|spread over buckets|as the key is|to be a text|by one type"
ran = settings().max_examples
BEFORE = {"at": BEFORE_ALL, "sequence": BEFORE_ALL}
EXAMPLES = settings(max_examples=max(15, ran // 4))


class Trial:
    """A program on the bridge, and what an engine in this process gives.

    Args:
        drawn: The program and its rows.
        mode: Batch, or in which order a stream is used.
        draw: Decides the options, the cuts, and what Spark leaves open.
        is_derived: Whether the program itself says how its rows are spread.
        partition: How they are spread, if that is not drawn.
        buckets: Over how many, if that is not drawn.
    """

    def __init__(self, drawn, mode, draw, *, is_derived=False, partition=None, buckets=None):
        self.drawn, self.mode, self.draw, self.buckets = drawn, mode, draw, buckets
        self.delay = draw.choice([1, 3, 10]) * max(1, drawn.unit // 1000)
        self.schemas = drawn.schemas
        self.options = {"is_streaming": mode != "batch", "unbounded": True, "on_error": "dead_letter"}
        if any(one.table for one in drawn.inputs.values()):
            self.options["deleted"] = "gone"
        if drawn.given:
            self.options["schema"] = drawn.given
        if mode == "batch":
            self.options["close"] = draw.random() < 0.5
            if draw.random() < 0.5:
                self.options["watermark"] = f"{self.delay} milliseconds"
        elif mode == "event_time":
            self.options["watermark"] = f"{self.delay} milliseconds"
        elif mode == "sequence":
            self.options["sequence"] = "place"
            place = t.StructField("place", t.LongType())
            self.schemas = {name: t.StructType([*kind, place]) for name, kind in drawn.schemas.items()}
        else:
            self.options["order"] = "arrival"
        self.static = static = self._static()
        rows = [attrs.evolve(row, **BEFORE) if row.source in static else row for row in drawn.rows]
        self.rows = in_order(rows, drawn.inputs, by_place=mode == "sequence")
        self.coming = [row for row in self.rows if mode == "batch" or row.source not in static]
        for name in static:
            kept = [field for field in self.schemas[name] if field.name not in ("at", "place")]
            self.schemas = {**self.schemas, name: t.StructType(kept)}
        if mode != "batch":
            self.options["static"] = {name: [row for row in self.rows if row.source == name] for name in static}
        is_told = partition is not None or is_derived or draw.random() < 0.7
        self.plan = self._planned(partition if is_told else self._partition())

    def _static(self):
        """The sources that are there before all time; one at least is not, and has rows, or no bucket is called."""
        names = [name for name in self.drawn.inputs if self.draw.random() < 0.25]
        return names if any(row.source not in names for row in self.drawn.rows) else []

    def _planned(self, partition):
        found = self.planned_or_none(partition, self.buckets or self.draw.choice([2, 3, 5]))
        return found or planned(self.drawn.outputs, self.schemas, buckets=1, **self.options)

    def planned_or_none(self, partition, buckets):
        """The program in several buckets; None if it cannot be split so."""
        try:
            return planned(self.drawn.outputs, self.schemas, buckets=buckets, partition_by=partition, **self.options)
        except InvalidArgument as refusal:
            if not re.search(REFUSALS, str(refusal)):
                raise
        return None

    def _partition(self):
        """A column for some of the sources, mostly the same one."""
        usual = self.draw.choice("kkj")
        return {
            name: reactive.key if reactive.table else usual if self.draw.random() < 0.9 else self.draw.choice("kj")
            for name, reactive in self.drawn.inputs.items()
            if self.draw.random() < 0.8
        }

    def run(self):
        """Run it, cut at random within what is promised."""
        model = MicroBatches(self.plan, self.draw, self.delay)
        if self.mode == "batch":
            model.run_batch(self.rows)
            return model
        arriving = self.coming
        if self.mode == "event_time":  # none comes later than the delay allows
            arriving = sorted(arriving, key=lambda row: row.at + self.draw.randrange(self.delay * 1000))
        places = sorted(self.draw.randint(0, len(arriving)) for _ in range(self.draw.randint(0, 4)))
        for first, last in pairwise([0, *places, len(arriving)]):
            model.run(arriving[first:last])
            if self.draw.random() < 0.5:
                model.settle()
        model.settle()
        return model

    def clock(self, model):
        """The clock at the end, as Spark's watermark has it."""
        if self.mode == "batch":
            return model.clock_of([row for row in self.rows if row.at > BEFORE_ALL]) if self.plan.is_prefix else None
        return model.clock if self.plan.has_watermark else None

    @property
    def has_silent_buckets(self):
        """Whether a bucket has rows that are there before all time, and none that wakes it: their results stay."""
        of = {source.input.name: source for source in self.plan.sources}
        still, woken = (
            {
                bucket_of(of[row.source], row, self.plan.count)
                for row in self.rows
                if (row.source in self.static) == fixed
            }
            for fixed in (True, False)
        )
        return self.mode != "batch" and EVERYWHERE not in woken and not still <= woken

    def expected(self, clock):
        """What an engine in this process gives, and how many rows it does not use."""
        rows = self.rows
        if self.plan.holds or (self.plan.follows and not self.plan.close):
            rows = [row for row in rows if row.at < (BEFORE_ALL + 1 if clock is None else clock)]
        lateness = 0 if self.plan.holds or self.plan.follows else None
        return in_process(self.drawn, rows, lateness=lateness, clock=clock, close=self.plan.close)


def check(drawn, mode, draw, *, is_derived=False, partition=None, buckets=None):
    trial = Trial(drawn, mode, draw, is_derived=is_derived, partition=partition, buckets=buckets)
    event(f"{mode}: {min(trial.plan.count, 2)} buckets, {'some' if trial.static else 'no'} static frames")
    event(f"{mode}: a prefix" if trial.plan.is_prefix else f"{mode}: whole")
    if not checked(trial):
        event("some buckets raise on a row, or are silent")
    return trial


def checked(trial):
    """Run a program on the bridge and in this process; whether the two could be compared."""
    plan = trial.plan
    model = trial.run()
    events, unused = trial.expected(trial.clock(model))
    events = fitting(events, plan.runner.layout, unused)
    whole = [source.input.name for source in plan.sources if source.partition is None]
    raised_on = {name for _, reason, name, *_ in unused if reason.startswith("the program raised")}
    if plan.count > 1 and not raised_on.isdisjoint(whole):
        return False  # a row that some buckets raise on
    if trial.has_silent_buckets:
        return False
    assert set_aside_of(model.letters, trial.drawn.inputs) == unused
    expected, found = by_output(as_rows(events, plan.runner.layout)), by_output(model.results)
    assert expected.keys() == found.keys()
    for name, items in expected.items():
        is_table = items[0][0] in ("update", "delete")
        same = streams_equivalent(items, found[name], dependent=same_key if is_table else None, equal=equal)
        assert same, (name, same)
        if plan.count == 1:
            assert found[name] == items
    check_retractions(model.results)
    return True


def same_key(one, other):
    return one[1] == other[1]


def equal(one, other):
    return one == other


def check_retractions(results):
    """Nothing is taken back before it was given, in the order in which a bucket tells it."""
    standing = Counter()
    for row in results:
        if row["change"] in ("event", "retract"):
            what = repr((row["bucket"], row["output"], row["start"], row["end"], row["value"]))
            standing[what] += 1 if row["change"] == "event" else -1
            assert standing[what] >= 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", FAMILIES)
@given(
    program=st.binary(min_size=24, max_size=24),
    trace=st.binary(min_size=20, max_size=100),
    seed=st.integers(0, 2**32),
)
@EXAMPLES
def test_results_are_those_of_one_engine(family, mode, program, trace, seed):
    drawn = drawn_of(family, program, trace)
    if drawn is not None:
        check(drawn, mode, random.Random(seed))


@pytest.mark.parametrize("report", [on_content_change, on_close, final], ids=str)
@pytest.mark.parametrize("kind", ["totals", "joins"])
@given(trace=st.binary(min_size=40, max_size=100), seed=st.integers(0, 2**32))
@EXAMPLES
def test_windows_are_split_by_a_key(kind, report, trace, seed):
    left, right = Reactive("in0"), Reactive("in1")
    unit = unit_of(trace)
    windows = sliding(6 * unit, 3 * unit, report=report)
    if kind == "totals":
        out = aggregate(left, sum_.of("n"), by="k", restrict=windows)
    else:
        out = correlate(
            left=left,
            right=right,
            where=lambda left, right: left.k == right.k,
            yields=lambda left, right: (left.n, right.n),
            restrict=windows,
        )
    drawn = drawn_from(Case("window", (left, right), (out,)), trace)
    draw = random.Random(seed)
    trial = check(drawn, draw.choice(["batch", "event_time"]), draw, is_derived=True)
    is_whole = not isinstance(drawn.schemas["in0"]["k"].dataType, t.DoubleType)
    assert (trial.plan.count > 1) == is_whole


A, B, C = Reactive("in0"), Reactive("in1"), Reactive("in2")


def unanswered(unit):
    return correlate(
        a=A,
        b=B,
        where=lambda a, b: a.k == b.k,
        yields=lambda a: {"k": a.k, "n": a.n},
        restrict=without("b", after="a", within=2 * unit),
        name="unanswered",
    )


def and_the_latest(unit):
    """What the clock has decided meets what there is at that time: here it matters when the clock moves."""
    return correlate(
        x=unanswered(unit),
        c=C,
        where=lambda x, c: x.k == c.k,
        yields=lambda x, c: {"asked": x.n, "then": c.n},
        restrict=key_by(x="k", c="k") | most_recently("x", "c"),
        name="and_the_latest",
    )


def at_the_close_of_windows(unit):
    totals = aggregate(A, sum_.of("n"), by="k", restrict=tumbling(3 * unit, report=final))
    return correlate(total=changelog(totals), c=C, yields=told_of, restrict=most_recently("total", "c"), name="closing")


def told_of(total, c):
    return f"{total.key[0]} {total.value} {c.n}"


@pytest.mark.parametrize("mode", ["batch", "event_time"])
@pytest.mark.parametrize("program", [unanswered, and_the_latest, at_the_close_of_windows])
@given(trace=st.binary(min_size=40, max_size=100), seed=st.integers(0, 2**32))
@EXAMPLES
def test_what_the_clock_decides_is_decided_when_its_time_has_come(program, mode, trace, seed):
    """In a batch, too: there the clock stood still to the end."""
    drawn = drawn_from(Case("window", (A, B, C), (program(unit_of(trace)),)), trace)
    check(drawn, mode, random.Random(seed), is_derived=True)
