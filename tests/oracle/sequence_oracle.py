"""Sequences from scratch: every combination of all events, judged by the definitions alone.

No memory, no increments: after each step everything is listed anew from what has come so far. A combination binds each
variable to an event of its source. Events are ordered by their end, then by arrival; each is used as it arrives, so of
points of one time the one that arrived earlier comes before the other (SEMANTICS 3.11).
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Item(NamedTuple):
    """An event."""

    arrival: int
    source: int
    start: int
    end: int
    key: int
    size: int

    @property
    def place(self):
        return self.end, self.arrival


class Condition(NamedTuple):
    """What ``where`` says of some variables; of all of them, if it cannot be taken apart."""

    variables: tuple[str, ...]
    holds: Callable[..., bool]


class Program(NamedTuple):
    """A sequence: what its variables are bound to, and what is asked of them."""

    sources: dict[str, int]
    """Of each variable, in slot order."""
    order: tuple[str, ...]
    """The variables in sequence."""
    contiguity: str = "relaxed"
    after: Any = "no_skip"
    is_keyed: bool = False
    within: int | None = None
    conditions: tuple[Condition, ...] = ()


Row = dict[str, Item]


def satisfies(program: Program, row: Row) -> bool:
    """Whether all conditions hold that can be asked of the variables bound in ``row``."""
    return all(
        condition.holds(*[row[name] for name in condition.variables])
        for condition in program.conditions
        if set(condition.variables) <= set(row)
    )


def goes_together(program: Program, row: Row) -> bool:
    """Whether the events of a row have one key, and are near each other."""
    items = list(row.values())
    if program.is_keyed and len({item.key for item in items}) > 1:
        return False
    return program.within is None or max(i.end for i in items) - min(i.start for i in items) <= program.within


def concerned(program: Program, key: int, seen: Sequence[Item]) -> list[Item]:
    """The events that count as lying between, under a key."""
    sources = {program.sources[name] for name in program.order}
    return [item for item in seen if item.source in sources and (not program.is_keyed or item.key == key)]


def precedes(one: Item, other: Item) -> bool:
    """Whether an event comes before another."""
    are_points_of_one_time = one.start == one.end == other.start == other.end
    return one.end < other.start or (are_points_of_one_time and one.arrival < other.arrival)


def follows(program: Program, row: Row, before: str, name: str, seen: Sequence[Item]) -> bool:
    """Whether the event of ``name`` comes next after that of ``before``, in a row of what is bound till then."""
    one, other = row[before], row[name]
    if not precedes(one, other):
        return False
    between = [i for i in concerned(program, other.key, seen) if precedes(one, i) and i.place < other.place]
    if program.contiguity == "strict":
        return between == []
    if program.contiguity == "any":
        return True
    return not any(i.source == program.sources[name] and satisfies(program, {**row, name: i}) for i in between)


def is_in_sequence(program: Program, row: Row, seen: Sequence[Item]) -> bool:
    """Whether the events of ``row`` that are in the sequence follow each other."""
    bound = {name: item for name, item in row.items() if name not in program.order}
    names = [name for name in program.order if name in row]
    bound[names[0]] = row[names[0]]
    for before, name in pairwise(names):
        bound = {**bound, name: row[name]}
        if not follows(program, bound, before, name, seen):
            return False
    return True


def rows(program: Program, names: Sequence[str], seen: Sequence[Item]) -> Iterator[Row]:
    """All rows that bind ``names``, in sequence."""
    for items in product(*[[i for i in seen if i.source == program.sources[name]] for name in names]):
        row = dict(zip(names, items, strict=True))
        if goes_together(program, row) and satisfies(program, row) and is_in_sequence(program, row, seen):
            yield row


def matches(program: Program, seen: Sequence[Item]) -> list[Row]:
    """All matches among what has been seen."""
    return list(rows(program, list(program.sources), seen))


# ---------------------------------------------------------------------------------------------------- after a match


class Found(NamedTuple):
    """A match, and the step at which it was complete."""

    row: Row
    step: int


def place_of(program: Program, found: Found) -> Any:
    """In which order matches are taken: by start, then as they were complete, then by the other events."""
    start = found.row[program.order[0]].place
    rest = [found.row[name].place for name in (*program.order, *program.sources)]
    return start, found.step, rest


def could_rule_out(program: Program, row: Row, start: Item) -> bool:
    """Whether a match that has bound ``row``, or will bind more, may rule out what starts with ``start``."""
    if program.after in ("no_skip", "to_next"):
        return False
    if program.after == "past_last":
        last = row.get(program.order[-1])
        return last is None or start.place <= last.place
    target = row.get(program.after[1])
    return target is None or start.place < target.place


def rules_out(program: Program, one: Row, other: Row) -> bool:
    """Whether the match ``one`` rules out ``other``, which is taken after it."""
    first, start = one[program.order[0]], other[program.order[0]]
    if program.after == "to_next":
        return start == first
    return could_rule_out(program, one, start)


def given(program: Program, found: Sequence[Found]) -> list[Found]:
    """The table: matches of one key in order, each but if one before has ruled it out."""
    out: list[Found] = []
    for match in sorted(found, key=lambda one: place_of(program, one)):
        if not any(rules_out(program, one.row, match.row) for one in out):
            out.append(match)
    return out


def begun(program: Program, seen: Sequence[Item], clock: float) -> Iterator[Row]:
    """All beginnings of matches that may still be completed by what comes later, at the end of the order."""
    for length in range(1, len(program.order)):
        names, name = program.order[:length], program.order[length]
        for row in rows(program, names, seen):
            key = row[names[0]].key
            later = [i for i in concerned(program, key, seen) if precedes(row[names[-1]], i)]
            if program.contiguity == "strict" and later:
                continue
            if program.contiguity == "relaxed" and any(
                i.source == program.sources[name] and satisfies(program, {**row, name: i}) for i in later
            ):
                continue
            if program.within is None or min(item.start for item in row.values()) + program.within >= clock:
                yield row


def given_so_far(program: Program, found: Sequence[Found], seen: Sequence[Item], clock: float) -> list[Found]:
    """What is given after a step: not what waits for a sequence that began earlier, and may still rule it out.

    Of one key alone.
    """
    out: list[Found] = []
    waiting: list[Row] = []
    beginnings = list(begun(program, seen, clock))
    for match in sorted(found, key=lambda one: place_of(program, one)):
        start = match.row[program.order[0]]
        if any(rules_out(program, one.row, match.row) for one in out):
            continue
        earlier = [
            row
            for row in beginnings
            if row[program.order[0]].place < start.place and not any(rules_out(program, one.row, row) for one in out)
        ]
        if any(could_rule_out(program, row, start) for row in (*earlier, *waiting)):
            waiting.append(match.row)
        else:
            out.append(match)
    return out
