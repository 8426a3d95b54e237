"""Shapes of products of streams for the loop over steps: what any stack of their restrictions says, as data.

This module is over 300 lines because what has a shape, and why anything else has none, are said in one place.

Source: SEMANTICS 1.2 to 1.7, 1.13, 1.14, 2.6 and 3.8.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

import attrs

from cartesius.columns.bodies.computed import Keys, linking, of_function
from cartesius.columns.bodies.scalars import Scalars
from cartesius.columns.loops.indexing import bundles_of
from cartesius.columns.loops.stepping_plans import Plan, Rule
from cartesius.columns.streams.band_pairs import FAR
from cartesius.columns.streams.expiring import Expiring
from cartesius.columns.streams.gate_columns import Gate
from cartesius.columns.streams.shapes import not_plain
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.expressions import slots_of
from cartesius.plan import facts
from cartesius.plan.nodes import (
    BANDS,
    OF_JOINS,
    OF_PRODUCTS,
    Let,
    Lockstep,
    May,
    Newest,
    Node,
    Now,
    Oldest,
    Regular,
    Until,
    Uses,
)
from cartesius.results.outputs import Events, Rows
from cartesius.rows.partial_rows import PartialRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cartesius.columns.bodies.computed import Column
    from cartesius.columns.loops.indexing import Bundle
    from cartesius.columns.stages.spans import Spans
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.facts import Bound

_KNOWN: Final = OF_PRODUCTS | BANDS | OF_JOINS
_DIVIDED: Final = (Newest, Oldest, Lockstep)
TWO: Final = 2
MOST: Final = 7
"""How many slots a loop is written for; its nested loops, and the kinds of a gate's releases, are as many."""


@attrs.define(eq=False)
class Keeping:
    """What restrictions do to one slot.

    Args:
        rules: What stays, in the order in which what comes is seen.
        uses: How often each may be used; None: without limit.
        leaves: Whether each leaves with its batch.
        before: What an event must satisfy before a gate, or anything else, sees it.
        behind: What it must satisfy once it is released.
    """

    rules: list[Rule] = attrs.Factory(list)
    uses: int | None = None
    leaves: bool = False
    before: list[Column] = attrs.Factory(list)
    behind: list[Column] = attrs.Factory(list)


@attrs.frozen(eq=False)
class Shape:
    """A product of streams.

    Args:
        keys: Its key spaces.
        slots: What is done to each slot.
        bundles: Its equalities.
        gates: What aligns, with its restriction.
        expiring: What lets rows leave by the clock.
        plan: The plan of its loop.
        scalars: The conditions as text; None: the body is asked.
        bound: What the names of constants mean.
    """

    keys: Keys
    slots: tuple[Keeping, ...]
    bundles: tuple[Bundle, ...]
    gates: tuple[tuple[Installed, Gate], ...]
    expiring: Expiring
    plan: Plan
    scalars: Scalars | None
    bound: dict[str, object]


def read(join: Join, spans: Spans | None = None) -> Shape | str | None:
    """Return the shape of a product of streams, or why it has none; None: a correlation is none of these meanings.

    Args:
        join: The product.
        spans: Its windows; what comes has been delivered to them.
    """
    known = _KNOWN if spans is None else _KNOWN | {Regular}
    if not _kinds_of_nodes(join) <= known or any(slot.is_table for slot in join.slots):
        return None
    if not isinstance(join.batch.output, Events | Rows):
        return None
    if reason := _objection(join):
        return reason
    try:
        return _read(join, spans)
    except NotColumnar as why:
        return str(why)


def common_to_windows(join: Join) -> list[Installed]:
    """Return the restrictions that keep the same for all windows."""
    space = join.bindings.window_space
    divided = [one for one in join.installed if type(one.node) in _DIVIDED]
    return [one for one in divided if not all(space in one.prefixes[slot.index] for slot in one.named)]


def _kinds_of_nodes(join: Join) -> set[type[Node]]:
    return {type(one.node) for one in join.installed}


