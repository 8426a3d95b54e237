"""The law of a restart: a query whose rows are spread otherwise is refused, whatever comes first, and loses nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from cartesius.errors import InvalidArgument, SnapshotMismatch
from tests.laws.bridge_programs import by_output, drawn_of
from tests.laws.spark_model import MicroBatches, planned
from tests.laws.test_bridge import Trial
from tests.oracle.tier_programs import FAMILIES

EXAMPLES = settings(max_examples=max(15, settings().max_examples // 2))


def other_plans(trial):
    """The same program with its rows spread otherwise, as far as it can be; and what the refusal says to write."""
    count, keys = trial.plan.count, {s.input.name: s.partition for s in trial.plan.sources if s.partition is not None}
    for buckets in {1, 2, 3, 7} - {count}:
        if buckets == 1 or count > 1:
            plan = planned(
                trial.drawn.outputs, trial.schemas, buckets=buckets, partition_by=keys or None, **trial.options
            )
            yield plan, f"write buckets={count}"
    if count > 1 and len(keys) > 1:
        less = dict(list(keys.items())[1:])
        plan = trial.planned_or_none(less, count)
        if plan is not None:
            yield plan, "write partition_by="


def overflows(trial, seed, place):
    """Whether a total has more than the 64 bits of its type, which is refused in any case."""
    one = MicroBatches(trial.plan, random.Random(seed), trial.delay)
    try:
        for rows in (trial.coming[:place], trial.coming[place:]):
            one.run(rows)
        one.settle()
    except InvalidArgument as error:
        if "declare the type that it has" not in str(error):
            raise
        return True
    return False


@pytest.mark.parametrize("family", FAMILIES)
@given(
    program=st.binary(min_size=24, max_size=24),
    trace=st.binary(min_size=20, max_size=60),
    seed=st.integers(0, 2**32),
)
@EXAMPLES
def test_a_restart_with_rows_spread_otherwise_is_refused_and_loses_nothing(family, program, trace, seed):
    drawn = drawn_of(family, program, trace)
    assume(drawn is not None)
    draw = random.Random(seed)
    trial = Trial(drawn, draw.choice(["event_time", "sequence", "arrival"]), draw, is_derived=True)
    assume(len(trial.coming) > 1)
    place = draw.randint(1, len(trial.coming) - 1)
    undisturbed, model = (MicroBatches(trial.plan, random.Random(seed), trial.delay) for _ in range(2))
    assume(not overflows(trial, seed, place))
    for one in (undisturbed, model):
        one.run(trial.coming[:place])
    for plan, advice in other_plans(trial):
        event(advice)
        model.restart(plan)
        for rows in (
            trial.coming[place:],
            draw.sample(trial.coming[place:], 1),
        ):  # one row, to a bucket without a state
            with pytest.raises(SnapshotMismatch, match=advice):
                model.run(rows)
        model.restart(trial.plan)
    for one in (undisturbed, model):
        one.run(trial.coming[place:])
        one.settle()
    assert by_output(model.results).keys() == by_output(undisturbed.results).keys()
    for name, items in by_output(undisturbed.results).items():
        assert sorted(by_output(model.results)[name], key=repr) == sorted(items, key=repr)
