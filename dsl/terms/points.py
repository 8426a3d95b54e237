"""Points and differences: what has no natural zero adds and subtracts by rules of its own.

An instant, and a temperature in degrees, is a point on a scale. Two points have a difference (a time, a temperature in
kelvin); a point and a difference make a point; the sum, the multiple and the opposite of points mean nothing. A
temperature in kelvin is both: an absolute temperature, and a difference of two. What it is follows from how it is
made, and where that does not say it, mixing it with degrees is refused: 20 °C - 293 K must not become -273 °C.

Source: affine spaces; pint's and the SI brochure's treatment of degrees Celsius (section 2.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from dsl.terms.dimensions import INSTANT, KELVIN, MICROSECONDS, Measure, alike
from dsl.terms.terms import Arithmetic, Coalesce, Constant, Named, Observation

if TYPE_CHECKING:
    from typing import TypeAlias

    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Term

    Sense: TypeAlias = Literal["point", "difference", "either"]


def is_point(kind: Kind) -> bool:
    """Whether values of the kind are points: instants, temperatures in degrees.

    >>> is_point(INSTANT), is_point(KELVIN)
    (True, False)
    """
    return kind == INSTANT or (isinstance(kind, Measure) and kind.offset != 0)


def kind_of_sum(operator: str, left: Term, right: Term) -> Kind | None:
    """Return the kind of a sum or difference with a point among its operands; None where it means nothing.

    >>> kind_of_sum("-", Constant(2, INSTANT), Constant(1, INSTANT)) == MICROSECONDS
    True
    """
    if is_point(left.kind) and is_point(right.kind):
        if operator == "+" or not alike(left.kind, right.kind):
            return None
        return MICROSECONDS if left.kind == INSTANT else KELVIN
    if is_point(right.kind):
        return right.kind if operator == "+" and _is_step(left, right.kind) else None
    return left.kind if _is_step(right, left.kind) else None


def meets(left: Term, right: Term) -> bool:
    """Whether two operands of one dimension compare: a temperature in degrees not with a difference of temperatures.

    >>> meets(Constant(1, KELVIN), Constant(1, KELVIN))
    True
    """
    points = is_point(left.kind) or is_point(right.kind)
    return not points or "difference" not in (sense(left), sense(right))


def measures_of_operands(operator: str, left: Term, right: Term, kind: Kind) -> tuple[Measure | None, Measure | None]:
    """Return the measures in which the operands of an arithmetic term are evaluated; None: each in its own.

    >>> measures_of_operands("*", Constant(1, KELVIN), Constant(1, KELVIN), KELVIN)
    (None, None)
    """
    if operator not in "+-" or left.kind == right.kind == INSTANT:
        return None, None
    if kind == INSTANT:
        return (None, MICROSECONDS) if left.kind == INSTANT else (MICROSECONDS, None)
    assert isinstance(kind, Measure)
    if isinstance(left.kind, Measure) and is_point(left.kind) and is_point(right.kind):
        # Degrees as large as kelvin are subtracted as they are: 20.1 °C has a shorter decimal than 293.25 K.
        shared = left.kind if left.kind.factor == kind.factor else kind
        return shared, shared
    if is_point(kind):
        step = attrs.evolve(kind, offset=KELVIN.offset)
        return (kind, step) if is_point(left.kind) else (step, kind)
    return kind, kind


def sense(term: Term) -> Sense:
    """Say what a quantity is: a point on its scale, a difference, or either. Only temperatures differ in it.

    >>> sense(Constant(5, KELVIN))
    'either'
    """
    if is_point(term.kind):
        return "point"
    match term:
        case Constant():
            return "either"
        case Observation():
            return "point" if isinstance(term.kind, Measure) and term.kind.dimension == KELVIN.dimension else "either"
        case Named(_, operand) | Coalesce(operand, _):
            return sense(operand)
        case Arithmetic("+" | "-" as operator, left, right):
            senses = sense(left), sense(right)
            if senses[1] == "point" and operator == "-":
                return "difference"
            return "point" if "point" in senses else "either" if senses == ("either", "either") else "difference"
    return "difference"


def _is_step(term: Term, point: Kind) -> bool:
    """Whether ``term`` is a difference of points of the kind ``point``."""
    unit = MICROSECONDS if point == INSTANT else KELVIN
    return alike(term.kind, unit) and (point == INSTANT or sense(term) != "point")
