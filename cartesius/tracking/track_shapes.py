"""Which sequences have a bounded number of matches that have begun, and why others do not.

Where events come one after another, so that each starts after all before have ended, what has begun of a match is told
by how many of its parts are bound. It is bounded if of each length one at most has begun:

- *strict*: nothing may lie between, so a match goes on with the very next event or is over;
- *recent*: of each variable but the last only the newest event is kept, so a newer one takes the place of the older;
- *single*: the next part is the first that fits, parts fit each by itself, and a match rules out those that start
  before its end. Then what began first is never behind another, and no other one matters.

A variable that `one_or_more` binds has one run more, the events so far, if one is open at a time.

Source: SOURCES E6; SASE+ (selection strategies), Flink CEP (contiguity).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.expressions.expressions import show, slots_of
from cartesius.plan import facts
from cartesius.plan.nodes import Complete, InSequence, KeyBy, Let, Newest, Node, Now, Runs, TakeOrder, Visit, Within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot

_KNOWN = frozenset(
    {
        InSequence,
        Runs,
        KeyBy,
        Newest,
        Now,
        Within,
        Let,
        Complete,
        TakeOrder,
        Visit,
    }
)


class Kind(enum.Enum):
    """Why of each length one match at most has begun."""

    STRICT = "nothing lies between"
    RECENT = "only the newest event of a variable is kept"
    SINGLE = "what began first is ahead of all others"


@attrs.frozen(eq=False)
class TrackShape:
    """A sequence with a bounded number of matches that have begun.

    Args:
        kind: Why it is bounded.
        slots: The slots in the order of the sequence.
        grows: The gate of the variable that `one_or_more` binds, and its place in the sequence; None if there is none.
        uses_up: Whether what fits as the last part ends what has begun: the last variable keeps its events.
        is_strict: Whether what fits not does so, too.
        spans: The slots that must be within a duration, with it.
        filters: By slot index: what an event must satisfy to be one of the slot.
    """

    kind: Kind
    slots: tuple[Slot, ...]
    grows: tuple[Any, int] | None
    uses_up: bool
    is_strict: bool
    spans: tuple[tuple[tuple[int, ...], int], ...]
    filters: Mapping[int, tuple[Callable[[Any], Any], ...]]


def track_shape_of(join: Join) -> TrackShape | str:
    """Return the shape of a correlation that is a bounded sequence, or why it is none."""
    objection = _strange(join)
    if objection:
        return objection
    by_node: dict[type[Node], list[Installed]] = {}
    for one in join.installed:
        by_node.setdefault(type(one.node), []).append(one)
    sequences = by_node.get(InSequence, [])
    growing = by_node.get(Runs, [])
    objection = _misplaced(join, sequences, growing) or _unfiltered(join, growing)
    if objection:
        return objection
    slots = facts.in_order(sequences[0]) if sequences else tuple(join.slots)
    grows = (growing[0].stateless, slots.index(growing[0].named[0])) if growing else None
    newest = {slot for one in by_node.get(Newest, ()) for slot in one.named}
    leaving = {slot for one in by_node.get(Now, ()) for slot in one.named}
    pruned = [one for one in sequences if facts.consumes(one)]
    contiguity = next((one.node.contiguity for one in sequences if isinstance(one.node, InSequence)), "any")
    kind = _kind(join, slots, newest, leaving, contiguity, pruned, growing)
    if isinstance(kind, str):
        return kind
    keeps_last = slots[-1] not in newest | leaving
    return TrackShape(
        kind,
        tuple(slots),
        grows,
        uses_up=keeps_last and contiguity != "any",
        is_strict=contiguity == "strict",
        spans=tuple(
            (tuple([slot.index for slot in one.named]), one.node.duration)
            for one in join.installed
            if isinstance(one.node, Within)
        ),
        filters=_filters(by_node.get(Let, [])),
    )


def _filters(installed: Sequence[Installed]) -> dict[int, tuple[Callable[[Any], Any], ...]]:
    found: dict[int, tuple[Callable[[Any], Any], ...]] = {}
    for one in reversed(installed):  # the right-most sees an event first
        node: Any = one.node
        index = node.slot.index
        found[index] = (*found.get(index, ()), node.predicate)
    return found


def _strange(join: Join) -> str:
    """Say what there is that no sequence of streams has."""
    if join.pattern.alternative is not None:
        return "it is an alternative, which shares what it uses up"
    if join.pattern.absent.names:
        return f"{sorted(join.pattern.absent.names)[0]!r} must be absent, which the clock decides"
    for slot in join.slots:
        if slot.is_table:
            return f"{slot.name!r} is bound to a table, whose rows replace each other"
        if slot.reactive.pattern is not None:
            return f"{slot.name!r} is bound to results, which may be taken back; it must be an input"
        if slot.n is not None:
            return f"{slot.name!r} is a list of {slot.n}, of which any choice may match"
    for one in join.installed:
        if type(one.node) not in _KNOWN:
            return f"of {one.restriction!r} it is not known how many matches it leaves begun"
    return ""


def _misplaced(join: Join, sequences: list[Installed], growing: list[Installed]) -> str:
    """Say what is not in the sequence, or not under its key."""
    names = [slot.name for slot in join.slots]
    if len(sequences) > 1:
        return "there are several sequences, side by side; name all slots in one in_sequence"
    if not sequences and (len(names) > 1 or not growing):
        return "nothing orders its slots; write in_sequence"
    free = [slot.name for slot in join.slots if sequences and slot not in sequences[0].named]
    if free:
        return f"{free[0]!r} is in no sequence, so any number of its events may match"
    spaces = join.bindings.spaces
    if len(spaces) > 1 or (spaces and len(spaces[0]) < len(names)):
        return "its slots are not keyed in one key_by"
    inside = (InSequence, Runs, Newest)
    for one in join.installed:
        if spaces and type(one.node) in inside and any(one.prefixes[slot.index] != (0,) for slot in one.named):
            return f"{one.restriction!r} is left of key_by, so it weighs events of all keys"
    return ""


def _unfiltered(join: Join, growing: list[Installed]) -> str:
    """Say what is wrong with the runs of `one_or_more`."""
    if len(growing) > 1:
        return "two variables are bound by one_or_more, whose runs may overlap"
    for run in growing:
        (slot,) = run.named
        if any(other.reactive == slot.reactive for other in join.slots if other is not slot):
            return f"{slot.name!r}, bound by one_or_more, shares its events with another variable"
        for one in join.installed:
            if isinstance(one.node, Let) and slot in one.named and one.number < run.number:
                return f"{one.restriction!r} is left of key_by, so it sees the runs of {slot.name!r} as a whole"
            if isinstance(one.node, Now) and slot in one.named:
                return f"the runs of {slot.name!r} leave with their batch"
    return ""


def _kind(
    join: Join,
    slots: Sequence[Slot],
    newest: set[Slot],
    leaving: set[Slot],
    contiguity: str,
    pruned: list[Installed],
    growing: list[Installed],
) -> Kind | str:
    several = next((one for one in join.installed if isinstance(one.node, Newest) and one.node.n != 1), None)
    if several is not None:
        return f"{several.restriction!r} keeps several events, each of which may begin a match"
    if early := next((slot for slot in slots[:-1] if slot in leaving), None):
        return f"{early.name!r} leaves with its batch, before anything can follow it"
    is_recent = all(slot in newest for slot in slots[:-1]) and (len(slots) > 1 or bool(newest))
    if pruned:
        return _kind_pruned(join, slots, contiguity, pruned[0], growing, restricts_memory=bool(newest | leaving))
    if is_recent:
        if unkept := next((one for one in growing if one.named[0] not in newest), None):
            return f"runs of {unkept.named[0].name!r} that are over stay; add most_recently({unkept.named[0].name!r})"
        return Kind.RECENT
    if contiguity != "strict" and len(slots) > 1:
        kept = next(slot.name for slot in slots[:-1] if slot not in newest)
        return (
            f"every event of {kept!r} may begin a match, or go on with one, and wait for what follows; keep the newest"
            f" (most_recently({kept!r})), or let nothing lie between (contiguity='strict')"
        )
    if some := sorted(slot.name for slot in newest | leaving):
        return f"of {some[0]!r}, but not of all variables before the last, only the newest event is kept"
    open_ended = [
        one
        for one in growing
        if isinstance(one.node, Runs) and one.node.contiguity == "relaxed" and one.node.where is not None
    ]
    if open_ended:
        name = open_ended[0].named[0].name
        return (
            f"an event of {name!r} may go on with any number of runs; keep the newest (most_recently({name!r})), or let"
            " what does not fit end it (one_or_more(…, contiguity='strict'))"
        )
    return Kind.STRICT


def _kind_pruned(
    join: Join,
    slots: Sequence[Slot],
    contiguity: str,
    pruned: Installed,
    growing: list[Installed],
    *,
    restricts_memory: bool,
) -> Kind | str:
    node: Any = pruned.node
    strategy = node.after_match
    if growing:
        return f"a run of {growing[0].named[0].name!r} goes on after a match, which after_match may rule out"
    if restricts_memory:
        return "after_match depends on matches that began earlier, whose events memory does not keep"
    if contiguity == "strict" and len({slot.reactive for slot in slots}) == len(slots):
        return Kind.STRICT  # matches cannot overlap, so none rules out another
    if strategy != "past_last" or contiguity != "relaxed":
        return f"matches under after_match={strategy!r}, contiguity={contiguity!r} may begin before another one ends"
    if any(isinstance(one.node, Within) for one in join.installed):
        return "what began first may be too old when it is complete, so any number that began later must be kept"
    if not join.pattern.is_where_traced:
        return f"it is not known which parts fit by themselves: {join.pattern.untraced[0]}"
    joint = next((one for one in join.pattern.conditions if len(slots_of(one)) != 1), None)
    if joint is not None:
        return f"what fits depends on what has begun, by {show(joint)}, so any number may wait"
    return Kind.SINGLE
