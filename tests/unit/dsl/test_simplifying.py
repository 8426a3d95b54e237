"""Simplified conditions mean the same in three-valued logic: examples, and a law over random conditions and rows."""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsl import RulePack, Source, choice, instant, known, not_, optional, require
from dsl.columns.simplifying import simplified
from dsl.judgements.judges import Judge
from dsl.meaning.evaluation import Situation, compiled
from dsl.terms.texts import text
from dsl.units import centimetres, feet, knots, metres
from tests.unit.dsl.test_judges import compiled as written
from tests.unit.dsl.test_judges import expression, formulas, packs, situations

wind = Source("wind", key=None, velocity=knots, gust=knots)
crane = Source("crane", key=None, height=metres, kind=str, is_up=bool)
calm, windy = wind.velocity <= 35 * knots, wind.velocity <= 45 * knots
low, kind = crane.height < 30 * metres, crane.kind


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (calm & windy, "wind.velocity <= 35 kn"),
        (calm | windy, "wind.velocity <= 45 kn"),
        (calm & (calm | low), "wind.velocity <= 35 kn"),
        (calm | (calm & low), "wind.velocity <= 35 kn"),
        ((calm | low) & (windy | low), "wind.velocity <= 35 kn or crane.height < 30 m"),
        (low & (crane.height <= 3000 * centimetres), "crane.height < 30 m"),
        (low & (crane.height < 200 * feet), "crane.height < 30 m"),
        (low & (30 * metres > crane.height), "crane.height < 30 m"),
        (calm & ~not_(calm), "wind.velocity <= 35 kn"),
        (not_(calm | windy), "not wind.velocity <= 45 kn"),
        ((kind == "gantry") & (kind != "jib"), 'crane.kind == "gantry"'),
        (crane.is_up & (crane.is_up | calm), "crane.is_up"),
        (calm & (1 * metres > 50 * centimetres), "wind.velocity <= 35 kn"),
        (calm | (1 * metres > 50 * centimetres), "True"),
        (calm & (1 * metres < 50 * centimetres), "False"),
        # Not in three-valued logic, where these are unknown if the wind is:
        (calm | ~calm, "wind.velocity <= 35 kn or not wind.velocity <= 35 kn"),
        (calm & ~windy, "wind.velocity <= 35 kn and not wind.velocity <= 45 kn"),
        ((kind == "gantry") & (kind == "jib"), 'crane.kind == "gantry" and crane.kind == "jib"'),
        # One term only; nothing is known of others.
        (calm & (wind.gust <= 45 * knots), "wind.velocity <= 35 kn and wind.gust <= 45 kn"),
    ],
)
def test_a_condition_loses_what_the_rest_implies(condition, expected):
    assert text(simplified(condition.term)) == expected


def batched(names: list[str]) -> list[tuple[str, str]]:
    return list(zip(names[::2], names[1::2], strict=True))


def test_a_condition_that_would_grow_stays_as_it_is():
    names = [f"f{number}" for number in range(16)]
    many = Source("many", key=None, fields=dict.fromkeys(names, metres))
    pairs = [(many[one] < 1 * metres) & (many[other] < 1 * metres) for one, other in batched(names)]
    condition = reduce(lambda left, right: left | right, [*pairs, pairs[0]])
    assert simplified(condition.term) is condition.term


SLOTS = {"a": 0, "b": 1, "c": 2}


@given(formulas, st.lists(situations, min_size=1, max_size=5))
def test_a_simplified_condition_has_the_same_truth_value_whatever_is_missing(formula, many):
    condition = expression(formula).term
    as_written, simple = compiled(condition, SLOTS), compiled(simplified(condition), SLOTS)
    for rows in many:
        situation = Situation([rows["a"], rows["b"], rows["c"]])
        before, after = as_written(situation), simple(situation)
        assert (before is None, bool(before)) == (after is None, bool(after))


