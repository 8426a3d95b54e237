"""Judging: a pack's statements compiled to one function from rows to a verdict.

The statement tree is walked as it is written: a condition that is false skips its whole block, one that is unknown
makes what would fail inside it undecided. So a requirement r under conditions a, b means (a ∧ b) ⇒ r in Kleene's
logic, and a requirement that fails regardless of what is missing restricts. Reasons are made only for what failed or
is undecided.

Source: thesis, Table 2.2; DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius.errors import InvalidArgument
from dsl.checking import common
from dsl.dimensions import Measure
from dsl.evaluation import Situation, compiled
from dsl.statements import Located, Requirement, Statement
from dsl.terms import Comparison, Declaration, Junction, Observation, observations, operands, parts
from dsl.texts import label, text
from dsl.verdicts import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsl.evaluation import Evaluate
    from dsl.terms import Term

    Doubt: TypeAlias = Callable[[Situation], tuple[str, ...]]
    Check: TypeAlias = Callable[[Situation, tuple[Doubt, ...], list[Reason], list[Reason]], None]


@final
@attrs.frozen
class Judge:
    """The judgement of a pack, as a function of one row a source, the subject's first; None where there is no row.

    Its `repr` is deterministic and says all that it depends on: it is part of the fingerprint of a saved state.

    >>> from dsl import Source
    >>> from dsl.sources import declaration
    >>> vessel = declaration(Source("vessel", key="mmsi", mmsi=int))
    >>> Judge((vessel,), ())({"mmsi": 7})
    Verdict(subject=7, status='allowed', because=())
    """

    sources: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    _checks: tuple[Check, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the statements."""
        slots = {source.name: number for number, source in enumerate(self.sources)}
        object.__setattr__(self, "_checks", tuple(_check(statement, slots, None) for statement in self.statements))

    def __call__(self, *rows: Mapping[str, Any] | None, now: int | None = None) -> Verdict:
        """Judge one combination of rows, at an instant."""
        failed: list[Reason] = []
        undecided: list[Reason] = []
        situation = Situation(rows, now)
        try:
            for check in self._checks:
                check(situation, (), failed, undecided)
            subject = rows[0][self.sources[0].key]  # type: ignore[index]
        except KeyError as error:
            message = f"judge: expected rows with all declared fields but one has no {error}; give None if unknown"
            raise InvalidArgument(message) from error
        if failed:
            return Verdict(subject, "restricted", (*failed, *undecided))
        return Verdict(subject, "unknown" if undecided else "allowed", tuple(undecided))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it was made from; closures are compiled anew."""
        return Judge, (self.sources, self.statements)


def _check(statement: Statement, slots: Mapping[str, int], place: str | int | None) -> Check:
    if isinstance(statement, Requirement):
        return _required(statement, slots, place)
    inner = statement.place if isinstance(statement, Located) else place
    return _guarded(statement.condition, tuple(_check(each, slots, inner) for each in statement.body), slots)


def _guarded(guard: Term, body: tuple[Check, ...], slots: Mapping[str, int]) -> Check:
    holds, doubt = compiled(guard, slots), _doubt(guard, slots)

    def check(situation: Situation, doubts: tuple[Doubt, ...], failed: list[Reason], undecided: list[Reason]) -> None:
        answer = holds(situation)
        if answer is None:
            doubts = (*doubts, doubt)
        elif not answer:
            return
        for each in body:
            each(situation, doubts, failed, undecided)

    return check


def _required(statement: Requirement, slots: Mapping[str, int], place: str | int | None) -> Check:
    condition = statement.condition
    holds, own_doubt, shown = compiled(condition, slots), _doubt(condition, slots), _shown(condition, slots)
    name, written, because = statement.name, text(condition), statement.because

    def check(situation: Situation, doubts: tuple[Doubt, ...], failed: list[Reason], undecided: list[Reason]) -> None:
        answer = holds(situation)
        if answer:
            return
        if answer is None:
            doubts = (*doubts, own_doubt)
        missing = tuple(dict.fromkeys(name for doubt in doubts for name in doubt(situation)))
        values = tuple((each, evaluate(situation), symbol) for each, evaluate, symbol in shown)
        reason = Reason(name, written, place, because, missing, values, statement.severity, statement.reference)
        (undecided if missing else failed).append(reason)

    return check


def _shown(condition: Term, slots: Mapping[str, int]) -> tuple[tuple[str, Evaluate, str], ...]:
    """What a reason shows: every observation, then both sides of every comparison, in the unit they are compared in."""
    shown = {label(each): (compiled(each, slots), _symbol(each)) for each in observations(condition)}
    for comparison in (part for part in parts(condition) if isinstance(part, Comparison)):
        measure = common(comparison.left, comparison.right) if isinstance(comparison.left.kind, Measure) else None
        for side in operands(comparison):
            if not isinstance(side, Observation):
                shown[text(side)] = (compiled(side, slots, measure), measure.symbol if measure else "")
    return tuple((name, evaluate, symbol) for name, (evaluate, symbol) in shown.items())


def _symbol(term: Term) -> str:
    return term.kind.symbol if isinstance(term.kind, Measure) else ""


def _doubt(term: Term, slots: Mapping[str, int]) -> Doubt:
    """Return the function that says what keeps ``term`` undecided, where it is: rows, fields, or a text."""
    holds, written = compiled(term, slots), (text(term),)
    if any(isinstance(part, Junction) for part in parts(term)):
        # A junction is undecided because of those of its parts that are.
        inner = tuple((compiled(part, slots), _doubt(part, slots)) for part in operands(term))

        def doubt(situation: Situation) -> tuple[str, ...]:
            undecided = (why(situation) for holds, why in inner if holds(situation) is None)
            return tuple(dict.fromkeys(name for names in undecided for name in names))

        return doubt
    absences = tuple(_absence(each, slots) for each in observations(term))

    def absent(situation: Situation) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(name for absence in absences if (name := absence(situation)) is not None))
        return found or (written if holds(situation) is None else ())

    return absent


def _absence(observation: Observation, slots: Mapping[str, int]) -> Callable[[Situation], str | None]:
    slot, source, field = slots[observation.source.name], observation.source.name, label(observation)
    value = compiled(observation, slots)
    return lambda situation: source if situation.rows[slot] is None else field if value(situation) is None else None
