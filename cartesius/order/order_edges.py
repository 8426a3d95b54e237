"""The edges of a program: whether the order that an input declares implies the one that a correlation relies on.

Each edge has one condition, *the producer's order implies the consumer's*: every two events whose order decides about
results depend on each other in the type of the inputs. Where an input declares nothing, nothing is known, and nothing
is reported. What a correlation gives has a type again, so a program is checked edge by edge, as it is written.

Invariant: of a program without a report, inputs that are equal by their types give outputs that are equal by theirs.

Source: SOURCES E1 and E7 (one verification condition an edge).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.errors import OrderMismatch
from cartesius.language.orders import Order
from cartesius.language.patterns import may_come_again
from cartesius.order.order_needs import (
    Need,
    acts_on_clock,
    feature_of,
    is_gate,
    needs_of,
    retracts,
    space_feature,
)
from cartesius.plan import facts
from cartesius.plan.reliance import Give

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern
    from cartesius.order.order_needs import Agreement, Feature

_AS_IT_COMES = Order((), among="arrival")


@attrs.frozen
class Edge:
    """One condition on the inputs of a correlation."""

    slots: tuple[Slot, ...]
    holds: bool | None  # None: an input declares nothing
    condition: str
    ways_out: tuple[str, ...] = ()


def edges_of(join: Join) -> list[Edge]:
    """Return the conditions on the declared inputs of a correlation, in the order in which they are reported."""
    if all(slot.reactive.order is None for slot in join.slots):
        return []
    edges = [_edge(join, need) for need in needs_of(join)]
    for slot in join.slots:
        edges += _edges_of_corrections(join, slot)
        edges += _edges_of_markers(join, slot)
        if not any(slot in edge.slots for edge in edges):
            order = slot.reactive.order
            edges.append(Edge((slot,), None if order is None else True, f"{_said(slot)}, and no order is relied on"))
    return edges


def relied_on_by(join: Join) -> list[str]:
    """Say by what the order of arrival decides about results, whatever is declared; nothing: it does not."""
    found = [*dict.fromkeys(need.by for need in needs_of(join))]
    for slot in join.slots:
        if not slot.is_table and may_come_again(slot.reactive) and (who := _who_keeps(join, slot)) is not None:
            found.append(f"what came of results of {slot.source} that are taken back, as {who}")
    return found


def check_order(join: Join) -> None:
    """Raise `OrderMismatch` if an edge's condition does not hold."""
    wrong = [edge for edge in edges_of(join) if edge.holds is False]
    if not wrong:
        return
    first = wrong[0]
    rest = "".join(f"; besides, {edge.condition}" for edge in wrong[1:])
    ways = "".join(f"\n- {way}" for way in first.ways_out)
    message = f"{join.name}: expected inputs in the order relied on but {first.condition}{rest}; either{ways}"
    raise OrderMismatch(message)


def check_one_order(call: str, patterns: Iterable[Pattern], by: str) -> None:
    """Raise `OrderMismatch` unless all declared inputs of alternatives come in one order: what is first consumes."""
    inputs = {
        source: source.order
        for pattern in patterns
        for slot, source in pattern.slots.items()
        if source.order is not None and not _accepts(pattern, slot)
    }
    for source, order in inputs.items():
        for other, its in inputs.items():
            if order.keys != () or its.keys != () or (order.among or source) != (its.among or other):
                message = (
                    f"{call}: expected inputs in one order, as {by!r} consumes what comes first, but {source.name} is"
                    f" {order} and {other.name} is {its}; either"
                    "\n- order them: ordered(among=the name of their log)"
                    "\n- version it, or let the alternatives consume nothing"
                    f"\n- accept it: by_arrival({source.name!r}) in each pattern; results then differ from run to run"
                )
                raise OrderMismatch(message)


def _accepts(pattern: Pattern, slot: str) -> bool:
    source = pattern.slots[slot]
    taken = (named for one in pattern.restrictions for named in facts.order_taken(one))
    return any(named in (slot, source, source.name) for named in taken)


