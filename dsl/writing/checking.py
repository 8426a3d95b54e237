"""Dimensions are checked here, when the rule is written: builds well-typed terms, or refuses and shows the fix.

Operands of + and - and of comparisons must have one dimension; * and / take any quantities; logic takes conditions;
texts, truth values and positions mix with nothing else; instants and degrees of temperature are points (`points`).
Where two units of one dimension meet, the right operand is converted to the unit of the left, and a constant always to
the unit of the other side.

Source: thesis, section 2.2 (one dimension for sums and comparisons, any pair for products).
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.refusals.spellings import summed
from dsl.terms.dimensions import (
    INSTANT,
    NUMBER,
    POSITION,
    TRUTH,
    Choice,
    Measure,
    Sort,
    alike,
    named,
)
from dsl.terms.points import is_point, kind_of_sum, measures_of_operands, meets
from dsl.terms.terms import Arithmetic, Comparison, Constant, Junction, Named, Not, Sign, is_constant
from dsl.terms.texts import text
from dsl.writing.wording import (
    NO_ZERO,
    example,
    expected_of_points,
    fix_for,
    mismatch,
    only_measured,
    operand_text,
    spelled,
    stated,
)

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Term

ORDERED = ("<", "<=", ">", ">=")


def arithmetic(operator: Literal["+", "-", "*", "/"], left: Term, right: Term) -> Arithmetic:
    """Build a sum, difference, product or quotient.

    >>> from dsl.terms.dimensions import NUMBER
    >>> arithmetic("*", Constant(2, NUMBER), Constant(3, NUMBER)).kind == NUMBER
    True

    Raises:
        DimensionMismatch: The operands are no quantities, or of two dimensions under + or -.
        InvalidRule: The divisor is zero as it is written, or an operand is beyond all floats.
    """
    whole = f"{operand_text(left)} {operator} {operand_text(right)}"
    if is_point(left.kind) or is_point(right.kind):
        kind = kind_of_sum(operator, left, right) if operator in "+-" else None
        if kind is None:
            mismatch(whole, *expected_of_points(operator, left, right))
        return _arithmetic(whole, operator, left, right, kind)
    if not (isinstance(left.kind, Measure) and isinstance(right.kind, Measure)):
        mismatch(whole, "two quantities", left, right, only_measured(left, right))
    if operator in "+-":
        if not alike(left.kind, right.kind):
            is_start = operator == "+" and left == Constant(0, NUMBER)
            mismatch(
                whole, "two operands of one dimension", left, right, (is_start and summed()) or fix_for(left, right)
            )
        return _arithmetic(whole, operator, left, right, common(left, right))
    if operator == "/" and is_constant(right) and exact(right) == 0:
        fix = [("fix", "divide by something else")]
        raise InvalidRule(refusal(f"{whole}: expected a divisor other than zero", fix))
    kind = left.kind.times(right.kind, 1 if operator == "*" else -1)
    return _arithmetic(whole, operator, left, right, kind)


def sign(operator: Literal["-", "abs"], operand: Term) -> Sign:
    """Build a negation or an absolute value.

    Raises:
        DimensionMismatch: The operand is no quantity.
    """
    if not isinstance(operand.kind, Measure):
        is_condition = operand.kind == TRUTH
        fix = "use not_(…) for its opposite" if is_condition else "only quantities have a sign and an absolute value"
        shown = f"{operator}{'' if operator == '-' else ' of '}{text(operand)}"
        notes = [("got", stated(operand)), ("fix", fix)]
        raise DimensionMismatch(refusal(f"{shown}: expected a quantity but got {named(operand.kind)}", notes))
    if is_point(operand.kind):
        shown = f"{operator}{'' if operator == '-' else ' of '}{text(operand)}"
        fix = "subtract another temperature first"
        if isinstance(operand, Constant) and operator == "-":
            fix = f"write {spelled(operand, -1)}"
        notes = [("why", NO_ZERO), ("fix", fix)]
        raise DimensionMismatch(refusal(f"{shown}: expected a quantity with a natural zero", notes))
    return Sign(operator, operand)


def comparison(operator: Literal["==", "!=", "<", "<=", ">", ">="], left: Term, right: Term) -> Comparison:
    """Build a comparison.

    Raises:
        DimensionMismatch: The operands are of two dimensions or types, or have no order but are ordered.
        InvalidRule: One is beyond all floats in the unit of the other.
    """
    whole = f"{operand_text(left)} {operator} {operand_text(right)}"
    if not alike(left.kind, right.kind):
        what = "dimension" if isinstance(left.kind, Measure) and isinstance(right.kind, Measure) else "type"
        mismatch(whole, f"two operands of one {what}", left, right, fix_for(left, right))
    if not meets(left, right):
        fix = "give the limit of a difference in kelvin, which is as large as a degree Celsius: 5 * kelvin"
        why = "one is the difference of two temperatures, the other a temperature"
        mismatch(whole, "two temperatures, or two differences", left, right, fix, why)
    if left.kind == POSITION:
        fix = "find the closest place with nearest(…), or compare distance(…, …) with a length"
        mismatch(whole, "quantities, texts or truth values", left, right, fix)
    _check_choice(whole, left, right)
    if operator in ORDERED and isinstance(left.kind, Sort) and left.kind != INSTANT:
        mismatch(whole, "quantities to order", left, right, f"a {left.kind} has no order here; use == or !=")
    if isinstance(left.kind, Measure):
        shared = common(left, right)
        _demand_float(whole, left, shared)
        _demand_float(whole, right, shared)
    return Comparison(operator, left, right)


def junction(operator: Literal["and", "or"], left: Term, right: Term) -> Junction:
    """Build a conjunction or disjunction.

    Raises:
        DimensionMismatch: An operand is no condition; mostly a comparison lacks its parentheses.
    """
    if left.kind != TRUTH or right.kind != TRUTH:
        symbol = "&" if operator == "and" else "|"
        fix = f"{symbol} binds tighter than a comparison: write (a >= b) {symbol} (c >= d)"
        mismatch(f"{operand_text(left)} {symbol} {operand_text(right)}", "two conditions", left, right, fix)
    return Junction(operator, left, right)


def opposite(operand: Term) -> Not:
    """Build the opposite of a condition.

    Raises:
        DimensionMismatch: The operand is no condition.
    """
    return Not(condition("not_", operand))


def condition(call: str, term: Term) -> Term:
    """Return ``term``, which must be a condition: the argument of ``call``.

    Raises:
        DimensionMismatch: It is a quantity, a text or a position.
    """
    if term.kind != TRUTH:
        symbol = ">=" if isinstance(term.kind, Measure) or term.kind == INSTANT else "=="
        shown = f"{text(term)} {symbol} {example(term.kind)}"
        notes = [("got", stated(term)), ("fix", f"say what must hold of it, such as {shown}")]
        raise DimensionMismatch(refusal(f"{call}: expected a condition but got {named(term.kind)}", notes))
    return term


def common(left: Term, right: Term) -> Measure:
    """Return the measure in which two quantities meet: the left one's, unless only the right is observed."""
    chosen = right if is_constant(left) and not is_constant(right) else left
    assert isinstance(chosen.kind, Measure)
    return chosen.kind