MOMENTS = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (10, 11, 12)]
every = Source(
    "every",
    key=None,
    eta=optional(instant),
    etd=instant,
    depth=optional(metres),
    kind=str,
    size=optional(choice("S", "M")),
    is_up=bool,
)
ORDERS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
EQUALITIES = [operator.eq, operator.ne]
leaves = st.one_of(
    st.builds(lambda compare, moment: compare(every.eta, moment), st.sampled_from(ORDERS), st.sampled_from(MOMENTS)),
    st.builds(lambda compare, moment: compare(moment, every.eta), st.sampled_from(ORDERS), st.sampled_from(MOMENTS)),
    st.builds(lambda compare: compare(every.eta, every.etd), st.sampled_from(ORDERS)),
    st.builds(lambda compare, n: compare(every.depth, n * metres), st.sampled_from(ORDERS), st.sampled_from([1, 2])),
    st.builds(lambda compare, kind: compare(every.kind, kind), st.sampled_from(EQUALITIES), st.sampled_from("ab")),
    st.builds(lambda compare, size: compare(every.size, size), st.sampled_from(EQUALITIES), st.sampled_from("SM")),
    st.sampled_from([every.is_up, known(every.eta), known(every.depth), known(every.size)]),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(operator.and_, inner, inner), st.builds(operator.or_, inner, inner), st.builds(not_, inner)
    ),
    max_leaves=6,
)
rows_of_every = st.fixed_dictionaries(
    {
        "eta": st.sampled_from([None, *MOMENTS]),
        "etd": st.sampled_from([None, *MOMENTS]),
        "depth": st.sampled_from([None, 0.5, 1.0, 1.5, 2.0]),
        "kind": st.sampled_from([None, "a", "b", "c"]),
        "size": st.sampled_from([None, "S", "M", "L"]),
        "is_up": st.sampled_from([None, True, False]),
    }
)


@settings(max_examples=settings().max_examples * 10)
@given(conditions, st.lists(rows_of_every, min_size=1, max_size=10))
def test_conditions_on_every_kind_of_field_keep_their_truth_values(condition, many):
    as_written, simple = compiled(condition.term, {"every": 0}), compiled(simplified(condition.term), {"every": 0})
    for row in many:
        situation = Situation([row])
        before, after = as_written(situation), simple(situation)
        assert (before is None, bool(before)) == (after is None, bool(after)), text(simplified(condition.term))


@pytest.mark.parametrize(
    ("condition", "hour"),
    [
        ((every.eta <= MOMENTS[2]) & (every.eta != MOMENTS[1]), 11),
        ((every.eta >= MOMENTS[1]) & (every.eta <= MOMENTS[1]), 12),
        ((every.eta <= MOMENTS[1]) & (every.eta > MOMENTS[1]), 10),
    ],
)
def test_an_instant_that_is_before_another_is_not_taken_for_it(condition, hour):
    made = RulePack("port", subject=Source("ship", key="id", id=int))
    with made:
        require(condition)
    eta = datetime(2026, 3, 1, hour, tzinfo=UTC)
    assert made.check({"ship": {"id": 1}, "every": {"eta": eta}}).status == "restricted"


@settings(max_examples=settings().max_examples // 3)
@given(packs, situations)
def test_verdicts_and_reasons_are_those_of_the_rules_as_written(program, rows):
    """Beside a judge that does not simplify."""
    made = written(program)
    judge = made._judgement()
    expected = judge(*(rows[name] for name in made.sources))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsl.judgements.judges.simplified", lambda condition: condition)
        plain = Judge(judge.sources, judge.statements)
    found = plain(*(rows[name] for name in made.sources))
    assert (found, repr(found)) == (expected, repr(expected))


def test_a_reason_names_the_condition_as_written_and_all_that_is_missing():
    made = RulePack("port", subject=Source("ship", key="id", id=int))
    with made:
        require(calm & windy & (calm | low), "wind")
    [reason] = made.check({"ship": {"id": 1}, "wind": {"velocity": 50.0}}).because
    assert reason.text == text((calm & windy & (calm | low)).term)
    assert [name for name, _, _ in reason.values][:2] == ["wind.velocity", "crane.height"]
    [reason] = made.check({"ship": {"id": 1}}).because
    assert reason.missing == ("wind", "crane")
