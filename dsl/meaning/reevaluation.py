"""Re-evaluation: the tree of conditions and requirements, compiled, and one visit of what may differ from last time.

A condition is evaluated if one of its own leaves changed, a requirement if one of its own did; both also if a condition
around them turned out otherwise, or is unknown and changed. A condition that stays false keeps all that is inside it.

Invariant: after a visit the outcomes are those of a visit of everything, whatever they were before.

Source: thesis, Figure 2.3 (partial re-evaluation); U. A. Acar, Self-Adjusting Computation, 2005.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius.errors import add_note
from dsl.meaning.verdicts import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsl.meaning.evaluation import Evaluate, Situation

    Doubt: TypeAlias = Callable[[Situation], tuple[str, ...]]
    Check: TypeAlias = Callable[[Situation, tuple[Doubt, ...]], Reason | None]

EVERYTHING = -1
"""The bits of all leaves."""


@attrs.frozen
class Required:
    """A requirement, compiled."""

    number: int
    reach: int
    """The leaves of its condition."""
    check: Check
    shown: str
    """What it is called where it raises."""


@attrs.frozen
class Guarded:
    """A condition and what is inside it, compiled."""

    number: int
    mask: int
    """The leaves of the condition."""
    reach: int
    """The leaves of all that is inside, the condition's included."""
    holds: Evaluate
    doubt: Doubt
    body: tuple[Guarded | Required, ...]
    inside: tuple[int, int]
    """The numbers of the requirements inside, as a range."""
    shown: str
    """What it is called where it raises."""


@final
class Run:
    """One judgement: it starts from the outcomes of the last one, and visits what may differ."""

    __slots__ = ("answers", "changed", "conditions", "reasons", "requirements", "situation")

    def __init__(
        self, situation: Situation, changed: int, answers: list[bool | None], reasons: list[Reason | None]
    ) -> None:
        self.situation, self.changed, self.answers, self.reasons = situation, changed, answers, reasons
        self.requirements = self.conditions = 0

    def visit(self, checks: tuple[Guarded | Required, ...], doubts: tuple[Doubt, ...], is_anew: bool) -> None:
        """Evaluate what depends on changed leaves; all of it if what is around it turned out otherwise."""
        for check in checks:
            if not (is_anew or check.reach & self.changed):
                continue
            if isinstance(check, Guarded):
                self._enter(check, doubts, is_anew)
                continue
            try:
                reason = check.check(self.situation, doubts)
            except Exception as error:
                add_note(error, f"in the {check.shown}")
                raise
            self.requirements += 1
            self.reasons[check.number] = reason

    def _enter(self, check: Guarded, doubts: tuple[Doubt, ...], is_anew: bool) -> None:
        answer = before = self.answers[check.number]
        if is_anew or check.mask & self.changed:
            try:
                value = check.holds(self.situation)
            except Exception as error:
                add_note(error, f"in the {check.shown}")
                raise
            self.conditions += 1
            answer = self.answers[check.number] = None if value is None else bool(value)
            # What is unknown for another reason shows other names inside.
            is_anew = is_anew or answer is not before or answer is None
        if answer is None:
            doubts = (*doubts, check.doubt)
        elif not answer:
            if is_anew:
                first, end = check.inside
                self.reasons[first:end] = [None] * (end - first)
            return
        self.visit(check.body, doubts, is_anew)

    def verdict(self, subject: Any, pack: str) -> Verdict:
        """Return what the reasons come to, for the version ``pack`` of the rules."""
        reasons = [reason for reason in self.reasons if reason is not None]
        failed = [reason for reason in reasons if not reason.missing]
        undecided = [reason for reason in reasons if reason.missing]
        if failed:
            return Verdict(subject, "restricted", (*failed, *undecided), pack)
        return Verdict(subject, "unknown" if undecided else "allowed", tuple(undecided), pack)
