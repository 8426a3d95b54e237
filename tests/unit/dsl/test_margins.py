"""Margins, against a search for the nearest value that satisfies the condition; their signs, units and absences."""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dsl import RulePack, Source, between, instant, known, location, named, not_, now, optional, require, when
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.margins import margin
from dsl.units import celsius, centimetres, degrees, feet, hours, kelvin, knots, metres, minutes, radians, unit
from tests.unit.dsl.harbour import berth, judged, tide, vessel, wind

gauge = Source(
    "gauge", key=None,
    x=metres, y=metres, low=centimetres, angle=degrees, turn=radians, c=celsius, c2=celsius, k=kelvin,
    eta=instant, etd=instant, name=str, spare=optional(metres), flag=bool,
)  # fmt: skip
FIELDS = ("x", "y", "low", "angle", "turn", "c", "c2", "k", "eta", "etd", "name", "spare", "flag")


def measured(condition: Any, now: int | None = None, **row: Any) -> Any:
    found = margin(condition.term, {"gauge": 0})
    if found is None:
        return None
    value = found[0](Situation([dict.fromkeys(FIELDS) | row], now))
    return None if value is None else (value, found[1].symbol)


def holds(condition: Any, **row: Any) -> bool | None:
    answer: bool | None = compiled(condition.term, {"gauge": 0})(Situation([dict.fromkeys(FIELDS) | row]))
    return answer


# ------------------------------------------------------------------------------------ the nearest that would do

OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
small = st.integers(-6, 6)
FAR = 40


def nearest_change(test: Any, value: int, wanted: bool) -> int | None:
    """The least number of steps to a value where the test is ``wanted``: by trying them all."""
    return next((d for d in range(FAR) if wanted in (test(value + d), test(value - d))), None)


@given(small, small, st.sampled_from(sorted(OPERATORS)))
def test_moving_the_value_by_the_margin_brings_it_to_the_limit(value, limit, symbol):
    """Beyond the limit by as many steps as it takes to satisfy the condition, or to reach what just fails it."""
    test = OPERATORS[symbol]
    found, symbol_of_unit = measured(test(gauge.x, limit * metres), x=value)
    assert symbol_of_unit == "m"
    steps = nearest_change(lambda each: test(each, limit), value, wanted=not test(value, limit))
    assert steps is not None
    strict = symbol in {"<", ">", "!="}
    if test(value, limit):
        assert found == (steps if strict or symbol == "==" else steps - 1) or (symbol == "==" and found == 0)
        assert found >= 0
    else:
        assert found == -(steps - 1 if strict else steps)
        assert found <= 0


@given(small, small, small)
def test_between_bounds_it_is_the_distance_to_the_nearer_one(value, low, high):
    low, high = min(low, high), max(low, high)
    found, _ = measured(between(gauge.x, low * metres, high * metres), x=value)
    inside = low <= value <= high
    steps = nearest_change(lambda each: low <= each <= high, value, wanted=not inside)
    assert found == (steps - 1 if inside else -steps)  # type: ignore[operator]  # a quantity was measured


angles = st.integers(0, 359)
bounds = st.integers(0, 179).map(lambda half: 2 * half)  # so that some whole degree lies outside of every span


@given(angles, bounds, bounds)
def test_between_directions_it_is_the_way_around_the_circle(value, low, high):
    assume((low - high) % 360 != 1)  # then all whole degrees are inside
    condition = between(gauge.angle, low * degrees, high * degrees)
    found, _ = measured(condition, angle=value)
    evaluate = compiled(condition.term, {"gauge": 0})
    around = [evaluate(Situation([{"angle": each}])) for each in range(360)]
    inside = around[value]
    steps = next(d for d in range(360) if (not inside) in (around[value - d], around[(value + d) % 360]))
    assert found == (steps - 1 if inside else -steps)


# ------------------------------------------------------------------------------------------------------ and, or, not

