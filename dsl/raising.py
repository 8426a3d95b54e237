"""Raising: what a rule is called where it raises, and how rules are compiled that are undecided where they raise.

What cannot be computed, such as a division by zero, is missing (`dsl.evaluation`). What raises is something else: a
value of the wrong type, such as a text where a number was declared. By default it is an error; where the caller says so
(``on_error="unknown"``) the smallest condition that raises is unknown, in Kleene's logic as if it were missing, and
what it raised is named among what is missing.

Invariant: where nothing raises, both ways of compiling give the same.

Source: DESIGN.md, section 6 (missing data must never read as safe); issue 8 (a rule that raises).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.errors import shortened
from cartesius.missing_values import both, either, opposite
from dsl.doubts import doubt_of
from dsl.evaluation import compiled
from dsl.statements import Requirement
from dsl.terms import Junction, Named, Not, operands, parts
from dsl.texts import text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsl.evaluation import Evaluate, Situation
    from dsl.reevaluation import Doubt
    from dsl.statements import Statement
    from dsl.terms import Term


def called(statement: Statement) -> str:
    """Return what a rule is called in the notes of an error: its name and text, or, of a block, its condition.

    >>> from dsl.statements import EVERY_PAIR
    >>> called(Requirement(EVERY_PAIR, "always", None))
    "requirement 'always': True"
    """
    written = text(statement.condition)
    if isinstance(statement, Requirement):
        return f"requirement {statement.name!r}" + (f": {written}" if written != statement.name else "")
    return f"condition {written!r}"


@attrs.frozen
class Compilation:
    """How rules are compiled."""

    condition: Callable[[Term, Mapping[str, int]], Evaluate]
    """To whether a condition holds."""
    doubt: Callable[[Term, Mapping[str, int]], Doubt]
    """To what keeps it undecided, where it is."""
    shown: Callable[[Evaluate], Evaluate]
    """To a value that a reason shows."""


def _holding(term: Term, slots: Mapping[str, int]) -> Evaluate:
    match term:
        case Junction(operator, left, right):
            function = both if operator == "and" else either
            first, second = _holding(left, slots), _holding(right, slots)
            return lambda situation: function(first(situation), second(situation))
        case Not(operand):
            inner = _holding(operand, slots)
            return lambda situation: opposite(inner(situation))
        case Named(_, operand):
            return _holding(operand, slots)
    return _guarded(compiled(term, slots))


def _doubting(term: Term, slots: Mapping[str, int]) -> Doubt:
    if any(isinstance(part, Junction) for part in parts(term)):
        inner = tuple((_holding(part, slots), _doubting(part, slots)) for part in operands(term))

        def doubt(situation: Situation) -> tuple[str, ...]:
            undecided = (why(situation) for holds, why in inner if holds(situation) is None)
            return tuple(dict.fromkeys(name for names in undecided for name in names))

        return doubt
    holds, known, written = compiled(term, slots), doubt_of(term, slots), text(term)

    def raised(situation: Situation) -> tuple[str, ...]:
        try:
            holds(situation)
            return known(situation)
        except Exception as error:
            return (f"{written} raised {type(error).__name__}: {shortened(str(error))}",)

    return raised


def _guarded(evaluate: Evaluate) -> Evaluate:
    def found(situation: Situation) -> Any:
        try:
            return evaluate(situation)
        except Exception:
            return None

    return found


def _showing(evaluate: Evaluate) -> Evaluate:
    known = _guarded(evaluate)

    def show(situation: Situation) -> Any:
        # What makes a rule raise may be nothing that a reason can hold, such as a Decimal.
        value = known(situation)
        return value if value is None or isinstance(value, str | int | float | tuple) else str(value)

    return show


AS_WRITTEN: Final = Compilation(compiled, doubt_of, lambda evaluate: evaluate)
"""What raises, raises."""
LENIENT: Final = Compilation(_holding, _doubting, _showing)
"""What raises is unknown."""