def order_of(slot: Slot, join: Join) -> Order | None:
    """Return the declared order of a slot, or that of arrival where it is accepted."""
    return _AS_IT_COMES if is_accepted(join, slot) else slot.reactive.order


def is_accepted(join: Join, slot: Slot) -> bool:
    """Whether the order in which events of a slot arrive is taken for theirs."""
    return any(slot in facts.order_taken(one) for one in join.installed)


def is_ordered(join: Join, need: Need) -> bool | None:
    """Whether the order of the inputs implies what is needed; None if one of them declares nothing."""
    left, right = need.left, need.right
    mine, other = order_of(left, join), order_of(right, join)
    if mine is None or other is None:
        return None
    if any(_gives(join, gate, need, mine, other) for gate in _gates_before(join, need)):
        return True
    if (mine.corrected or other.corrected) and need.one is not None:
        return False  # the last change of a row is determined, and not those before
    if left is right:
        return _implies(left, mine.keys, need.agreeing)
    return _are_in_one(left, right, mine, other) and _implies_both(left, right, mine, other, need.agreeing)


def _gates_before(join: Join, need: Need) -> Iterable[Installed]:
    """Return the gates that events have passed when they come to who needs the order: those to the right of a gate."""
    passed = [gate for gate in join.installed if facts.gives(gate) is not Give.AS_THEY_COME]
    if need.at_door:
        return []
    if need.one is not None and is_gate(need.one):
        return [gate for gate in passed if gate.number > need.one.number]
    return passed


def _gives(join: Join, gate: Installed, need: Need, mine: Order, other: Order) -> bool:
    """Whether a gate puts the events in an order that is determined."""
    left, right = need.left, need.right
    named = gate.named or tuple(join.slots)
    spaces = gate.prefixes[left.index]
    if left not in named or right not in named or spaces != gate.prefixes[right.index]:
        return False
    own = _features(join, spaces, left, right)
    if own is None or not own <= need.agreeing:
        return False
    match facts.gives(gate):
        case Give.BY_TIME if mine.marked and other.marked and not (mine.corrected or other.corrected):
            is_by_slot = left is not right and not (left.notes_door and left.reactive is right.reactive)
            return is_by_slot or _implies(left, mine.distinct, need.agreeing)
        case Give.IN_STEP:
            return left is not right
        case Give.OF_ITS_OWN:
            return left is right and mine.marked
    return False


def _features(join: Join, spaces: tuple[int, ...], left: Slot, right: Slot) -> Agreement | None:
    """Return in what two events of one copy of a gate agree; None if a copy is of a window."""
    if join.bindings.window_space in spaces:
        return None
    found = (join.bindings.spaces[space] for space in spaces)
    return frozenset((space_feature(left, one), space_feature(right, one)) for one in found)


def _implies(slot: Slot, keys: Iterable[Feature] | None, agreeing: Agreement) -> bool:
    """Whether events that agree as needed agree in ``keys``."""
    return keys is not None and {feature_of(slot, key) for key in keys} <= {one for one, _ in agreeing}


def _are_in_one(left: Slot, right: Slot, mine: Order, other: Order) -> bool:
    """Whether the events of two slots are ordered among each other."""
    return (mine.among or left.reactive) == (other.among or right.reactive)


def _implies_both(left: Slot, right: Slot, mine: Order, other: Order, agreeing: Agreement) -> bool:
    if mine.keys is None or other.keys is None or len(mine.keys) != len(other.keys):
        return False
    pairs = zip(mine.keys, other.keys, strict=True)
    return {(feature_of(left, one), feature_of(right, two)) for one, two in pairs} <= agreeing


# -- conditions, in words ----------------------------------------------------------------------------------------------


def _said(*slots: Slot) -> str:
    """Say what slots declare."""
    said = [f"{slot.name} is {slot.reactive.order or 'of no declared order'}" for slot in dict.fromkeys(slots)]
    return " and ".join(said)