comparisons = st.builds(
    lambda symbol, field, limit: OPERATORS[symbol](gauge[field], limit * metres),
    st.sampled_from(sorted(OPERATORS)),
    st.sampled_from(["x", "y"]),
    small,
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(operator.and_, inner, inner), st.builds(operator.or_, inner, inner), st.builds(not_, inner)
    ),
    max_leaves=6,
)


@given(conditions, small, small)
def test_what_has_room_holds_and_what_is_beyond_fails(condition, x, y):
    found, _ = measured(condition, x=x, y=y)
    if found:
        assert holds(condition, x=x, y=y) is (found > 0)


@given(conditions, conditions, small, small)
def test_not_and_or_turn_round_and_take_the_least_or_the_greatest(first, second, x, y):
    one, two = measured(first, x=x, y=y)[0], measured(second, x=x, y=y)[0]
    assert measured(not_(first), x=x, y=y)[0] == -one
    assert measured(first & second, x=x, y=y)[0] == min(one, two)
    assert measured(first | second, x=x, y=y)[0] == max(one, two)


def test_parts_of_one_dimension_meet_in_the_unit_of_the_first():
    both = (gauge.x >= 50 * centimetres) & (gauge.y >= 10 * metres)
    assert measured(both, x=0.75, y=9.0) == (-100.0, "cm")
    assert measured(both, x=0.75, y=12.0) == (25.0, "cm")


@pytest.mark.parametrize(
    "condition",
    [
        gauge.name == "x",
        gauge.flag,
        not_(gauge.flag),
        known(gauge.spare),
        (gauge.x >= 1 * metres) & (gauge.angle >= 1 * degrees),
        (gauge.x >= 1 * metres) | (gauge.name == "x"),
        (gauge.x >= 1 * metres) == (gauge.y >= 1 * metres),
        between(gauge.angle, 0 * degrees, 360 * degrees),
    ],
)
def test_what_has_no_margin(condition):
    row: dict[str, Any] = {"x": 0, "y": 0, "angle": 0, "name": "y", "flag": False}
    assert measured(condition, **row) is None


@pytest.mark.parametrize(
    "condition",
    [
        gauge.x >= 1 * metres,
        gauge.x >= gauge.spare,
        between(gauge.x, 0 * metres, gauge.y),
        between(gauge.angle, 0 * degrees, gauge.angle),
        (gauge.x >= 1 * metres) & (gauge.low >= 1 * metres),
        gauge.eta >= now,
    ],
)
def test_without_a_value_there_is_none(condition):
    assert measured(condition, low=3) is None


# -------------------------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize(
    ("condition", "row", "expected"),
    [
        (gauge.x >= 50 * centimetres, {"x": 0.25}, (-25.0, "cm")),
        (50 * centimetres <= gauge.x, {"x": 0.25}, (-25.0, "cm")),
        (gauge.x - gauge.low >= 0 * metres, {"x": 1.0, "low": 150}, (-0.5, "m")),
        (gauge.low <= gauge.x, {"x": 1.0, "low": 150}, (-50.0, "cm")),
        (gauge.x <= 10 * feet, {"x": 6.096}, (-10.0, "ft")),
        (between(gauge.x, 50 * centimetres, 1 * metres), {"x": 1.25}, (-25.0, "cm")),
        (between(gauge.angle, 340 * degrees, 20 * degrees), {"angle": 30}, (-10.0, "°")),
        (between(gauge.angle, 340 * degrees, 20 * degrees), {"angle": 330}, (-10.0, "°")),
        (between(gauge.angle, 340 * degrees, 20 * degrees), {"angle": 359}, (19.0, "°")),
        (gauge.c >= 20 * celsius, {"c": 15.0}, (-5.0, "K")),
        (gauge.c - gauge.c2 <= 5 * kelvin, {"c": 15.0, "c2": 5.0}, (-5.0, "K")),
        (gauge.eta - now <= 24 * hours, {"eta": 25 * 3_600_000_000}, (-1.0, "h")),
        (gauge.eta >= now + 30 * minutes, {"eta": 0}, (-30.0, "min")),
        (gauge.eta <= gauge.etd, {"eta": 3_600_000_000, "etd": 0}, (-1.0, "h")),
        (gauge.eta <= datetime(1970, 1, 1, tzinfo=UTC), {"eta": 5_400_000_000}, (-1.5, "h")),
        (between(gauge.eta, now - 1 * hours, now + 1 * hours), {"eta": 7_200_000_000}, (-1.0, "h")),
        (named("room", gauge.x - gauge.y >= 1 * metres), {"x": 1.0, "y": 2.0}, (-2.0, "m")),
    ],
)
def test_the_unit_is_the_one_written_in_the_rule(condition, row, expected):
    found = measured(condition, now=0, **row)
    assert found == (pytest.approx(expected[0]), expected[1])


