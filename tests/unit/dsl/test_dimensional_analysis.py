"""Dimensions and conversions through every operation, against pint: what it refuses we refuse, and values agree.

pint is the oracle here: quantities are calculated at each step by its registry, with fractions; the library checks
dimensions once, when the expression is written, and evaluates bare numbers.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import pint
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dsl import DimensionMismatch, Source, absolute
from dsl import units as ours
from dsl.meaning.evaluation import Situation, compiled
from dsl.terms.dimensions import Measure

REGISTRY: Any = pint.UnitRegistry(non_int_type=Fraction)
NAMES = {
    "metres": "metre", "centimetres": "centimetre", "nautical_miles": "nautical_mile", "seconds": "second",
    "hours": "hour", "knots": "knot", "tonnes": "tonne", "kilowatts": "kilowatt", "dimensionless": "dimensionless",
}  # fmt: skip
FIELDS: dict[str, Any] = {name: getattr(ours, name) for name in NAMES}
row = Source("row", key=None, fields=FIELDS)

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

leaves = st.one_of(
    st.sampled_from(sorted(NAMES)).map(lambda name: ("field", name)),
    st.tuples(st.just("constant"), st.sampled_from(sorted(NAMES)), st.integers(-4, 4)),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(OPERATORS)), inner, inner), st.tuples(st.sampled_from(["neg", "abs"]), inner)
    ),
    max_leaves=5,
)
values = st.fixed_dictionaries({name: st.integers(1, 9) for name in NAMES})


def written(tree: Any) -> Any:
    match tree:
        case ("field", name):
            return row[name]
        case ("constant", name, number):
            return number * FIELDS[name]
        case ("neg", inner):
            return -written(inner)
        case ("abs", inner):
            return absolute(written(inner))
    symbol, left, right = tree
    return OPERATORS[symbol](written(left), written(right))


def calculated(tree: Any, known: dict[str, int]) -> Any:
    match tree:
        case ("field", name):
            return REGISTRY.Quantity(Fraction(known[name]), NAMES[name])
        case ("constant", name, number):
            return REGISTRY.Quantity(Fraction(number), NAMES[name])
        case ("neg", inner):
            return -calculated(inner, known)
        case ("abs", inner):
            return abs(calculated(inner, known))
    symbol, left, right = tree
    first, second = calculated(left, known), calculated(right, known)
    # pint adds a bare zero to anything; a rule does not.
    if symbol in "+-" and first.dimensionality != second.dimensionality:
        raise pint.DimensionalityError(first.units, second.units)
    return OPERATORS[symbol](first, second)


def size(tree: Any, known: dict[str, int]) -> float:
    """How large what is calculated with becomes, in root units: rounding is relative to that, not to a difference."""
    match tree:
        case ("neg" | "abs", inner):
            return size(inner, known)
        case ("field", *_) | ("constant", *_):
            return abs(float(calculated(tree, known).to_root_units().magnitude))
    symbol, left, right = tree
    one, two = size(left, known), size(right, known)
    if symbol in "+-":
        return one + two
    if symbol == "*":
        return one * two
    divisor = abs(float(calculated(right, known).to_root_units().magnitude))
    return one / divisor * max(1.0, two / divisor)


def exponents(quantity: Any) -> dict[str, int]:
    return {name.strip("[]"): int(power) for name, power in quantity.dimensionality.items()}


@given(trees, values)
def test_an_expression_has_the_dimension_and_the_value_that_pint_calculates(tree, known):
    try:
        expected = calculated(tree, known)
    except pint.DimensionalityError:
        with pytest.raises(DimensionMismatch):
            written(tree)
        return
    except ZeroDivisionError:
        assume(False)
    expression = written(tree)
    kind = expression.term.kind
    assert isinstance(kind, Measure)
    assert dict(kind.dimension.exponents) == exponents(expected)
    value = compiled(expression.term, {"row": 0})(Situation([dict(known)]))
    magnitude = expected.to_root_units().magnitude
    scale = float(kind.factor)
    assert value * scale == pytest.approx(float(magnitude), rel=1e-9, abs=1e-9 * size(tree, known))


@given(trees, trees, st.sampled_from(sorted(COMPARISONS)), values)
def test_a_comparison_holds_as_it_does_in_pint(left, right, symbol, known):
    try:
        first, second = calculated(left, known), calculated(right, known)
    except (pint.DimensionalityError, ZeroDivisionError):
        assume(False)
    if first.dimensionality != second.dimensionality:
        with pytest.raises(DimensionMismatch, match="of one dimension but got"):
            COMPARISONS[symbol](written(left), written(right))
        return
    difference = (first - second).to_root_units().magnitude
    assume(difference == 0 or abs(difference) > 1e-9 * (size(left, known) + size(right, known)))
    condition = COMPARISONS[symbol](written(left), written(right))
    answer = compiled(condition.term, {"row": 0})(Situation([dict(known)]))
    if difference != 0:
        assert bool(answer) == COMPARISONS[symbol](first, second)
