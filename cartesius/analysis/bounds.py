"""Bounds as numbers: what a correlation holds, and how many steps an event costs, before anything runs.

A *state variable* is what lasts from one event to the next: a place for an event in memory, how often it may still be
used if that is limited, and what restrictions hold themselves. A *step* is the update of one of them, or one
combination that is tried, or taken back. Steps stand on *levels*: those of one level need nothing of each other, and
may run in parallel; a level needs those before. What the clock lets go is no event's, and not counted.

    gates' own state, one gate after another → places, and what is taken back → combinations → what they use up

Where uses are limited, or a selector chooses, a combination is tried when it is known what those before have used.

Invariant: on no trace more is held, or done for an event of an input, than is said here.

Source: SOURCES E7 (latency and throughput in state updates); SEMANTICS 1.2 to 1.7 and 1.13.
"""

from __future__ import annotations

from math import comb, prod
from typing import TYPE_CHECKING

import attrs

from cartesius.automata.transitions import Steps
from cartesius.language.families import select
from cartesius.order.order_needs import is_gate
from cartesius.plan import facts
from cartesius.plan.nodes import (
    Age,
    Aggregate,
    AsTable,
    Collate,
    Deliver,
    Fold,
    Lockstep,
    May,
    Node,
    Recall,
    Separate,
    Upsert,
    Uses,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot

_UNCOUNTED = {
    May: "rows that miss a part are compared",
    AsTable: "there is a row for each key of its results",
    Aggregate: "it keeps a total for each group",
    Deliver: "each event comes to all windows that contain it",
    Upsert: "there is a row for each key of a table",
    Recall: "there is a row for each key of a table",
    Fold: "there is a fold for each key of a table",
    Age: "the clock changes rows",
    Collate: "it collects what has come in rows",
}


@attrs.frozen
class Bounds:
    """What one correlation holds and does at most.

    Args:
        everywhere: Its state variables that are common to all keys.
        for_each_key: Those that there are for each key, besides.
        unbounded: What has no bound, and why; if there is any, the numbers are those of the rest.
        steps: By input: what an event of it costs, or why that has no bound.
    """

    everywhere: int
    for_each_key: int
    unbounded: Mapping[str, str]
    steps: Mapping[str, Steps | str]


@attrs.frozen
class _Kept:
    """What is known of one slot."""

    slot: Slot
    count: int | None  # how many events of it stay
    spaces: tuple[int, ...]  # the key spaces under each key of which so many stay
    uses: int  # how often each may be used; 0: without limit
    is_run: bool  # its entries are runs, each of which an event may extend

    @property
    def choices(self) -> int:
        """How many parts a combination may choose from."""
        return self._choices(self.count or 0)

    @property
    def choices_with_fresh(self) -> int:
        """Likewise, when an event has just come."""
        return self._choices(max(self.count or 0, 1))

    @property
    def choices_but_fresh(self) -> int:
        """Likewise, without what has just come."""
        return 0 if self.is_run else self._choices(max((self.count or 0) - 1, 0))

    @property
    def stored(self) -> int:
        """How many places an event changes when it comes."""
        return self.count or 0 if self.is_run else 1 if self.count is None else min(self.count, 1)

    def _choices(self, count: int) -> int:
        return count if self.slot.n is None else comb(count, self.slot.n)


def bounds_of(join: Join, reasons: Mapping[str, str]) -> Bounds:
    """Return the bounds of a correlation.

    Args:
        join: The correlation.
        reasons: By slot: what else is known of its memory, for those that have no number.
    """
    kept = [_kept(join, slot) for slot in join.slots]
    unbounded = {one.slot.name: reasons[one.slot.name] for one in kept if one.count is None}
    everywhere = for_each_key = 0
    for one in kept:
        variables = (one.count or 0) * (2 if one.uses > 1 else 1)
        everywhere += 0 if one.spaces else variables
        for_each_key += variables if one.spaces else 0
    for installed in join.installed:
        own, node = facts.state_variables(installed), installed.node
        if own is None or own[0] is None:
            unbounded[repr(installed.restriction)] = _unsaid(installed)
        else:
            everywhere += 0 if installed.prefix else own[0]
            for_each_key += own[0] if installed.prefix else 0
        reason = "" if isinstance(node, May) else _uncounted_by(node)
        if reason:
            unbounded[repr(installed.restriction)] = reason
    inputs = dict.fromkeys(slot.source for slot in join.slots)
    return Bounds(everywhere, for_each_key, unbounded, {source: _steps(join, kept, source) for source in inputs})


def _unsaid(installed: Installed) -> str:
    if facts.state_variables(installed) is not None:
        return f"what it holds back is {facts.held(installed) or 'unbounded'}"
    return "how much it holds, and changes, it does not say in numbers (say it in its plan: Opaque(variables=…))"


def _kept(join: Join, slot: Slot) -> _Kept:
    """Return how many events of a slot stay: the least that a restriction leaves."""
    uses = [one.node.n for one in join.installed if isinstance(one.node, Uses) and slot in one.named]
    least = min(uses, default=0)
    found = [
        (count, one.prefixes[slot.index])
        for one in join.installed
        if slot in one.named and (count := facts.entries_kept(one)) is not None
    ]
    if least == 1 and _is_used_at_once(join):
        found.append((0, ()))
    if slot.is_table or slot.has_windows or join.batch.versions is not None or slot.name in join.pattern.absent.names:
        found = []
    count, spaces = min(found, default=(None, ()), key=lambda one: (one[0], len(one[1])))
    is_run = slot.name in join.pattern.lists and slot.n is None
    return _Kept(slot, count, spaces if count else (), least, is_run)


def _is_used_at_once(join: Join) -> bool:
    """Whether each event, once it has come through the gates, is in a result that nothing can refuse."""
    pattern = join.pattern
    if pattern.where is not None or pattern.is_generator or any(n is not None for n in pattern.lists.values()):
        return False
    if any(one.admits or _chooses(one) for one in join.installed) or pattern.absent.names:
        return False
    if join.bindings.links or len(join.slots) == 1:
        return not join.bindings.links
    return any(
        isinstance(one.node, Lockstep)
        and set(one.named) == set(join.slots)
        and not any(is_gate(other) for other in join.installed[: one.number])  # it could drop a part of a row
        for one in join.installed
    )


def _chooses(one: Installed) -> bool:
    return any(family is select for _, family, _, _ in one.marks)


def _steps(join: Join, kept: Sequence[_Kept], source: str) -> Steps | str:
    """Return what an event of an input costs, or why that has no bound."""
    reason = _uncounted(join)
    if reason:
        return reason
    mine = [one for one in kept if one.slot.source == source]
    fresh = {one.slot.index for one in mine}
    aligned = [one for one in join.installed if isinstance(one.node, Lockstep)]
    for one in aligned:
        if any(slot.index in fresh for slot in one.named):
            fresh |= {slot.index for slot in one.named}
    is_alone = any(isinstance(one.node, Separate) for one in join.installed)
    if not is_alone and (reason := _unreached(join, kept, fresh)):
        return reason
    own, choosing = _own(join, {one.slot.index for one in mine}, fresh)
    stored = {one.slot.index: one.stored for one in kept if one.slot.index in fresh}
    tried = len(fresh) if is_alone else _combinations(kept, fresh)
    taken = 0
    if any(facts.takes_back(one) for one in join.installed):
        taken = sum(stored.values()) if is_alone else _taken_back(kept, fresh)
    limited = [one for one in kept if one.uses]
    in_turn = bool(limited) or any(_chooses(one) for one in join.installed)
    levels = [*own, sum(stored.values()) + taken, *([1] * tried if in_turn else [tried])]
    matches = min([tried, *[one.uses * (1 if {one.slot.index} == fresh else one.count or 1) for one in limited]])
    for used in limited:  # each that has been there is used less often from now on, or is used up
        is_just_fresh = {used.slot.index} == fresh and used.slot.n is None  # the others of a list have been there
        there = 0 if is_just_fresh else (used.count or 0) - stored.get(used.slot.index, 0)
        levels.append(min(max(there, 0), matches * (used.slot.n or 1)))
    widths = [width for width in [*levels, *choosing] if width]
    return Steps(sum(widths), len(widths), max(widths, default=0))


def _uncounted(join: Join) -> str:
    """Say what there is whose steps are not counted."""
    if join.pattern.alternative is not None:
        return "not counted: what alternatives use up is taken out of each other"
    if join.pattern.absent.names:
        return f"not counted: rows wait for {sorted(join.pattern.absent.names)[0]!r}, which must not come"
    if join.batch.versions is not None:
        return "not counted: an event changes all versions that it concerns"
    table = next((slot.name for slot in join.slots if slot.is_table), None)
    if table is not None:
        return f"not counted: a change of a table concerns all rows that {table!r} is joined with"
    for one in join.installed:
        reason = _uncounted_by(one.node)
        if reason:
            return f"not counted: by {one.restriction!r} {reason}"
        if facts.state_variables(one) is None:
            return f"{one.restriction!r}: {_unsaid(one)}"
    return ""


def _uncounted_by(node: Node) -> str:
    return next((reason for kind, reason in _UNCOUNTED.items() if isinstance(node, kind)), "")


def _unreached(join: Join, kept: Sequence[_Kept], fresh: set[int]) -> str:
    """Say of which slot an event may meet any number, as far as keys tell."""
    spaces = join.bindings._spaces_of
    for one in kept:
        meets_itself = len(fresh) > 1 or one.is_run or one.slot.n is not None
        if one.slot.index in fresh and one.count is None and meets_itself:
            return f"it meets all events of {one.slot.name!r}, which has no bound"
    for start in sorted(fresh):  # what has come to several slots meets, in each, what has been in the others
        known = set(spaces[start])
        pending = [one for one in kept if one.slot.index != start]
        while pending:
            near = next((one for one in pending if set(one.spaces) <= known), None)
            if near is None:
                return f"it meets events of {pending[0].slot.name!r} under every key"
            if near.count is None:
                return f"it meets all events of {near.slot.name!r}, which has no bound"
            known |= set(spaces[near.slot.index])
            pending.remove(near)
    return ""


def _own(join: Join, mine: set[int], fresh: set[int]) -> tuple[list[int], list[int]]:
    """Return how many of their own variables gates change, one after another, and those that choose results.

    An event of its own slots may let others go on to the gates behind one that aligns them.
    """
    gates, choosing = [], []
    coming = mine
    for one in reversed(join.installed):
        own = facts.state_variables(one)
        assert own is not None  # Invariant: it is asked only where all say it
        if _chooses(one):
            choosing.append(own[1])
        else:
            gates.append(own[1] * sum(slot.index in coming for slot in one.named))
        if isinstance(one.node, Lockstep) and any(slot.index in mine for slot in one.named):
            coming = fresh
    return gates, choosing


def _combinations(kept: Sequence[_Kept], fresh: set[int]) -> int:
    """Return how many combinations there are with something fresh."""
    there = prod(one.choices_with_fresh if one.slot.index in fresh else one.choices for one in kept)
    return there - _without(kept, fresh)


def _taken_back(kept: Sequence[_Kept], fresh: set[int]) -> int:
    """Return how many combinations there were with something that is displaced."""
    return prod(one.choices for one in kept) - _without(kept, fresh)


def _without(kept: Sequence[_Kept], fresh: set[int]) -> int:
    """Return how many combinations there are of what has been there and stays."""
    return prod(one.choices_but_fresh if one.slot.index in fresh else one.choices for one in kept)
