"""What the bridge does not promise: where cuts, or the number of buckets, may be seen in the results. Nothing is lost.

The other side of tests/laws/test_bridge.py; the promise is in the docstring of `correlate_frames`.
"""

from __future__ import annotations

import random

import pytest
from pyspark.sql import types as t

from cartesius import Engine, Reactive, correlate
from cartesius.errors import RuleRaised
from restrictions import key_by, most_recently, without
from tests.laws.spark_model import MicroBatches, Row, planned

SCHEMA = t.StructType([t.StructField(name, t.LongType()) for name in ("k", "n")])
FRAME = t.StructType([t.StructField("at", t.TimestampType()), *SCHEMA])
BASE = 1_700_000_000_000_000
left, right, reply = Reactive("left"), Reactive("right"), Reactive("reply")
latest = correlate(
    left=left,
    right=right,
    yields=lambda left, right: {"l": left.n, "r": right.n},
    restrict=key_by(left="k", right="k") | most_recently("left", "right"),
    name="latest",
)


def row(source, milliseconds, n, k=1):
    return Row(source, BASE + milliseconds * 1_000, {"k": k, "n": n})


def run(program, slices, *, delay=0, **options):
    inputs = dict.fromkeys(Engine(program).inputs, FRAME)
    model = MicroBatches(planned(program, inputs, is_streaming=True, buckets=3, **options), random.Random(3), delay)
    for some in slices:
        model.run(some)
    model.settle()
    return model


def values(model):
    return [tuple(row["value"].values()) for row in model.results]


FIRST, SECOND, THIRD = row("left", 1, 1), row("right", 5, 2), row("left", 3, 3)


def test_in_order_of_arrival_it_matters_which_rows_come_together_if_they_are_not_in_order_of_time():
    together = run(latest, [[FIRST, SECOND, THIRD]], order="arrival")
    apart = run(latest, [[FIRST, SECOND], [THIRD]], order="arrival")
    assert values(together) == [(3, 2)]
    assert values(apart) == [(1, 2), (3, 2)]


def test_in_order_of_time_it_does_not():
    mark = row("right", 900, 0, k=9)
    for slices in ([[FIRST, SECOND, THIRD]], [[FIRST, SECOND], [THIRD]], [[THIRD], [SECOND], [FIRST]]):
        assert values(run(latest, [*slices, [mark]], delay=10, watermark="10 milliseconds")) == [(3, 2)]


def test_a_row_later_than_the_delay_is_used_or_told_as_late_but_not_lost():
    """With the rows that have passed it in one micro-batch, it is not late: no watermark is there yet."""
    late, passed = row("left", 1, 1), row("right", 100, 2)
    for slices, is_used in (([[passed, late]], True), ([[passed], [late]], False)):
        mark = row("right", 900, 0, k=9)
        model = run(latest, [*slices, [mark]], delay=10, watermark="10 milliseconds")
        assert values(model) == [(1, 2)] * is_used
        assert [letter["kind"] for letter in model.letters] == ["late"] * (not is_used)


def test_in_order_of_arrival_what_the_clock_decides_is_decided_between_micro_batches():
    """So what meets it then depends on where they are cut; in order of time it does not."""
    unanswered = correlate(
        left=left,
        reply=reply,
        where=lambda left, reply: left.k == reply.k,
        yields=lambda left: {"k": left.k, "n": left.n},
        restrict=without("reply", after="left", within=2_000),
    )
    then = correlate(
        asked=unanswered,
        right=right,
        where=lambda asked, right: asked.k == right.k,
        yields=lambda asked, right: {"asked": asked.n, "then": right.n},
        restrict=key_by(asked="k", right="k") | most_recently("asked", "right"),
    )
    rows = [row("left", 1, 1), row("right", 2, 2), row("right", 50, 3), row("right", 51, 4)]
    mark = row("right", 900, 0, k=9)
    arrival = {"order": "arrival", "watermark": "0 seconds"}
    assert values(run(then, [rows, [mark]], **arrival)) == [(1, 4)]
    assert values(run(then, [rows[:3], rows[3:], [mark]], **arrival)) == [(1, 3), (1, 4)]
    for slices in ([rows], [rows[:3], rows[3:]]):
        found = values(run(then, [*slices, [mark]], delay=10, watermark="10 milliseconds"))
        assert found == [(1, 2), (1, 3), (1, 4)]


shares = correlate(
    left=left,
    right=right,
    yields=lambda left, right: {"k": left.k, "share": 12 / (left.n - right.n)},
    restrict=key_by(left="k") | most_recently("left", "right"),
    name="shares",
)


def test_which_buckets_use_a_row_that_all_have_depends_on_which_rows_it_makes_rules_raise():
    """A bucket knows nothing of what the others do with it, and none can wait for them; failing is the same for all."""
    rows = [row("left", 1, 5, k=1), row("left", 2, 7, k=2), row("right", 3, 5), row("right", 4, 3)]
    inputs = {"left": FRAME, "right": FRAME}

    def used(buckets, policy):
        options = {"partition_by": {"left": "k"}, "order": "arrival", "on_error": policy}
        model = MicroBatches(planned(shares, inputs, is_streaming=True, buckets=buckets, **options), random.Random(3))
        model.run(rows)
        letters = [(letter["source"], letter["at"].microsecond // 1_000, letter["kind"]) for letter in model.letters]
        return sorted((row["value"]["k"], row["value"]["share"]) for row in model.results), letters

    assert used(1, "dead_letter") == ([(1, 6), (2, 3)], [("right", 3, "dead")])
    assert used(3, "dead_letter") == ([(1, 6), (2, 3), (2, 6)], [("right", 3, "dead")])
    for buckets in (1, 3):
        with pytest.raises(RuleRaised, match="on the row of 'right' at"):
            used(buckets, "fail")


def test_between_outputs_there_is_no_order_and_between_keys_none():
    """Within an output, a bucket tells its results in order; so the changes of one key come in order."""
    newest = key_by(left="k") | most_recently("left")
    outputs = [
        correlate(left=left, yields=lambda left: {"n": left.n}, restrict=newest, name=name) for name in ("one", "other")
    ]
    rows = [row("left", time, time, k=time % 4) for time in range(1, 13)]
    plan = planned(outputs, {"left": FRAME}, is_streaming=True, buckets=3, order="arrival")
    model = MicroBatches(plan, random.Random(3))
    model.run(rows)
    engine = Engine(*outputs)
    events = [event for one in rows for event in engine.push(left, one.columns, at=one.at)]
    given = [event.reactive for event in events]
    assert given[:4] == ["one", "other", "one", "other"]
    assert [row["output"] for row in model.results] != given
    for bucket in range(3):
        mine = [row for row in model.results if row["bucket"] == bucket]
        assert [row["output"] for row in mine] == sorted(row["output"] for row in mine)  # one after the other
        for name in ("one", "other"):
            times = [row["end"] for row in mine if row["output"] == name]
            assert times == sorted(times)
