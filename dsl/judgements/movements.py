"""Movements: what a condition says that changes as one instant does, and when it does next.

What depends on the instant is affine in it, with a whole coefficient. A lookup changes where it comes to another
prediction, a span where it takes in or leaves one, and a comparison of the instant itself where its two sides cross.

Invariant: between an instant and the next that is named here, nothing that a condition says changes by it.

Source: ours.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dsl.meaning.evaluation import Situation, compiled, span
from dsl.meaning.schedules import SCHEDULE, extended
from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.dimensions import MICROSECONDS, TRUTH
from dsl.terms.terms import (
    Arithmetic,
    Between,
    Comparison,
    Named,
    Observation,
    Prediction,
    Sign,
    Throughout,
    operands,
    parts,
)
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsl.meaning.raising import Compilation
    from dsl.terms.terms import Term

    Next: TypeAlias = Callable[[Situation, int], "int | None"]

Moving: TypeAlias = Prediction | Throughout | Comparison
"""What changes as the instant does, if not steadily then at once."""
_NEARBY: Final = 3


def moving(term: Term, moved: Observation) -> Iterator[Moving]:
    """Yield the parts of a condition whose value changes as the instant ``moved`` does, or refuse."""
    if isinstance(term, Throughout):
        yield from _moving_over(term, moved)
    elif isinstance(term, Prediction):
        yield from moving(term.at, moved)
        if slope(term.at, moved):
            yield term
    elif isinstance(term, Comparison) and term.left.kind != TRUTH:
        yield from _compared(term, moved)
    elif isinstance(term, Between):
        yield from _compared(Comparison(">=", term.operand, term.low), moved)
        yield from _compared(Comparison("<=", term.operand, term.high), moved)
    else:
        for operand in operands(term):
            yield from moving(operand, moved)


def _compared(term: Comparison, moved: Observation) -> Iterator[Moving]:
    for operand in operands(term):
        yield from moving(operand, moved)
    if slope(term.left, moved) != slope(term.right, moved):
        yield term


def _moving_over(term: Throughout, moved: Observation) -> Iterator[Moving]:
    for end in (term.first, term.last):
        yield from moving(end, moved)  # what a bound is predicted to be
    if slope(term.first, moved) or slope(term.last, moved):
        yield term
    for part in moving(term.condition, moved):
        if isinstance(part, Comparison):
            fix = [("fix", f"say what must hold of {label(moved)} in a requirement of its own")]
            summary = f"{text(term)}: expected a span in which {label(moved)} itself is not compared"
            raise InvalidRule(refusal(summary, fix))
        yield part


def following(part: Moving, moved: Observation, slots: Mapping[str, int], compilation: Compilation) -> Next:
    """Return the function from a situation to the next instant at which ``part`` may have another value."""
    if isinstance(part, Prediction):
        follow = _next_lookup(part, moved, slots)
    elif isinstance(part, Throughout):
        follow = _next_span(part, moved, slots)
    else:
        follow = _next_truth(part, moved, slots)

    def followed(situation: Situation, instant: int) -> int | None:
        # What raises here does so until another part changes, which is followed by itself.
        return whole(compilation.value(lambda here: follow(here, instant))(situation))

    return followed


def whole(instant: Any) -> int | None:
    """Return the first whole microsecond from an instant on; None where it is missing, or never comes.

    >>> whole(7.0), whole(7.5), whole(float("inf"))
    (7, 8, None)
    """
    never = instant is None or instant != instant or abs(instant) == math.inf  # noqa: PLR0124 - NaN, of infinities
    return None if never else int(-(-instant // 1))


def _next_lookup(part: Prediction, moved: Observation, slots: Mapping[str, int]) -> Next:
    slot, at, grows = slots[part.source.name], compiled(part.at, slots), slope(part.at, moved)

    def follow(situation: Situation, instant: int) -> int | None:
        row, where = situation.rows[slot], at(situation)
        return None if row is None or where is None else _reached(row[SCHEDULE].bounds, where, grows, instant)

    return follow


def _reached(bounds: list[int], where: int, grows: int, instant: int) -> int | None:
    """When what is at ``where`` now, and moves so fast with ``instant`` or against it, passes the next bound."""
    place = bisect_right(bounds, where)
    if grows > 0:
        return instant - (where - bounds[place]) // grows if place < len(bounds) else None
    return instant + (where - bounds[place - 1]) // -grows + 1 if grows < 0 < place else None


def _next_span(part: Throughout, moved: Observation, slots: Mapping[str, int]) -> Next:
    ends = [(compiled(end, slots), slope(end, moved)) for end in (part.first, part.last)]
    forecasts = span(part, slots).slots

    def follow(situation: Situation, instant: int) -> int | None:
        places = [(end(situation), grows) for end, grows in ends]
        if any(where is None for where, _ in places):
            return None
        found = []
        for slot in forecasts:
            row = situation.rows[slot]
            if row is not None:
                found += [_reached(row[SCHEDULE].bounds, where, grows, instant) for where, grows in places if grows]
        (first, back), (last, forth) = places
        found.append(_emptied(last - first, forth - back, instant))
        return min((each for each in found if each is not None), default=None)

    return follow


def _emptied(length: int, grows: int, instant: int) -> int | None:
    """When a span that lasts ``length`` now becomes empty, or is no longer."""
    if length >= 0 and grows < 0:
        return instant + length // -grows + 1
    return instant + -(length // grows) if length < 0 and grows > 0 else None


def _next_truth(part: Comparison, moved: Observation, slots: Mapping[str, int]) -> Next:
    holds, first, second = (compiled(each, slots, MICROSECONDS) for each in (part, part.left, part.right))
    grows, slot, field = slope(part.left, moved) - slope(part.right, moved), slots[moved.source.name], moved.field

    def at(situation: Situation, instant: int) -> Any:
        rows = list(situation.rows)
        rows[slot] = extended(rows[slot] or {}, {field: instant})
        return holds(Situation(rows, situation.now, situation.stale))

    def follow(situation: Situation, instant: int) -> int | None:
        left, right = first(situation), second(situation)
        if left is None or right is None:
            return None
        # Decimals are compared with floats, but not subtracted from them.
        gap = float(left) - float(right) if Decimal in (type(left), type(right)) else left - right
        if not math.isfinite(gap):
            return None
        return first_change(lambda time: at(situation, time), math.floor(instant - gap / grows), instant)

    return follow


def first_change(truth_at: Callable[[int], Any], near: int, after: int) -> int | None:
    """Return the first instant later than ``after`` at which a truth value is another; it is about ``near``, if at all.

    >>> first_change(lambda instant: instant >= 7, 6, 0)
    7
    """
    before = None
    for instant in range(max(after, near - _NEARBY), near + _NEARBY):  # ± what floats may have rounded
        truth = truth_at(instant)
        if instant > after and before is not None and truth != before:
            return instant
        before = truth
    return None


def slope(term: Term, moved: Term, refused: Callable[[Term], InvalidRule] | None = None) -> int:
    """Return how much ``term`` grows as ``moved`` grows by one: 0 where it does not depend on it, or jumps.

    >>> from dsl import Source, instant
    >>> ship = Source("ship", key="id", id=int, eta=instant, etd=instant)
    >>> slope((ship.etd - ship.eta).term, ship.eta.term)
    -1

    Args:
        term: A quantity or an instant.
        moved: What moves.
        refused: What makes the error of the part that depends on it in another way; None: one of this module.

    Raises:
        InvalidRule: It depends on it in another way than by sums and differences.
    """
    if term == moved:
        return 1
    match term:
        case Arithmetic("+" | "-" as operator, left, right):
            return slope(left, moved, refused) + (1 if operator == "+" else -1) * slope(right, moved, refused)
        case Sign("-", operand):
            return -slope(operand, moved, refused)
        case Named(_, operand):
            return slope(operand, moved, refused)
        case Prediction():
            return 0  # it is the same until another prediction is valid
    if any(part == moved for part in _direct(term)):
        if refused is not None:
            raise refused(term)
        fix = [("fix", f"write it as a comparison of {text(moved)}, or of a time from or to it, with the other terms")]
        summary = f"{text(term)}: expected a sum or a difference of {text(moved)}, so that its next change is known"
        raise InvalidRule(refusal(summary, fix))
    return 0


def _direct(term: Term) -> list[Term]:
    """The parts of ``term`` that are not inside a lookup."""
    hidden = {id(part) for each in parts(term) if isinstance(each, Prediction) for part in parts(each.at)}
    return [part for part in parts(term) if id(part) not in hidden]
