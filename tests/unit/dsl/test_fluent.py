"""The operators of the thesis's Table 2.1, and the lifting of constants, symmetric throughout."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

from dsl import DimensionMismatch, InvalidRule, NoTruthValue, absolute, not_
from dsl.meaning.evaluation import Situation, compiled
from dsl.terms.dimensions import NUMBER, TEXT, TRUTH, described
from dsl.terms.terms import Constant
from dsl.units import centimetres, degrees, hours, knots, metres, seconds
from dsl.writing.fluent import lift
from tests.unit.dsl.harbour import berth, tide, tugs, vessel, wind


def value(expression, **rows):
    names = sorted(rows)
    return compiled(expression.term, {name: i for i, name in enumerate(names)})(
        Situation([rows[name] for name in names])
    )


SHIP = {"length": 100.0, "beam": 20.0, "draught": 8.0, "vessel_type": "tanker", "has_pilot": True, "name": "EVA"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (10 * metres + vessel.draught, 18.0),
        (10 * metres - vessel.draught, 2.0),
        (10 * vessel.draught, 80.0),
        (vessel.draught * 10, 80.0),
        (16 * metres / vessel.draught, 2.0),
        (8 * metres == vessel.draught, True),
        (8 * metres != vessel.draught, False),
        (8 * metres < vessel.draught, False),
        (8 * metres <= vessel.draught, True),
        (8 * metres > vessel.draught, False),
        (8 * metres >= vessel.draught, True),
        ("tanker" == vessel.vessel_type, True),  # noqa: SIM300 - the constant comes first on purpose
        (True & (vessel.draught > 7 * metres), True),
        (False | (vessel.draught > 9 * metres), False),
        (vessel.has_pilot & True, True),
        (metres * 8 == vessel.draught, True),
    ],
)
def test_constants_may_stand_on_either_side(expression, expected):
    assert value(expression, vessel=SHIP) == expected


def test_sums_are_evaluated_as_they_are_written():
    rows = {"berth": {"depth": 0.1}, "tide": {"height": 0.2}, "vessel": {"draught": 0.3}}
    assert value(berth.depth + tide.height - vessel.draught, **rows) == (0.1 + 0.2) - 0.3
    assert value(berth.depth + (tide.height - vessel.draught), **rows) == 0.1 + (0.2 - 0.3)


def test_products_and_quotients_have_dimensions_of_their_own():
    assert described((vessel.length / (2 * hours)).term.kind) == "a speed, in m/h"
    assert described((vessel.length * vessel.beam / vessel.draught).term.kind) == "a length, in m"
    assert (vessel.length / vessel.beam).term.kind == NUMBER
    assert (wind.velocity * (30 * seconds) >= 100 * metres).term.kind == TRUTH
    assert described((1 / hours).term.kind) == "a frequency, in 1/h"


def test_an_expression_times_or_by_a_unit():
    assert value(tugs.available * metres, tugs={"available": 3}) == 3
    assert (15 * metres / hours).term == Constant(15, (metres / hours).measure)
    assert value(vessel.draught / metres >= 8, vessel=SHIP) is True
    assert value(metres / vessel.draught, vessel=SHIP) == 0.125
    assert value(metres * vessel.draught, vessel=SHIP) == 8.0


@pytest.mark.parametrize(
    ("given", "constant"),
    [
        (True, Constant(True, TRUTH)),
        (7, Constant(7, NUMBER)),
        (2**60 + 1, Constant(2**60 + 1, NUMBER)),
        (0.5, Constant(0.5, NUMBER)),
        (Fraction(1, 4), Constant(0.25, NUMBER)),
        (Decimal("0.1"), Constant(0.1, NUMBER)),
        (numpy.float64(0.1), Constant(0.1, NUMBER)),
        (numpy.int32(3), Constant(3, NUMBER)),
    ],
)
def test_constants_are_lifted(given, constant):
    lifted: Any = lift(given)
    assert lifted == constant
    assert type(lifted.value) is type(constant.value)


def test_a_text_is_lifted():
    assert lift("oil") == Constant("oil", TEXT)


def test_numpy_leaves_the_operator_to_the_rule():
    assert repr(numpy.float64(2.5) * vessel.draught >= numpy.float64(3) * metres) == "2.5 * vessel.draught >= 3.0 m"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: vessel.draught + wind.velocity,
        lambda: vessel.draught - 3,
        lambda: vessel.draught < 3 * knots,
        lambda: vessel.draught == "deep",
        lambda: vessel.vessel_type * 2,
        lambda: vessel.vessel_type < "tanker",
        lambda: vessel.has_pilot < True,
        lambda: vessel.has_pilot + 1,
        lambda: tugs.available == True,  # noqa: E712 - as a rule may be written
        lambda: wind.direction < 180,
        lambda: wind.direction > 3 * metres,
        lambda: -vessel.vessel_type,
        lambda: abs(vessel.has_pilot),
        lambda: absolute("text"),
        lambda: not_(vessel.draught),
        lambda: ~vessel.vessel_type,
        lambda: vessel.has_pilot & vessel.draught,
        lambda: vessel.has_pilot | "text",
        lambda: 1 | vessel.has_pilot,
        lambda: berth.position == berth.position,
        lambda: berth.position + 1,
        lambda: vessel.draught == None,  # noqa: E711 - as a rule may be written
        lambda: vessel.draught == metres,
        lambda: vessel.draught == vessel,
        lambda: vessel.draught == object(),
        lambda: vessel.length * vessel.beam >= 5 * metres,
        lambda: "x" * metres,  # type: ignore[operator]  # wrong on purpose
    ],
)
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(DimensionMismatch) as refused:
        wrong()
    assert isinstance(refused.value, TypeError)
    assert "fix" in str(refused.value)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_constant_is_finite(number):
    with pytest.raises(InvalidRule, match="finite"):
        tugs.available >= number  # noqa: B015 - it raises


def test_dividing_by_a_zero_is_refused_as_it_is_written():
    with pytest.raises(InvalidRule, match="other than zero"):
        _ = vessel.draught / (2 * centimetres - 20 * centimetres / 10)


def test_a_rule_has_no_truth_value_length_or_elements():
    deep = vessel.draught > 5 * metres
    for wrong in (bool, len, iter, list, lambda x: 3 in x, lambda x: x and x, lambda x: [x] == [x and 1]):
        with pytest.raises(NoTruthValue) as refused:
            wrong(deep)
        assert isinstance(refused.value, TypeError)
        assert isinstance(refused.value, ValueError)


def test_an_expression_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        _ = {vessel.draught}


def test_units_compare_combine_and_show_themselves():
    assert metres / seconds == metres * seconds**-1
    assert repr(metres**2) == "<unit m², an area>"
    assert repr(metres / metres) == "<unit 1, a plain number>"
    assert (degrees.symbol, degrees.dimension) == ("°", "angle")
    assert len({metres, centimetres, metres}) == 2
