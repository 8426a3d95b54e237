"""Passing: when a subject would be allowed if it came at another instant; the tidal window that pilots ask for.

A verdict is a function of the instant at which the subject passes: the others being as they are, it is constant between
the instants at which something that a rule says of it changes. From each of them the next one follows
(`movements`), and the rules are evaluated there only.

The instant is a field of the subject, and whatever depends on it is affine in it, with a whole coefficient; anything
else is refused. A verdict that is unknown is not allowed.

Invariant: between two instants that follow each other here, no condition of a rule changes.

Source: DESIGN.md, section 6; PIANC Report 121, 2014 (tidal windows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

from cartesius import storable
from dsl.judgements.clocks import mentions_clock
from dsl.judgements.movements import following, moving, whole
from dsl.judgements.presence import situated, time_of
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.raising import Compilation, Compiled
from dsl.meaning.schedules import extended
from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.dimensions import INSTANT
from dsl.terms.related_rows import each_alone, slot_of
from dsl.terms.related_rows import slots as slots_of
from dsl.terms.statements import Against, Requirement, Statement, conditions
from dsl.terms.terms import Observation, Prediction, Throughout, all_parts, observations
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsl.judgements.movements import Next
    from dsl.judgements.related import Related
    from dsl.meaning.evaluation import Evaluate, Row
    from dsl.terms.terms import Declaration, Term


@storable
@attrs.frozen
class Passage:
    """A span of instants at which a subject may pass: from ``start`` until just before ``end``, in microseconds.

    >>> Passage(0, 3_600_000_000).end - Passage(0, 3_600_000_000).start
    3600000000
    """

    start: int
    end: int


@final
@attrs.frozen
class Passing(Compiled):
    """The passages of a subject, as a function of one row a source, like a judgement.

    >>> from dsl import RulePack, Source, instant, require
    >>> from dsl.units import metres, microseconds
    >>> ship = Source("ship", key="id", id=int, eta=instant)
    >>> tide = Source("tide", key=None, height=metres, forecast=True)
    >>> port = RulePack("port", subject=ship)
    >>> with port:
    ...     require(tide.at(ship.eta).height >= 1 * metres)
    >>> heights = [{"issued": 0, "start": hour, "end": hour + 1, "height": hour % 3} for hour in range(9)]
    >>> port.passages({"ship": {"eta": 2}, "tide": heights}, within=6 * microseconds)
    (Passage(start=2, end=3), Passage(start=4, end=6), Passage(start=7, end=8))
    """

    sources: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    field: str
    within: int
    related: Related | None = attrs.field(default=None, eq=False, repr=False)
    _span: Evaluate = attrs.field(init=False, eq=False, repr=False)
    _is_allowed: Evaluate = attrs.field(init=False, eq=False, repr=False)
    _changes: tuple[Next, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the rules, and when what they say changes."""
        slots, own = slots_of(self.sources, self.statements), conditions(self.statements, of_pairs=False)
        found = dict.fromkeys(part for each in own for part in moving(each, self._moved))
        _refuse_pairs(self.statements, self._moved)
        changes = tuple(following(part, self._moved, slots, self.compilation) for part in found)
        object.__setattr__(self, "_span", self.compilation.value(_looked_at(self._moved, self.within)))
        object.__setattr__(self, "_is_allowed", _allowed(self.statements, slots, self.compilation))
        object.__setattr__(self, "_changes", changes)

    def __call__(self, *rows: Row) -> Passage | None:
        """Return the first passage; None if there is none."""
        return next(self.passages(rows, time_of(rows[0])), None)

    def passages(self, rows: tuple[Row, ...], now: int | None) -> Iterator[Passage]:
        """Yield the passages, from the subject's own instant on."""
        width = len(self.sources)
        here = situated(self.sources, rows[:width], now, () if self.related is None else self.related(rows))
        own = here.rows[0]
        span = self._span(here)
        if own is None or span is None:
            return
        start: int | None = None
        instant, end = span
        while instant < end:
            row = extended(own, {self.field: instant})
            there = Situation((row, *here.rows[1:]), here.now, here.stale)
            is_allowed = self._is_allowed(there)
            if is_allowed and start is None:
                start = instant
            elif not is_allowed and start is not None:
                yield Passage(start, instant)
                start = None
            changes = (change(there, instant) for change in self._changes)
            instant = min((each for each in changes if each is not None), default=end)
        if start is not None:
            yield Passage(start, end)

    @property
    def _moved(self) -> Observation:
        return Observation(self.sources[0], self.field)


