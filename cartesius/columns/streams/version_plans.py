"""Plans of version joins: how the slots of a correlation are joined, found once, when it is compiled.

Source: SEMANTICS 1.13 (which events meet) and 2.6 (which parts may be missing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.columns.bodies.column_texts import Code
from cartesius.columns.bodies.computed import Keys, of_expression
from cartesius.columns.lifetimes.chaining import Edge, in_a_chain, in_a_tree
from cartesius.columns.lifetimes.lifetimes import Memory, memory_of
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.expressions import slots_of
from cartesius.language.lists import equality_of
from cartesius.plan import facts
from cartesius.plan.nodes import OF_JOINS, OF_PRODUCTS, AsTable, Lockstep, May, Newest, Node, Now, Oldest, Uses
from cartesius.results.outputs import Events
from cartesius.results.outputs import Rows as ResultRows
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.columns.lifetimes.chaining import Turn
    from cartesius.correlations.join_shape import Join

OF_VERSIONS: Final = OF_PRODUCTS - {Uses, Lockstep} | OF_JOINS


@attrs.frozen(eq=False)
class Plan:
    """How a correlation is computed.

    Args:
        keys: Its key spaces.
        memories: What each slot keeps.
        takes_back: Whether results are taken back.
        is_oldest_first: Whether memories are visited so.
        shown: The slots whose keys are those of the table that it makes; none if it makes events.
        by: The function of a result that is its key in the table that it makes; None: there is none.
        is_distinct: Whether no event comes to two of its slots, and each step has one.
        may_miss: Of each slot, whether its part may be missing.
        alone: The conditions on one slot, by slot, where parts may be missing.
        is_carried: Whether all slots keep one event of one common key.
        space: The key space of that; None: there is one key.
        others: The equalities beside it.
        turns: In which order slots are joined, and how; none if they can only be carried.
        is_full: Whether there are two slots of which each may be missing.
    """

    keys: Keys
    memories: tuple[Memory, ...]
    takes_back: bool
    is_oldest_first: bool
    shown: tuple[int, ...]
    by: Callable[[Any], Any] | None
    is_distinct: bool
    may_miss: tuple[bool, ...]
    alone: tuple[tuple[int, Code], ...]
    is_carried: bool
    space: int | None
    others: tuple[Edge, ...]
    turns: tuple[Turn, ...]
    is_full: bool

    @property
    def is_partial(self) -> bool:
        """Whether parts may be missing."""
        return any(self.may_miss)

    @property
    def mandatory(self) -> tuple[int, ...]:
        """The slots whose part must be there."""
        return tuple([slot for slot, may_miss in enumerate(self.may_miss) if not may_miss])

    @property
    def momentary(self) -> tuple[int, ...]:
        """The slots whose part must have come just now."""
        return tuple([one.slot.index for one in self.memories if one.kind is Now])

    @property
    def functions(self) -> str:
        """The functions of the kernel, in the order in which they run."""
        first = (
            "carrying.find" if self.is_carried else "lifetimes.Memory.lifetimes, chaining.Joining, emitting.in_order"
        )
        last = "row_joins.changes" if self.by is not None else f"emitting.{'as_changes' if self.shown else 'as_events'}"
        return f"{first}, {last}"


def plan_of(join: Join, known: frozenset[type[Node]] = OF_VERSIONS) -> Plan | str | None:
    """Return how a correlation of streams with memories is computed, or why it is not; None: it is none."""
    if not {type(one.node) for one in join.installed} <= known or all(slot.is_table for slot in join.slots):
        return None
    if reason := _objection(join):
        return reason
    memories = [memory_of(join, slot) for slot in join.slots]
    kept = [one for one in memories if isinstance(one, Memory)]
    if len(kept) < len(memories):
        return next(one for one in memories if isinstance(one, str))
    try:
        return _planned(join, tuple(kept))
    except NotColumnar as why:
        return str(why)


def _objection(join: Join) -> str:
    if any(slot.is_table or slot.n is not None for slot in join.slots):
        return "a slot is no plain stream"
    if join.pattern.absent.names or join.bindings.moment is not None or join.bindings.shown is not None:
        return "its candidates are not all combinations"
    patterns = [slot.reactive.pattern for slot in join.slots]
    if any(pattern is not None and any(facts.takes_back(one) for one in pattern.restrictions) for pattern in patterns):
        return "what comes to it may be taken back"
    if not isinstance(join.batch.output, Events | View) and _by(join) is None:
        return "the rows of its table do not follow from its memory"
    if join.batch.partial is not None and not (join.batch.is_pure and join.pattern.is_where_traced):
        return "parts are missing for certain only after some time, or a body is asked"
    return ""


def _planned(join: Join, memories: tuple[Memory, ...]) -> Plan | str:
    keys = Keys(join)
    may_miss = tuple([_is_named(join, May, slot.index) for slot in join.slots])
    momentary = any(one.kind is Now for one in memories)
    if momentary and any(may_miss):
        return "a slot keeps nothing, and parts may be missing"
    edges = _edges(join, keys)
    alone, pairs = _conditions(join) if any(may_miss) else ([], {})
    common = _common_key(join, memories)
    space = None if common is None or common == () else common[0]
    others = tuple([edge for number, edge in edges if number is None or number != space])
    by = _by(join)
    is_carried = common is not None and not (any(may_miss) and (others or pairs)) and by is None
    is_full = all(may_miss)
    if not any(may_miss):
        turns = in_a_chain(len(join.slots), edges)
    else:
        links = zip(join.bindings.links, edges, strict=True)
        spokes = [edge for link, (_, edge) in links if not link.is_key or join.bindings.is_spoke(link, may_miss)]
        found = in_a_tree(spokes, pairs, may_miss)
        if isinstance(found, str) and not is_carried:
            return found
        turns = [] if isinstance(found, str) else found
    shown: tuple[int, ...] = ()
    if isinstance(join.batch.output, View):
        rows = [one.node.key for one in join.installed if isinstance(one.node, AsTable)]
        if len(rows) > 1:
            return "two restrictions make a table of it"
        shown = tuple([slot.index for slot in join.bindings.keyed_slots(rows[0])])
    sources = [slot.reactive for slot in join.slots]
    return Plan(
        keys,
        memories,
        join.batch.is_pure and not momentary,
        join.batch.rank.is_oldest_first,
        shown,
        by,
        len(set(sources)) == len(sources) and all(one.pattern is None for one in sources),
        may_miss,
        tuple(alone),
        is_carried,
        space,
        others,
        tuple(turns),
        is_full,
    )


def _by(join: Join) -> Callable[[Any], Any] | None:
    """Return the function of a result that is its key in a table of all that stand; None if there is none."""
    if not isinstance(join.batch.output, ResultRows) or not join.batch.output.keeps_all:
        return None
    keys = [one.node.key for one in join.installed if isinstance(one.node, AsTable)]
    return keys[0] if len(keys) == 1 and callable(keys[0]) else None


def _is_named(join: Join, meaning: type[Node], slot: int) -> bool:
    return any(type(one.node) is meaning and any(named.index == slot for named in one.named) for one in join.installed)


def _common_key(join: Join, memories: Sequence[Memory]) -> tuple[int, ...] | None:
    """Return the key space under which each slot keeps one event, or the empty tuple; None if that is not so."""
    newest = [one for one in memories if one.kind is Newest]
    spaces = {one.spaces for one in newest}
    if any(one.n != 1 for one in newest) or len(spaces) != 1 or any(one.kind is None for one in memories):
        return None
    if any(one.kind is Oldest for one in memories):
        return None
    (common,) = spaces
    if len(common) > 1:
        return None
    if common and set(join.bindings.spaces[common[0]]) != {slot.index for slot in join.slots}:
        return None
    return common


def _edges(join: Join, keys: Keys) -> list[tuple[int | None, Edge]]:
    """Return the links of a correlation, each with its key space, if it is of one."""
    found: list[tuple[int | None, Edge]] = []
    equalities = iter(join.pattern.equalities)
    slots = {slot.name: slot for slot in join.slots}
    for link in join.bindings.links:
        if link.is_key:
            space = link.left_position
            one, other = keys.column(space, link.left), keys.column(space, link.right)
            found.append((space, Edge(link.left, link.right, one, other, skips_null=True)))
            continue
        sides = [(slots[name], side) for name, side in next(equalities)]
        one, other = (of_expression(side, slot, keys.own(slot.index)) for slot, side in sides)
        left, right = (slot.index for slot, _ in sides)
        found.append((None, Edge(left, right, one, other, link.skips_null)))
    return found


def _conditions(join: Join) -> tuple[list[tuple[int, Code]], dict[frozenset[int], list[Code]]]:
    """Return the conditions that are no equalities of two slots: those on one slot, and those on two."""
    index = {slot.name: slot.index for slot in join.slots}
    alone: list[tuple[int, Code]] = []
    pairs: dict[frozenset[int], list[Code]] = {}
    for number, condition in enumerate(join.pattern.conditions):
        if equality_of(condition, join.pattern.lists) is not None:
            continue
        slots = {name: index[name] for name in sorted(slots_of(condition), key=index.__getitem__)}
        if not slots:
            raise NotColumnar("a condition is on no slot")
        code = Code(f"condition_{number}", condition, slots)
        if len(slots) == 1:
            alone.append((next(iter(slots.values())), code))
        else:
            pairs.setdefault(frozenset(slots.values()), []).append(code)
    return alone, pairs