def test_a_temperature_in_kelvin_or_fahrenheit():
    assert measured(gauge.k >= 20 * celsius, k=283.15) == (pytest.approx(-10.0), "K")
    assert measured(gauge.c <= 68 * unit("degree_Fahrenheit"), c=30.0) == (pytest.approx(-10.0), "K")
    assert measured(between(gauge.turn, 0 * degrees, 90 * degrees), turn=3.141592653589793) == (
        pytest.approx(-90.0), "°",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------- in a verdict


def clearance() -> None:
    with location("A"), when(vessel.draught >= 15 * metres):
        require(berth.depth + tide.height - vessel.draught >= 50 * centimetres, "clearance")
    require(wind.velocity <= 45 * knots, "wind")
    require(vessel.vessel_type != "chemical", "type")


def test_a_reason_says_how_far_the_values_are_from_the_limit():
    ship = {"destination": "A", "draught": 15.5, "vessel_type": "chemical"}
    rows: Any = {"vessel": ship, "berth": {"depth": 15.0}, "tide": {"height": -0.25}, "wind": {"velocity": 50.0}}
    verdict = judged(clearance, **rows)
    assert [(each.name, each.margin) for each in verdict.because] == [
        ("clearance", (-125.0, "cm")), ("wind", (-5.0, "kn")), ("type", None),
    ]  # fmt: skip
    assert ("50 cm", 50, "cm") in verdict.because[0].values
    assert ("berth.depth + tide.height - vessel.draught", -75.0, "cm") in verdict.because[0].values
    assert ("tide.height", -0.25, "m") in verdict.because[0].values


def test_moving_the_tide_by_the_margin_lifts_the_restriction():
    ship = {"destination": "A", "draught": 15.5, "vessel_type": "container"}
    rows: Any = {"vessel": ship, "berth": {"depth": 15.0}, "wind": {"velocity": 40.0}}
    [reason] = judged(clearance, tide={"height": -0.25}, **rows).because
    assert reason.margin is not None
    enough = -0.25 - reason.margin[0] / 100
    assert judged(clearance, tide={"height": enough}, **rows).status == "allowed"
    assert judged(clearance, tide={"height": enough - 0.125}, **rows).status == "restricted"


def test_what_is_undecided_has_no_margin_and_margins_make_no_difference():
    ship = {"destination": "A", "draught": 15.5, "vessel_type": "container"}
    made = RulePack("port", subject=vessel)
    assert made.check({"vessel": ship}).because == ()
    [first] = judged(lambda: require(wind.velocity <= 45 * knots), vessel=ship).because
    assert (first.missing, first.margin) == (("wind",), None)
    strong, stronger = (
        judged(lambda: require(wind.velocity <= 45 * knots), vessel=ship, wind={"velocity": each}) for each in (50, 60)
    )
    assert strong == stronger
    assert strong.because[0].margin != stronger.because[0].margin