def _objection(join: Join) -> str:
    if reason := _objection_to_output(join) or not_plain(join):
        return reason
    if join.pattern.absent.names or join.bindings.moment is not None or join.bindings.shown is not None:
        return "its candidates are not all combinations"
    if len(join.slots) > MOST:
        return "it has too many slots"
    if join.batch.partial is not None:
        return _objection_to_missing(join)
    return ""


def _objection_to_output(join: Join) -> str:
    if isinstance(join.batch.output, Events):
        return ""
    tables = [one for one in join.installed if facts.makes_table(one)]
    if len(tables) > 1:
        return "two restrictions make a table of it"
    if not callable(facts.table_key(tables[0])):
        return "the key of its table is that of a slot"
    if join.batch.is_pure and Lockstep in _kinds_of_nodes(join):
        return "rows are taken back at the time of what is released together"
    return ""


def _objection_to_missing(join: Join) -> str:
    if not join.pattern.is_where_traced:
        return "a body is asked which parts are missing"
    if not join.batch.is_pure and (reason := _objection_to_waiting(join)):
        return reason
    if len(join.slots) != TWO:
        return "parts of more than two slots may be missing"
    if Now in _kinds_of_nodes(join):
        return "a slot keeps nothing, and parts may be missing"
    if any(not slots_of(condition) for condition in join.pattern.conditions):
        return "a condition is on no slot"
    rows = join.batch.partial.rows if join.batch.partial is not None else None
    if isinstance(rows, PartialRows) and len(rows.trees) > 1 and any(m in BANDS for m in _kinds_of_nodes(join)):
        return "parts may be missing of slots that no condition connects, and a bound in time is on one of them"
    return ""


def _objection_to_waiting(join: Join) -> str:
    """Say why rows without a partner do not just come as their events leave; "" if they do."""
    bands = [one for one in join.installed if isinstance(one.node, Until)]
    if len(bands) != 1 or {*bands[0].named} != {*join.slots} or not bands[0].is_settled:
        return "parts are missing for certain only after a time that several restrictions say, or none"
    if _kinds_of_nodes(join) & {Newest, Oldest, Lockstep} or not isinstance(join.batch.output, Events):
        return "parts are missing for certain only after some time, and something says what stays, or they are rows"
    if join.bindings.window_space is not None:
        return "parts are missing for certain only after some time, in windows"
    return ""


def _read(join: Join, spans: Spans | None) -> Shape | str:
    keys = Keys(join)
    bundles = bundles_of(keys)
    slots = tuple([Keeping() for _ in join.slots])
    gates: list[tuple[Installed, Gate]] = []
    missing: set[int] = set()
    for one in reversed(join.installed):  # the right-most sees an event first
        node = one.node
        named = [slot.index for slot in one.named]
        if isinstance(node, Newest | Oldest):
            for slot in named:
                atoms = _atoms(bundles, slot, one.prefixes[slot])
                slots[slot].rules.append(Rule(isinstance(node, Newest), node.n, atoms))
        elif isinstance(node, Uses):
            for slot in named:
                before = slots[slot].uses
                slots[slot].uses = node.n if before is None else min(before, node.n)
        elif isinstance(node, Now):
            for slot in named:
                slots[slot].leaves = True
        elif isinstance(node, Lockstep):
            aligned = tuple([slot.index for slot in node.slots])
            gates.append((one, Gate(aligned, keys, one.prefixes[aligned[0]], node.limit)))
        elif isinstance(node, Let):
            filtered = node.slot
            mine = slots[filtered.index]
            is_behind = any(filtered.index in gate.slots for _, gate in gates)
            (mine.behind if is_behind else mine.before).append(of_function(node.predicate, filtered))
        elif isinstance(node, May):
            missing |= set(named)
    bands = [one for one in join.installed if isinstance(one.node, Until)]
    if any(one.floor_slots for one in bands):
        return "what leaves waits for what gates hold"
    expiring = Expiring(join, bands, spans, frees_in_turn=spans is not None and bool(common_to_windows(join)))
    bounds = [bound for one in expiring.all for bound in facts.bounds_on_times(one, len(join.slots))]
    if any(abs(bound.most) > FAR for bound in bounds):
        return "its durations are too long"
    may_miss = tuple([slot.index in missing for slot in join.slots])
    plain = Plan(
        rules=tuple([tuple(slot.rules) for slot in slots]),
        uses=tuple([slot.uses for slot in slots]),
        leaves=tuple([slot.leaves for slot in slots]),
        expires=tuple([expiring.concerns(slot.index) for slot in join.slots]),
        bundles=tuple([bundle.slots for bundle in bundles]),
        kinds=tuple(_kinds(slots, [gate.slots for _, gate in gates])),
        takes_back=join.batch.is_pure,
        is_oldest_first=join.batch.rank.is_oldest_first,
        condition="",
        may_miss=may_miss,
        is_final=any(may_miss) and not join.batch.is_pure,
        alone=("",) * len(slots),
    )
    near, constants = _nearness(bounds)
    scalars, condition, alone = _conditions(join, keys, is_partial=any(may_miss))
    together = " and ".join([text for text in (near, condition) if text])
    plan = attrs.evolve(plain, condition=together, alone=alone)
    bound = {**constants, **(scalars.bound if scalars is not None else {})}
    return Shape(keys, slots, bundles, tuple(gates), expiring, plan, scalars, bound)