def _looked_at(moved: Observation, within: int) -> Evaluate:
    """The span of instants that are looked at: from the planned one on; None where that is missing."""
    planned = compiled(moved, {moved.source.name: 0})

    def span(situation: Situation) -> tuple[int, int] | None:
        instant = None if situation.rows[0] is None else whole(planned(situation))
        return None if instant is None else (instant, instant + within)

    return span


def _allowed(statements: tuple[Statement, ...], slots: Mapping[str, int], compilation: Compilation) -> Evaluate:
    """Whether a verdict would be allowed: each requirement holds for certain, or a condition around it does not."""
    checks = tuple(_check(statement, slots, compilation) for statement in statements)
    return lambda situation: all(check(situation) for check in checks)


def _check(statement: Statement, slots: Mapping[str, int], compilation: Compilation) -> Evaluate:
    if isinstance(statement, Against):
        pairs = [slots[slot_of(statement, each)] for each in each_alone(statement)]
        return lambda situation: not any(situation.rows[slot]["findings"] for slot in pairs)  # type: ignore[index]  # rows of pairs are never missing
    holds = compilation.condition(statement.condition, slots)
    if isinstance(statement, Requirement):
        return lambda situation: bool(holds(situation))
    body = _allowed(statement.body, slots, compilation)

    def check(situation: Situation) -> bool:
        answer = holds(situation)
        return (answer is not None and not answer) or body(situation)

    return check


def _refuse_pairs(statements: tuple[Statement, ...], moved: Observation) -> None:
    own = set(conditions(statements, of_pairs=False))
    for condition in conditions(statements):
        if condition not in own and moved in observations(condition):
            fix = [("fix", "compare the instants of two ships in another pack")]
            summary = f"{text(condition)}: expected a rule about pairs that does not depend on {label(moved)}"
            raise InvalidRule(refusal(summary, fix))


def refuse_comparisons_with_now(call: str, passing: Passing) -> None:
    """Refuse rules by which the passages of a subject change at every instant of the clock.

    Raises:
        InvalidRule: One compares the instant with the clock.
    """
    moved = Observation(passing.sources[0], passing.field)
    for condition in conditions(passing.statements, of_pairs=False):
        for part in moving(condition, moved):
            if mentions_clock(part):
                fix = [("fix", "ask at one time: passages(rows, now=…); or say it in only=, of whom is considered")]
                summary = f"{call}: expected rules that do not compare {label(moved)} with now but got {text(part)}"
                raise InvalidRule(refusal(summary, fix))


def refuse_links(call: str, values: list[Term], moved: Observation) -> None:
    """Refuse links by which a subject would be linked otherwise at another instant.

    Raises:
        InvalidRule: The value of one depends on ``moved``.
    """
    for value in values:
        if moved in observations(value):
            fix = [("fix", "link by what does not depend on the instant")]
            summary = f"{call}: expected links that do not depend on {label(moved)} but got {text(value)}"
            raise InvalidRule(refusal(summary, fix))


# ------------------------------------------------------------------------------------------------ the instant of a pack


def planned(call: str, subject: Declaration, statements: tuple[Statement, ...], given: Term | None) -> str:
    """Return the field of the subject that is the planned instant: that given, or the one that its lookups use.

    Raises:
        InvalidRule: There is none, or more than one, or something else is given.
    """
    if given is not None:
        if isinstance(given, Observation) and given.source == subject and given.kind == INSTANT:
            return given.field
        fix = [("fix", f"name a field of {subject.name!r} that is declared as instant: at={subject.name}.eta")]
        raise InvalidRule(refusal(f"{call}: expected an instant of the subject but got at={text(given)}", fix))
    terms = [part for condition in conditions(statements, of_pairs=False) for part in all_parts(condition)]
    instants = [each.at for each in terms if isinstance(each, Prediction)]
    instants += [end for each in terms if isinstance(each, Throughout) for end in (each.first, each.last)]
    fields = dict.fromkeys(
        each.field
        for instant in instants
        for each in observations(instant)
        if each.source == subject and each.kind == INSTANT
    )
    if len(fields) != 1:
        got = " and ".join(f"{subject.name}.{field}" for field in fields) or "none"
        fix = [("fix", f"say which one: at={subject.name}.{next(iter(fields), 'eta')}")]
        summary = f"{call}: expected rules that look forecasts up at one instant of {subject.name!r} but got {got}"
        raise InvalidRule(refusal(summary, fix))
    return next(iter(fields))
