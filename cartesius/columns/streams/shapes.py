"""Shapes: what the restrictions of a correlation of streams say of its memories, gates and order, as data.

Source: SEMANTICS 1.3, 1.5 to 1.7 and 1.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from cartesius.columns.bodies.computed import Keys, of_function
from cartesius.plan.nodes import OF_PRODUCTS, Let, Lockstep, Newest, Node, Now, Oldest, Uses
from cartesius.results.outputs import Events

if TYPE_CHECKING:
    from cartesius.columns.bodies.computed import Column, Equals
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join

OF_LOCKSTEP: Final = OF_PRODUCTS - {Oldest}


@attrs.define(eq=False)
class Keeping:
    """What is kept of one slot, and how long.

    Args:
        newest: How many of the newest stay, of a key; None: all.
        uses: How often each may be used; None: without limit.
        leaves: Whether each leaves with its batch.
        predicates: What each must satisfy before anything sees it.
    """

    newest: int | None = None
    uses: int | None = None
    leaves: bool = False
    predicates: list[Column] = attrs.Factory(list)


@attrs.frozen(eq=False)
class Shape:
    """A product of streams.

    Args:
        slots: What is kept of each slot.
        aligned: The sets of slots that come in lock-step, with the restrictions that say so.
        keys: Its key spaces.
        components: The equalities, all of which all slots are in: together they are the key under which parts meet.
        spaces: The key spaces under which memories and gates are divided; none: under all keys alike.
        is_oldest_first: Whether memories are visited so.
    """

    slots: tuple[Keeping, ...]
    aligned: tuple[tuple[Installed, tuple[int, ...]], ...]
    keys: Keys
    components: list[Equals]
    spaces: tuple[int, ...]
    is_oldest_first: bool


def shape_of(join: Join, known: frozenset[type[Node]]) -> Shape | str | None:
    """Return the shape of a correlation of streams, or why it has none; None: there is more than these meanings."""
    if not {type(one.node) for one in join.installed} <= known:
        return None
    if reason := _objection(join):
        return reason
    slots = tuple([Keeping() for _ in join.slots])
    aligned: list[tuple[Installed, tuple[int, ...]]] = []
    prefixes = set()
    for one in join.installed:
        node = one.node
        named = [slots[slot.index] for slot in one.named]
        if isinstance(node, Newest | Lockstep):
            prefixes |= {one.prefixes[slot.index] for slot in one.named}
        if isinstance(node, Newest):
            for slot in named:
                slot.newest = _least(slot.newest, node.n)
        elif isinstance(node, Uses):
            for slot in named:
                slot.uses = _least(slot.uses, node.n)
        elif isinstance(node, Now):
            for slot in named:
                slot.leaves = True
        elif isinstance(node, Lockstep):
            if node.limit is not None:
                return "how many events are held is limited"
            if any(slot.predicates for slot in named):
                return "a filter is behind what aligns"
            aligned.append((one, tuple([slot.index for slot in node.slots])))
        elif isinstance(node, Let):
            slots[node.slot.index].predicates.append(of_function(node.predicate, node.slot))
    return _keyed(join, slots, tuple(aligned), prefixes)


def _keyed(
    join: Join,
    slots: tuple[Keeping, ...],
    aligned: tuple[tuple[Installed, tuple[int, ...]], ...],
    prefixes: set[tuple[int, ...]],
) -> Shape | str:
    spaces = prefixes.pop() if prefixes else ()
    if prefixes or len([space for space in spaces if space != join.bindings.window_space]) > 1:
        return "its slots are keyed differently"
    keys = Keys(join)
    components = keys.components()
    if isinstance(components, str):
        return components
    if not set(spaces) <= {one.space for one in components}:
        return "not all slots are keyed"
    return Shape(slots, aligned, keys, components, spaces, join.batch.rank.is_oldest_first)


def not_plain(join: Join) -> str:
    """Say why the slots of a correlation are no streams of their own; nothing, if they are."""
    if any(slot.is_table or slot.n is not None or slot.shared is not None for slot in join.slots):
        return "a slot is no plain stream"
    if any(slot.reactive.pattern is not None for slot in join.slots):
        return "a slot is bound to results"
    if len({slot.reactive for slot in join.slots}) < len(join.slots):
        return "two slots have one source"
    return ""


def _objection(join: Join) -> str:
    if not isinstance(join.batch.output, Events):
        return "its results are no events"
    if reason := not_plain(join):
        return reason
    if join.pattern.absent.names or join.bindings.moment is not None:
        return "its candidates are not all combinations"
    return ""


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)