def _atoms(bundles: Sequence[Bundle], slot: int, spaces: Iterable[int]) -> tuple[str, ...]:
    """Return the names of the codes under which a restriction counts the rows of a slot."""
    found = []
    for space in spaces:
        alike = next((n for n, one in enumerate(bundles) if slot in one.slots and one.space == space), None)
        found.append(f"s{space}" if alike is None else f"b{alike}")
    return tuple(sorted(found))


def _kinds(slots: Sequence[Keeping], gates: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the slots to which something may come in one step, kind by kind."""
    kinds: list[tuple[int, ...]] = [
        (slot,) for slot in range(len(slots)) if not any(slot in aligned for aligned in gates)
    ]
    for aligned in gates:
        dropped = [slot for slot in aligned if slots[slot].behind]
        for count in range(len(dropped) + 1):
            for some in combinations(dropped, count):
                if kind := tuple(sorted(set(aligned) - set(some))):
                    kinds.append(kind)
    return kinds


def _nearness(bounds: Sequence[Bound]) -> tuple[str, dict[str, int]]:
    """Return what bands say of a candidate, as text, and what the names of its constants mean."""
    texts, constants = [], {}
    for number, bound in enumerate(bounds):
        constants[f"w{number}"] = int(bound.most)
        since = f"{bound.side[0]}{bound.since}[{{{bound.since}}}]"
        texts.append(f"e{bound.of}[{{{bound.of}}}] - {since} <= w{number}")
    return " and ".join(dict.fromkeys(texts)), constants


def _conditions(join: Join, keys: Keys, *, is_partial: bool) -> tuple[Scalars | None, str, tuple[str, ...]]:
    """Return the conditions as text: what computes their columns, what is on several slots, and what on each alone."""
    pattern, none = join.pattern, ("",) * len(join.slots)
    asked = f"ask({', '.join(f'{{{slot.index}}}' for slot in join.slots)})"
    if pattern.is_generator or not pattern.is_where_traced:
        return None, asked, none
    known = linking(join)
    rest = [one for one in pattern.conditions if one not in known]
    try:
        scalars = Scalars(join, keys, rest)
    except NotColumnar:
        if is_partial:
            raise
        return None, asked, none
    if not is_partial:
        return scalars, scalars.text(), none
    index = {slot.name: slot.index for slot in join.slots}
    mentioned = [frozenset(index[name] for name in slots_of(condition)) for condition in rest]
    several = [place for place, slots in enumerate(mentioned) if len(slots) > 1]
    alone = [[place for place, slots in enumerate(mentioned) if slots == {slot.index}] for slot in join.slots]
    return scalars, scalars.text(several), tuple(map(scalars.text, alone))