def _edge(join: Join, need: Need) -> Edge:
    slots = tuple(dict.fromkeys((need.left, need.right)))
    holds = is_ordered(join, need)
    relied = f"{need}, relied on by {need.by}"
    if holds is None:
        return Edge(slots, None, f"{_said(*slots)}; not checked: {relied}")
    taken = [slot.name for slot in slots if is_accepted(join, slot)]
    how = f", whose order of arrival is accepted ({', '.join(taken)})" if taken else ""
    gates = [repr(gate.restriction) for gate in _gates_before(join, need)]
    through = f" through {' | '.join(gates)}" if gates else ""
    implies = "implied is" if holds else "not implied is"
    return Edge(slots, holds, f"{_said(*slots)}{how}{through}; {implies} {relied}", () if holds else _ways(need, slots))


def _ways(need: Need, slots: tuple[Slot, ...]) -> tuple[str, ...]:
    names = ", ".join(repr(slot.name) for slot in slots)
    if len(slots) == 1:
        keys = sorted(one for one, _ in need.agreeing if isinstance(one, str))
        distinct = f"({', '.join(map(repr, keys))}{',' * (len(keys) == 1)})"
        order = (
            "order it: in_event_time(lateness), right of what relies on it, over an input that has markers and"
            f" distinct times: unordered(distinct={distinct})"
        )
    else:
        order = (
            "order them: in_event_time(lateness), or, if they come from one log, declare it: ordered(…, among=its name)"
        )
    return (
        order,
        f"version it: retracting() | versioned({slots[0].name!r}, retention=…), which corrects what comes late",
        f"accept it: by_arrival({names}); results then differ from run to run",
    )


def _who_keeps(join: Join, slot: Slot) -> str | None:
    """Say why results stay when what a slot gave for them is taken back; None: they are taken back with it."""
    concerned = [one for one in join.installed if slot in (one.named or join.slots)]
    for one in concerned:
        if is_gate(one) and (one.restriction._states or facts.gives(one) is not Give.AS_THEY_COME):
            return f"{one.restriction!r} does not forget it"
    if not retracts(join):
        return "nothing here takes results back"
    return next(
        (f"{one.restriction!r} has let it go by then" for one in concerned if facts.entries_kept(one) == 0), None
    )


def _edges_of_corrections(join: Join, slot: Slot) -> list[Edge]:
    """Who uses what may be taken back must take back what comes of it."""
    order = order_of(slot, join)
    if order is None or not order.corrected:
        return []
    who = _who_keeps(join, slot)
    if who is None:
        return [Edge((slot,), True, f"{_said(slot)}, and results are taken back with what they were made of")]
    ways = (
        f"order it: give what {slot.source} is made of an order",
        "version it, or take back what came of it: retracting(), with no gate that keeps a state, nor momentarily",
        f"accept it: by_arrival({slot.name!r}); results then differ from run to run",
    )
    return [Edge((slot,), False, f"{_said(slot)}, so what it gives may be taken back, and {who}", ways)]


def _edges_of_markers(join: Join, slot: Slot) -> list[Edge]:
    """Who acts when the clock moves relies on what has come by then."""
    order = order_of(slot, join)
    acting = [one for one in join.installed if acts_on_clock(one) and slot in (one.named or join.slots)]
    if order is None or not acting:
        return []
    by = repr(acting[0].restriction)
    if order.marked:
        return [Edge((slot,), True, f"{_said(slot)}, with markers, relied on by {by}")]
    ways = (
        f"order it: let the clock be moved behind the events of {slot.source}, and declare marked=True",
        f"version it, or correlate without {by}, which acts on the clock",
        f"accept it: by_arrival({slot.name!r}); results then differ from run to run",
    )
    return [Edge((slot,), False, f"{_said(slot)}, and {by} acts on the clock", ways)]
