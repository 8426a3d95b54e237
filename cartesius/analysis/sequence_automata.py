"""The automaton of a correlation: a state for each set of variables that may be bound, arrows for what may follow.

It is read from the nodes of the restrictions, and from ``where``: in which order parts may come, on which conditions an
event is one, what must not come, and what becomes of all other events. What restricts memory alone is not in it.

Invariant: a path from the beginning to the match binds each variable once, in an order that the restrictions allow.

Source: Agrawal et al., Efficient pattern matching over event streams, SIGMOD 2008 (SASE+: automata with buffers).
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from cartesius.data.value_texts import shown
from cartesius.drawing.automaton_diagrams import Arrow, State, automaton_svg
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Expression, show, slots_of
from cartesius.plan.nodes import InSequence, Lasting, Let, May, Never, Runs, Within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.plan.nodes import Node

_MOST, _MOST_ABOVE = 16, 3
_OVER = "over"


def has_sequence(join: Join) -> bool:
    """Whether something must come after something else, or must not come at all; and the automaton is of a size."""
    return any(isinstance(node, InSequence | Never | Runs) for node in _nodes(join)) and _is_drawn(_ideals(join))


def automaton_of(join: Join) -> str:
    """Return the text of an SVG of the automaton of a correlation.

    Raises:
        InvalidArgument: More than 16 sets of variables may be bound, or more than three of one size.
    """
    ideals = _ideals(join)
    if not _is_drawn(ideals):
        message = (
            f"automaton: expected a correlation with at most {_MOST} states, and {_MOST_ABOVE} above each other, but"
            f" {join.name} has more, one for each set of variables that may be bound; put its variables into a"
            " sequence by in_sequence"
        )
        raise InvalidArgument(message)
    parts = _parts(join)
    states = [
        State(_name(bound), _said(join, bound), is_final=len(bound) == len(parts) and not _waits(join))
        for bound in ideals
    ]
    arrows = [Arrow("", _name(ideals[0])), *_advancing(join, ideals), *_staying(join, ideals), *_failing(join, ideals)]
    if _waits(join):
        states.append(State("match", "match", is_final=True))
        arrows.append(Arrow(_name(ideals[-1]), "match", "when its time has passed", is_dashed=True))
    for bound, lacking in _partial(join, ideals):
        told = f"match without {lacking}"
        states.append(State(told, is_final=True))
        arrows.append(Arrow(_name(bound), told, f"no {lacking}", is_dashed=True))
    if any(arrow.target == _OVER for arrow in arrows):
        states.append(State(_OVER, "no match"))
    return automaton_svg(states, arrows, title=f"The automaton of {join.name}")


def _is_drawn(ideals: Sequence[Sequence[Slot]]) -> bool:
    """Whether a picture can be read."""
    return len(ideals) <= _MOST and max(Counter(map(len, ideals)).values()) <= _MOST_ABOVE


def _nodes(join: Join) -> list[Node]:
    return [node for one in join.installed for node in one.nodes]


def _parts(join: Join) -> list[Slot]:
    """Return the slots that a match has a part of, in order."""
    absent = {node.slot for node in _nodes(join) if isinstance(node, Never)}
    return [slot for slot in join.slots if slot not in absent]


def _ideals(join: Join) -> list[tuple[Slot, ...]]:
    """Return the sets of slots that may be bound: with each slot those that come before it, small sets first."""
    parts = _parts(join)
    before: dict[Slot, set[Slot]] = {slot: set() for slot in parts}
    for node in _nodes(join):
        if isinstance(node, InSequence):
            for earlier, later in zip(node.slots, node.slots[1:], strict=False):
                before[later].add(earlier)
    if len(parts) > 8:  # 2 to the ninth is more than anybody looks at; and a chain has one more than it has parts
        return _chain(parts, before) or [()] * (_MOST + 1)
    return [
        bound
        for size in range(len(parts) + 1)
        for bound in combinations(parts, size)
        if all(before[slot] <= set(bound) for slot in bound)
    ]


def _chain(parts: Sequence[Slot], before: dict[Slot, set[Slot]]) -> list[tuple[Slot, ...]]:
    """Return the sets that may be bound if all is one sequence; none if it is not."""
    ordered: list[Slot] = []
    while len(ordered) < len(parts):
        ready = [slot for slot in parts if slot not in ordered and before[slot] <= set(ordered)]
        if len(ready) != 1:
            return []
        ordered += ready
    return [tuple(ordered[:size]) for size in range(len(ordered) + 1)]


def _name(bound: Sequence[Slot]) -> str:
    return " ".join(slot.name for slot in bound) or "-"


def _said(join: Join, bound: Sequence[Slot]) -> str:
    if not bound:
        return "nothing yet"
    if len(bound) == len(_parts(join)) and not _waits(join):
        return "match"
    return ", ".join(slot.name for slot in bound)


def _event(join: Join, slot: Slot) -> str:
    """Name an event of a slot: by its variable, and by its source if that is called otherwise."""
    count = join.pattern.shown_count(slot.name)
    return (slot.name if slot.name == slot.source else f"{slot.name}: {slot.source}") + count


def _advancing(join: Join, ideals: Sequence[tuple[Slot, ...]]) -> Iterator[Arrow]:
    for bound in ideals:
        for longer in ideals:
            if len(longer) == len(bound) + 1 and set(bound) < set(longer):
                (slot,) = set(longer) - set(bound)
                lines = [_event(join, slot), *_conditions(join, set(bound), slot, is_last=longer == ideals[-1])]
                yield Arrow(_name(bound), _name(longer), "\n".join(lines))


def _conditions(join: Join, bound: set[Slot], slot: Slot, *, is_last: bool) -> Iterator[str]:
    """Say on which conditions an event is the next part: what can be asked now, and could not be before."""
    yield from _same(join, slot, bound)
    known = {one.name for one in (*bound, slot)}
    for condition in join.pattern.conditions:
        if slot.name in slots_of(condition) and slots_of(condition) <= known:
            yield show(condition)
    where = join.pattern.where
    if is_last and where is not None and not isinstance(where, Expression):
        yield "where holds (as written)"
    for node in _nodes(join):
        match node:
            case Let(slot=of, predicate=predicate) if of == slot:
                yield f"only {shown(predicate)}"
            case Within(slots=slots, duration=duration) if slot in slots and bound & set(slots):
                yield f"within {shown(duration)}"
            case Lasting(slot=of, duration=duration) if of in bound:
                yield f"at most {shown(duration)} after {of.name}"


def _staying(join: Join, ideals: Sequence[tuple[Slot, ...]]) -> Iterator[Arrow]:
    """Say what becomes of other events while a match has begun."""
    contiguities = {node.contiguity for node in _nodes(join) if isinstance(node, InSequence)}
    growing = {node.slot for node in _nodes(join) if isinstance(node, Runs)}
    for bound in ideals[:-1]:
        if bound and bound[-1] in growing:
            yield Arrow(_name(bound), _name(bound), f"more of {bound[-1].name}")
        if not bound or "strict" not in contiguities:
            fork = " (what fits may wait, too)" if contiguities == {"any"} and bound else ""
            yield Arrow(_name(bound), _name(bound), f"any other event{fork}")


def _failing(join: Join, ideals: Sequence[tuple[Slot, ...]]) -> Iterator[Arrow]:
    """Say what ends a match that has begun."""
    for node in _nodes(join):
        if isinstance(node, InSequence) and node.contiguity == "strict":
            for bound in ideals[:-1]:
                if bound:
                    yield Arrow(_name(bound), _OVER, "anything else", is_dashed=True)
        if not isinstance(node, Never):
            continue
        for bound in ideals:
            began, ended = node.anchor in bound, node.last is not None and node.last in bound
            lines = [_event(join, node.slot), *_same(join, node.slot, _parts(join))]
            lines += [show(one) for one in join.pattern.conditions if node.slot.name in slots_of(one)]
            match node.when:
                case "between" if began and not ended:
                    yield Arrow(_name(bound), _OVER, "\n".join(lines), is_dashed=True)
                case "after" if began:
                    lines.append(f"within {shown(node.duration)} after {node.anchor.name}")
                    yield Arrow(_name(bound), _OVER, "\n".join(lines), is_dashed=True)
                case "before" if began and bound == ideals[-1]:
                    lines.append(f"came within {shown(node.duration)} before {node.anchor.name}")
                    yield Arrow(_name(bound), _OVER, "\n".join(lines), is_dashed=True)


def _partial(join: Join, ideals: Sequence[tuple[Slot, ...]]) -> Iterator[tuple[tuple[Slot, ...], str]]:
    """Iterate over what may be bound in a match that lacks parts, each with the names of these."""
    may = {slot for node in _nodes(join) if isinstance(node, May) for slot in node.slots}
    for bound in ideals[:-1]:
        lacking = [slot for slot in ideals[-1] if slot not in bound]
        if bound and may.issuperset(lacking):
            yield bound, ", ".join(slot.name for slot in lacking)


def _same(join: Join, slot: Slot, others: Iterable[Slot]) -> Iterator[str]:
    """Say what an event of a slot has in common with those of others: a key, or a window."""
    indexes, windows = {one.index for one in others}, join.bindings.window_space
    shared = [n for n, space in enumerate(join.bindings.spaces) if slot.index in space and indexes & space.keys()]
    yield from ["of the same key"] * (shared not in ([], [windows]))
    yield from ["of the same window"] * (windows in shared)


def _waits(join: Join) -> bool:
    """Whether what is complete waits for the clock."""
    return any(isinstance(node, Never) for node in _nodes(join))
