"""Passing: when a subject would be allowed if it came at another instant; the tidal window that pilots ask for.

A verdict is a function of the instant at which the subject passes: the others being as they are, it is constant between
the instants at which something that a rule says of it changes. These are where a lookup comes to another prediction,
where a span takes in or leaves one, and where a comparison of the instant itself changes. From each of them the next
one follows, and the rules are evaluated there only.

The instant is a field of the subject, and whatever depends on it is affine in it, with coefficient 1 or -1; anything
else is refused. A verdict that is unknown is not allowed.

Invariant: between two instants that follow each other here, no condition of a rule changes.

Source: DESIGN.md, section 6; PIANC Report 121, 2014 (tidal windows).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from cartesius import storable
from dsl.affine import slope
from dsl.clocks import mentions_clock
from dsl.dimensions import INSTANT, MICROSECONDS, TRUTH
from dsl.errors import InvalidRule, refusal
from dsl.evaluation import Situation, compiled, span
from dsl.presence import situated, time_of
from dsl.rows import extended
from dsl.schedules import SCHEDULE
from dsl.statements import Requirement, Statement, conditions
from dsl.terms import Between, Comparison, Observation, observations, operands, parts
from dsl.texts import label, text
from dsl.timed_terms import Prediction, Throughout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsl.evaluation import Evaluate, Row
    from dsl.terms import Declaration, Term

    Next = Callable[[Situation, int], "int | None"]

_NEARBY: Final = 3


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
class Passing:
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
    _is_allowed: Evaluate = attrs.field(init=False, eq=False, repr=False)
    _changes: tuple[Next, ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Compile the rules, and when what they say changes."""
        slots = {source.name: number for number, source in enumerate(self.sources)}
        found = dict.fromkeys(part for each in conditions(self.statements) for part in _moving(each, self._moved))
        object.__setattr__(self, "_is_allowed", _allowed(self.statements, slots))
        object.__setattr__(self, "_changes", tuple(_next(part, self._moved, slots) for part in found))

    def __call__(self, *rows: Row) -> Passage | None:
        """Return the first passage; None if there is none."""
        return next(self.passages(rows, time_of(rows[0])), None)

    def passages(self, rows: tuple[Row, ...], now: int | None) -> Iterator[Passage]:
        """Yield the passages, from the subject's own instant on."""
        here = situated(self.sources, rows, now)
        own = here.rows[0]
        planned = None if own is None else compiled(self._moved, {self.sources[0].name: 0})(here)
        if own is None or planned is None:
            return
        start: int | None = None
        instant, end = planned, planned + self.within
        while instant < end:
            row = extended(own, {self.field: instant})
            there = Situation((row, *here.rows[1:]), here.now, here.stale)
            is_allowed = self._is_allowed(there)
            if is_allowed and start is None:
                start = instant
            elif not is_allowed and start is not None:
                yield Passage(start, instant)
                start = None
            following = (change(there, instant) for change in self._changes)
            instant = min((each for each in following if each is not None), default=end)
        if start is not None:
            yield Passage(start, end)

    @property
    def _moved(self) -> Observation:
        return Observation(self.sources[0], self.field)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it was made from; closures are compiled anew."""
        return Passing, (self.sources, self.statements, self.field, self.within)


def _allowed(statements: tuple[Statement, ...], slots: Mapping[str, int]) -> Evaluate:
    """Whether a verdict would be allowed: each requirement holds for certain, or a condition around it does not."""
    checks = tuple(_check(statement, slots) for statement in statements)
    return lambda situation: all(check(situation) for check in checks)


def _check(statement: Statement, slots: Mapping[str, int]) -> Evaluate:
    holds = compiled(statement.condition, slots)
    if isinstance(statement, Requirement):
        return lambda situation: bool(holds(situation))
    body = _allowed(statement.body, slots)

    def check(situation: Situation) -> bool:
        answer = holds(situation)
        return (answer is not None and not answer) or body(situation)

    return check


# -------------------------------------------------------------------------------------------------- what may change


def _moving(term: Term, moved: Observation) -> Iterator[Prediction | Throughout | Comparison]:
    """Yield the parts of a condition whose value changes as the instant ``moved`` does, or refuse."""
    if isinstance(term, Throughout):
        yield from _moving_over(term, moved)
    elif isinstance(term, Prediction):
        yield from _moving(term.at, moved)
        if slope(term.at, moved):
            yield term
    elif isinstance(term, Comparison) and term.left.kind != TRUTH:
        yield from _compared(term, moved)
    elif isinstance(term, Between):
        yield from _compared(Comparison(">=", term.operand, term.low), moved)
        yield from _compared(Comparison("<=", term.operand, term.high), moved)
    else:
        for operand in operands(term):
            yield from _moving(operand, moved)


def _compared(term: Comparison, moved: Observation) -> Iterator[Prediction | Throughout | Comparison]:
    for operand in operands(term):
        yield from _moving(operand, moved)
    if slope(term.left, moved) != slope(term.right, moved):
        yield term


def _moving_over(term: Throughout, moved: Observation) -> Iterator[Prediction | Throughout | Comparison]:
    if slope(term.first, moved) or slope(term.last, moved):
        yield term
    for part in _moving(term.condition, moved):
        if isinstance(part, Comparison):
            fix = [("fix", f"say what must hold of {label(moved)} in a requirement of its own")]
            summary = f"{text(term)}: expected a span in which {label(moved)} itself is not compared"
            raise InvalidRule(refusal(summary, fix))
        yield part


def _next(part: Prediction | Throughout | Comparison, moved: Observation, slots: Mapping[str, int]) -> Next:
    """Return the function from a situation to the next instant at which ``part`` may have another value."""
    if isinstance(part, Prediction):
        return _next_lookup(part, moved, slots)
    if isinstance(part, Throughout):
        return _next_span(part, moved, slots)
    return _next_truth(part, moved, slots)


def _next_lookup(part: Prediction, moved: Observation, slots: Mapping[str, int]) -> Next:
    slot, at, grows = slots[part.source.name], compiled(part.at, slots), slope(part.at, moved)

    def follow(situation: Situation, instant: int) -> int | None:
        row, where = situation.rows[slot], at(situation)
        return None if row is None or where is None else _reached(row[SCHEDULE].bounds, where, grows, instant)

    return follow


def _reached(bounds: list[int], where: int, grows: int, instant: int) -> int | None:
    """When what is at ``where`` now, and moves with ``instant`` or against it, passes the next bound."""
    place = bisect_right(bounds, where)
    if grows > 0:
        return instant + bounds[place] - where if place < len(bounds) else None
    return instant + where - bounds[place - 1] + 1 if grows < 0 < place else None


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
        if left is None or right is None or not math.isfinite(left - right):
            return None
        near = math.floor(instant - (left - right) / grows)
        before = None
        for time in range(max(instant, near - _NEARBY), near + _NEARBY):  # ± what floats may have rounded
            truth = at(situation, time)
            if time > instant and before is not None and truth != before:
                return time
            before = truth
        return None

    return follow


def refuse_comparisons_with_now(call: str, passing: Passing) -> None:
    """Refuse rules by which the passages of a subject change at every instant of the clock.

    Raises:
        InvalidRule: One compares the instant with the clock.
    """
    moved = Observation(passing.sources[0], passing.field)
    for condition in conditions(passing.statements):
        for part in _moving(condition, moved):
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
    terms = [part for condition in conditions(statements) for part in parts(condition)]
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
