"""The clock in rules: `now`, what may be compared with it, and when such a comparison changes.

Nothing is polled. A comparison with `now` is one of the clock with something that the subject's row alone says, so when
it changes next follows from that row: then, and only then, is the subject judged anew. For this each comparison is
affine in `now`, with coefficient 1 or -1; anything else is refused where it is written.

Invariant: a crossing is the first time at which the comparison, as it is evaluated, has another truth value; floats
are rounded as in the judgement.

Source: DESIGN.md, section 3 (deadlines).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cartesius.expressions.phases import Crossing
from dsl.judgements.movements import first_change, slope
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.raising import AS_WRITTEN, Compilation
from dsl.meaning.term_expressions import expressed
from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.dimensions import MICROSECONDS, TRUTH
from dsl.terms.related_rows import totals
from dsl.terms.terms import Between, Comparison, Now, operands, parts, sources
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsl.meaning.evaluation import Evaluate
    from dsl.terms.terms import Declaration, Term

_AFFINE = "compare now, or a time from or to now, with the subject's own fields: vessel.eta - now <= 24 * hours"


def mentions_clock(term: Term) -> bool:
    """Whether the value of ``term`` depends on the clock.

    >>> mentions_clock(Now())
    True
    """
    return any(isinstance(part, Now) for part in parts(term))


def comparisons_with_now(condition: Term, subject: Declaration) -> tuple[Comparison, ...]:
    """Return the comparisons in ``condition`` that depend on the clock; of a `between` its two sides.

    Raises:
        InvalidRule: One is not affine in `now` with coefficient 1 or -1, or observes more than the subject.
    """
    return tuple(dict.fromkeys(_found(condition, subject)))


def _found(term: Term, subject: Declaration) -> Iterator[Comparison]:
    if not mentions_clock(term):
        return
    if isinstance(term, Comparison) and term.left.kind != TRUTH:
        yield from _checked(term, (Comparison(term.operator, term.left, term.right),), subject)
    elif isinstance(term, Between):
        sides = Comparison(">=", term.operand, term.low), Comparison("<=", term.operand, term.high)
        yield from _checked(term, sides, subject)
    elif term.kind == TRUTH:
        for operand in operands(term):
            yield from _found(operand, subject)
    else:
        raise InvalidRule(_refused(term, f"{text(term)} is no comparison"))


def _checked(term: Term, sides: tuple[Comparison, ...], subject: Declaration) -> Iterator[Comparison]:
    others = [source.name for source in sources(term) if source != subject]
    others += [total.source.name for total in totals(term)]
    if others:
        raise InvalidRule(_refused(term, f"it depends on {others[0]!r}, which changes while the clock stands still"))
    for side in sides:
        grows = _slope(side, term)
        if abs(grows) > 1:
            raise InvalidRule(_refused(term, "it depends on now twice"))
        if grows:
            yield side


def _slope(side: Comparison, whole: Term) -> int:
    """How much the distance of the two sides, in a condition, grows as the clock does."""

    def refused(part: Term) -> InvalidRule:
        return InvalidRule(_refused(whole, f"{text(part)} is more than a sum or a difference of now"))

    return slope(side.left, Now(), refused) - slope(side.right, Now(), refused)


def refuse_clock(call: str, term: Term) -> None:
    """Refuse a term of ``call`` that depends on the clock.

    Raises:
        InvalidRule: It does.
    """
    if mentions_clock(term):
        fix = [("fix", "compare with now in a condition: require, when, or only=")]
        raise InvalidRule(refusal(f"{call}: expected a term that the clock does not change but got {text(term)}", fix))


def _refused(term: Term, reason: str) -> str:
    summary = f"{text(term)}: expected a comparison whose next change is known but {reason}"
    fixes = {"abs(": "say both sides: between(vessel.eta - now, -1 * hours, 1 * hours)"}
    return refusal(summary, [("fix", next((fix for sign, fix in fixes.items() if sign in text(term)), _AFFINE))])


class Crossings:
    """When comparisons with the clock change, as a function of the subject's row."""

    def __init__(
        self, comparisons: tuple[Comparison, ...], subject: Declaration, compilation: Compilation = AS_WRITTEN
    ) -> None:
        """Compile ``comparisons``, which `comparisons_with_now` has found, over rows of ``subject``.

        What raises of a row does so at every instant.
        """
        slots = {subject.name: 0}
        self._comparisons = comparisons
        self._sides = [
            (
                compilation.value(compiled(each, slots)),
                compilation.value(
                    _distance(compiled(each.left, slots, MICROSECONDS), compiled(each.right, slots, MICROSECONDS))
                ),
                _slope(each, each),
            )
            for each in comparisons
        ]

    def in_columns(self) -> tuple[Crossing, ...]:
        """Return the comparisons as expressions."""
        return tuple(
            Crossing(
                expressed(each),
                expressed(each.left, MICROSECONDS),
                expressed(each.right, MICROSECONDS),
                _slope(each, each),
            )
            for each in self._comparisons
        )

    def after(self, row: Any, time: int) -> int | None:
        """Return the first instant after ``time`` at which a comparison changes; None: none does."""
        return min((found for side in self._sides if (found := self._next(row, time, *side)) is not None), default=None)

    def _next(self, row: Any, time: int, holds: Evaluate, apart: Evaluate, grows: int) -> int | None:
        distance = apart(Situation((row,), time))
        if distance is None:
            return None
        near = math.floor(time - distance * grows)
        return first_change(lambda instant: holds(Situation((row,), instant)), near, time)


def _distance(left: Evaluate, right: Evaluate) -> Evaluate:
    """How far two sides are apart; None where one is missing, or it is no finite time."""

    def distance(situation: Situation) -> Any:
        first, second = left(situation), right(situation)
        if first is None or second is None:
            return None
        return first - second if math.isfinite(first - second) else None

    return distance
