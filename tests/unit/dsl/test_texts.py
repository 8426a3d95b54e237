"""Texts of terms: readable, with as few parentheses as precedence allows; dimensions and units as they are called."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dsl import absolute, nearest, not_
from dsl.terms.dimensions import NUMBER, Dimension, Measure, Part, described, formula
from dsl.terms.terms import Constant, is_constant, observations, operands, parts, sources
from dsl.units import centimetres, degrees, hours, knots, metres, percent, seconds
from tests.unit.dsl.harbour import berth, tide, tugs, vessel, wind

a, b, c = vessel.draught > 1 * metres, vessel.length > 2 * metres, vessel.has_pilot


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (berth.depth + tide.height - vessel.draught, "berth.depth + tide.height - vessel.draught"),
        (berth.depth - (tide.height - vessel.draught), "berth.depth - (tide.height - vessel.draught)"),
        (berth.depth - (tide.height + vessel.draught), "berth.depth - (tide.height + vessel.draught)"),
        ((berth.depth + tide.height) * 2, "(berth.depth + tide.height) * 2"),
        (2 * berth.depth / 3, "2 * berth.depth / 3"),
        (berth.depth / (tide.height / 3), "berth.depth / (tide.height / 3)"),
        (-(berth.depth + tide.height), "-(berth.depth + tide.height)"),
        (-berth.depth * 2, "-berth.depth * 2"),
        (absolute(berth.depth) - abs(tide.height), "abs(berth.depth) - abs(tide.height)"),
        (berth.depth * -2, "berth.depth * -2"),
        (tide.height > -0.5 * metres, "tide.height > -0.5 m"),
        (a & b | c, "vessel.draught > 1 m and vessel.length > 2 m or vessel.has_pilot"),
        (a & (b | c), "vessel.draught > 1 m and (vessel.length > 2 m or vessel.has_pilot)"),
        (not_(a & b), "not (vessel.draught > 1 m and vessel.length > 2 m)"),
        (not_(a) & b, "not vessel.draught > 1 m and vessel.length > 2 m"),
        (a == c, "(vessel.draught > 1 m) == vessel.has_pilot"),
        (vessel.vessel_type == 'the "deep" one', r'vessel.vessel_type == "the \"deep\" one"'),
        (wind.direction < 180 * degrees, "wind.direction < 180°"),
        (tugs.available >= 5 * percent, "tugs.available >= 5%"),
        (vessel.length / (2 * hours) <= 1.5 * (metres / seconds), "vessel.length / 2 h <= 1.5 m/s"),
        (berth.id == nearest({"A": (0.0, 0.0)}, berth.position), "berth.id == nearest(1 places, berth.position)"),
    ],
)
def test_the_text_of_a_term(expression, text):
    assert repr(expression) == text


def test_parts_are_listed_outside_in_and_left_to_right():
    term = (berth.depth + tide.height - berth.depth >= 50 * centimetres).term
    assert [f"{each.source.name}.{each.field}" for each in observations(term)] == ["berth.depth", "tide.height"]
    assert [source.name for source in sources(term)] == ["berth", "tide"]
    assert next(parts(term)) is term
    assert len(list(parts(term))) == 7
    assert operands(operands(term)[1]) == ()


def test_a_term_that_observes_nothing_is_constant():
    assert is_constant((2 * metres + 3 * centimetres).term)
    assert not is_constant((2 * metres + tide.height).term)


@pytest.mark.parametrize(
    ("unit", "described_as", "spelled"),
    [
        (metres, "a length, in m", "metres"),
        (metres * metres, "an area, in m²", "metres ** 2"),
        (metres**3 / seconds, "a rate of flow, in m³/s", "metres ** 3 / seconds"),
        (metres / seconds / seconds, "an acceleration, in m/s²", "metres / seconds ** 2"),
        (seconds**-1, "a frequency, in 1/s", "1 / seconds"),
        (knots, "a speed, in kn", "knots"),
        (metres * centimetres / metres, "a length, in cm", "centimetres"),
        (metres * seconds, "a length·time, in m·s", "metres * seconds"),
        (metres / metres, "a plain number", "dimensionless"),
    ],
)
def test_units_are_called_as_they_are_spelled(unit, described_as, spelled):
    assert described(unit.measure) == described_as
    assert unit.measure.spelling == spelled


def test_dimensions_are_equal_whatever_their_order():
    assert Dimension.of(time=-1, length=1) == Dimension.of(length=1).times(Dimension.of(time=1), -1)
    assert formula([("m", 12)]) == "m¹²"
    assert str(Measure((Part("x", "x", 1),), Dimension(), Fraction(1))) == "x"
    assert Constant(1, NUMBER) == Constant(1.0, NUMBER)
