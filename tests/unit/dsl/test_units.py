"""Units: what they are worth, exact conversion of constants, and conversion of fields by a factor."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl import DimensionMismatch, InvalidRule, Source, units
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.term_expressions import constant_in
from dsl.units import (
    centimetres,
    days,
    degrees,
    dimensionless,
    feet,
    hectopascals,
    hours,
    kilometres,
    kilometres_per_hour,
    knots,
    metres,
    metres_per_second,
    miles_per_hour,
    minutes,
    nautical_miles,
    percent,
    radians,
    seconds,
    tonnes,
)

EXACT = [
    (50 * centimetres, metres, 0.5),
    (20 * centimetres, metres, 0.2),
    (7 * centimetres, metres, 0.07),
    (57 * centimetres, metres, 0.57),
    (14.3 * metres, metres, 14.3),
    (14.3 * metres, centimetres, 1430.0),
    (0.1 * kilometres, metres, 100.0),
    (1 * knots, metres_per_second, 0.5144444444444445),
    (1 * nautical_miles, metres, 1852.0),
    (1 * nautical_miles / hours, knots, 1.0),
    (1852 * metres / hours, knots, 1.0),
    (18.52 * kilometres_per_hour, knots, 10.0),
    (1 * feet, metres, 0.3048),
    (30 * miles_per_hour, metres_per_second, 13.4112),
    (90 * minutes, hours, 1.5),
    (1 * days, seconds, 86400.0),
    (5 * percent, dimensionless, 0.05),
    (180 * degrees, radians, math.pi),
    (2 * tonnes / metres**3, units.kilograms / metres**3, 2000.0),
    (1013 * hectopascals, units.newtons / metres**2, 101300.0),
]


@pytest.mark.parametrize(("quantity", "unit", "expected"), EXACT, ids=str)
def test_constants_convert_exactly(quantity, unit, expected):
    assert constant_in(quantity.term, unit.measure) == expected


def test_a_constant_in_its_own_unit_keeps_its_type():
    assert constant_in((15 * metres).term, metres.measure) == 15
    assert type(constant_in((15 * metres).term, metres.measure)) is int


def test_constants_that_are_calculated_convert_exactly():
    assert constant_in((1 * metres + 10 * centimetres - 2 * (5 * centimetres)).term, metres.measure) == 1.0
    assert constant_in((0.1 * metres + 0.2 * metres).term, metres.measure) == 0.3  # decimals, not binary fractions
    assert constant_in((abs(-(50 * centimetres)) / 3).term, centimetres.measure) == float(Fraction(50, 3))


def compare(declared, constant, bare):
    source = Source("s", key=None, x=declared)
    return compiled((source.x >= constant).term, {"s": 0})(Situation([{"x": bare}]))


@given(st.integers(-10_000, 10_000), st.integers(-10_000, 10_000))
def test_a_field_in_any_unit_compares_alike(value, limit):
    expected = value >= limit
    assert compare(centimetres, limit * centimetres, value) == expected
    assert compare(metres, limit * centimetres, value / 100) == expected
    assert compare(centimetres, (Fraction(limit, 100)) * metres, value) == expected or limit % 100


def test_two_fields_in_two_units_meet_in_the_unit_of_the_left():
    deep, low = Source("deep", key=None, x=metres), Source("low", key=None, x=centimetres)
    rows: list[dict[str, Any] | None] = [{"x": 1.0}, {"x": 57}]
    slots = {"deep": 0, "low": 1}
    assert compiled((deep.x + low.x).term, slots)(Situation(rows)) == 1.0 + 0.57
    assert compiled((low.x + deep.x).term, slots)(Situation(rows)) == 157.0
    assert compiled((low.x - deep.x >= -43 * centimetres).term, slots)(Situation(rows)) is True
    assert compiled((deep.x >= low.x).term, slots)(Situation(rows)) is True
    assert compiled((deep.x * low.x).term, slots)(Situation(rows)) == 57.0
    assert compiled((deep.x * low.x == 0.57 * metres**2).term, slots)(Situation(rows)) is True
    assert compiled((50 * centimetres + deep.x >= 1.5 * metres).term, slots)(Situation(rows)) is True
    assert (50 * centimetres + deep.x).term.kind == metres.measure


def test_a_speed_in_another_unit():
    wind = Source("wind", key=None, velocity=metres_per_second)
    fast = compiled((wind.velocity <= 45 * knots).term, {"wind": 0})
    assert [fast(Situation([{"velocity": velocity}])) for velocity in (23.15, 23.16)] == [True, False]


def test_an_unwieldy_ratio_still_converts():
    angle = Source("angle", key=None, x=degrees)
    assert compiled((angle.x + 0 * radians).term, {"angle": 0})(Situation([{"x": 180}])) == 180
    turned = compiled((0 * radians + angle.x).term, {"angle": 0})(Situation([{"x": 180}]))
    assert turned == 180  # a constant goes to the unit of the field
    other = Source("other", key=None, y=radians)
    both = compiled((other.y + angle.x).term, {"other": 0, "angle": 1})(Situation([{"y": 0.0}, {"x": 180}]))
    assert both == pytest.approx(math.pi)


def test_an_angle_is_not_a_number():
    heading = Source("heading", key=None, x=degrees)
    with pytest.raises(DimensionMismatch, match="an angle and a plain number"):
        heading.x < 180  # noqa: B015 - it raises


def test_any_unit_that_pint_knows():
    assert units.unit("furlong").symbol == "fur"
    assert repr(units.unit("tonne / metre**3")) == "<unit t/m³, a density>"
    assert repr(units.unit("radian / second")) == "<unit rad/s, a rate of turn>"
    assert str(units.unit("volt").measure.dimension) == "length²·mass/electric current·time³"


@pytest.mark.parametrize("name", ["furlnog", "metre**0.5", "", "3 +", 7])
def test_what_is_no_unit_is_refused(name):
    with pytest.raises(InvalidRule, match="unit: expected a unit"):
        units.unit(name)


def test_pint_is_not_asked_while_events_flow(monkeypatch):
    source = Source("s", key=None, x=metres, y=centimetres)
    evaluate = compiled((source.x + source.y >= 2 * feet).term, {"s": 0})

    def forbidden(*_, **__):
        message = "pint was asked"
        raise AssertionError(message)

    for name in ("Quantity", "Unit", "convert", "get_dimensionality", "parse_expression"):
        monkeypatch.setattr(type(units._REGISTRY), name, forbidden)
    assert evaluate(Situation([{"x": 0.5, "y": 20}])) is True