def exact(term: Term) -> Fraction:
    """Return the magnitude of a constant quantity in its own unit, exactly; a float counts as the decimal it shows.

    >>> from dsl.units import centimetres, metres
    >>> exact((1 * metres + 10 * centimetres).term)
    Fraction(11, 10)
    """
    match term:
        case Constant(value):
            return Fraction(str(value))
        case Sign(operator, operand):
            return -exact(operand) if operator == "-" else abs(exact(operand))
        case Named(_, operand):
            return exact(operand)
        case Arithmetic("*", left, right):
            return exact(left) * exact(right)
        case Arithmetic("/", left, right):
            return exact(left) / exact(right)
        case Arithmetic(operator, left, right, kind):
            measures = measures_of_operands(operator, left, right, kind)
            first, second = (
                exact(side) if measure is None else exact_in(side, measure)
                for side, measure in zip((left, right), measures, strict=True)
            )
            return first + second if operator == "+" else first - second
    message = f"{term!r} is no constant quantity"
    raise AssertionError(message)


def exact_in(term: Term, measure: Measure) -> Fraction:
    """Return the magnitude of a constant quantity in ``measure``, exactly.

    >>> from dsl.units import centimetres, metres
    >>> exact_in((50 * centimetres).term, metres.measure)
    Fraction(1, 2)
    """
    assert isinstance(term.kind, Measure)
    return exact(term) * term.kind.ratio(measure) + term.kind.shift(measure)


def _arithmetic(whole: str, operator: Literal["+", "-", "*", "/"], left: Term, right: Term, kind: Kind) -> Arithmetic:
    for operand, measure in zip((left, right), measures_of_operands(operator, left, right, kind), strict=True):
        if isinstance(operand.kind, Measure):
            _demand_float(whole, operand, measure or operand.kind)
    return Arithmetic(operator, left, right, kind)


def _demand_float(whole: str, operand: Term, measure: Measure) -> None:
    """Refuse a constant that is no float in the unit in which it is used."""
    if not is_constant(operand) or (isinstance(operand, Constant) and operand.kind == measure):
        return
    try:
        float(exact_in(operand, measure))
    except OverflowError:
        summary = f"{whole}: expected quantities of a reasonable size but got {text(operand)}"
        raise InvalidRule(refusal(summary, [("fix", "write a smaller one")])) from None


def _check_choice(whole: str, left: Term, right: Term) -> None:
    """Refuse to compare a choice with a text that is none of its members."""
    for choice, other in ((left, right), (right, left)):
        if not isinstance(choice.kind, Choice):
            continue
        if isinstance(other, Constant) and other.value not in choice.kind.members:
            close = get_close_matches(str(other.value), choice.kind.members, n=1) or choice.kind.members
            fix = f"write {json.dumps(close[0], ensure_ascii=False)}, or declare {text(other)} as a member too"
            notes = [("left", stated(left)), ("right", stated(right)), ("fix", fix)]
            summary = f"{whole}: expected a member of {text(choice)} but got {text(other)}"
            raise DimensionMismatch(refusal(summary, notes))
        if isinstance(other.kind, Choice) and not set(choice.kind.members) & set(other.kind.members):
            mismatch(whole, "two choices that share a member", left, right, "compare choices of the same things")
