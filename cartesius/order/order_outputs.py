"""The order that a correlation gives: the type of its output, from the types of its inputs.

Where all events come in one order, so do the results. Where events of different keys never meet, and the key is a field
of the result, those of one key do. Otherwise it is determined which results there are, and not in which order; and
between results that may be taken back not even that, but what stands when the clock moves.

Source: SOURCES E1 (consistency: a transduction is a function of traces) and E2 (who keeps the key keeps its order).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.expressions.expressions import Expression, Field, Fields, KeyOf, Part
from cartesius.language.families import alone
from cartesius.language.orders import ROW, Order
from cartesius.order.order_edges import is_ordered, order_of
from cartesius.order.order_needs import Need, feature_of, is_gate, key_feature, retracts, space_feature
from cartesius.plan import facts
from cartesius.plan.nodes import May
from cartesius.plan.reliance import Give

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.order.order_needs import Feature

Keys: TypeAlias = "Mapping[Slot, tuple[Feature, ...]]"


def given_order(join: Join) -> Order | None:
    """Return the order of what a correlation gives, all of whose edges hold; None if an input declares nothing."""
    orders = [order_of(slot, join) for slot in join.slots]
    declared = [order for order in orders if order is not None]
    if not declared or len(declared) < len(orders):
        return None
    marked = all(order.marked for order in declared)
    if _are_ordered(join, dict.fromkeys(join.slots, ())):
        return Order((), marked, among=_sequence(join))
    if join.is_table or retracts(join) or any(order.corrected for order in declared):
        return Order((ROW,) if join.is_table else None, marked, corrected=True)
    distinct = _distinct(join)
    for keys in _keys_kept(join):
        names = _carried(join, keys)
        if names is not None and _are_ordered(join, keys):
            return Order(names, marked, distinct, among=_sequence(join))
    return Order(None, marked, distinct)


def _are_ordered(join: Join, keys: Keys) -> bool:
    """Whether all events that agree in ``keys`` come in an order."""
    pairs = [(slot, other) for place, slot in enumerate(join.slots) for other in join.slots[place:]]
    return all(
        is_ordered(join, Need("", None, slot, other, frozenset(zip(keys[slot], keys[other], strict=True))))
        for slot, other in pairs
    )


def _sequence(join: Join) -> Any:
    """Return in what the results are ordered among the events of others: where the inputs are, unless a gate waits."""
    if any(facts.gives(one) is not Give.AS_THEY_COME for one in join.installed):
        return join.pattern
    order = order_of(join.slots[0], join)
    return join.slots[0].reactive if order is None or order.among is None else order.among


def _keys_kept(join: Join) -> Iterator[Keys]:
    """Iterate over keys such that events that differ in them never meet."""
    if any(slot.n is not None for slot in join.slots):
        return
    for place, space in enumerate(join.bindings.spaces):
        is_of_all = len(space) == len(join.slots) and place != join.bindings.window_space
        if is_of_all and not any(_crosses(join, one, place) for one in join.installed):
            yield {slot: (space_feature(slot, space),) for slot in join.slots}
    if len(join.slots) == 1 and not any(_crosses(join, one, None) for one in join.installed):
        order = order_of(join.slots[0], join)
        if order is not None and order.keys:
            yield {join.slots[0]: tuple(feature_of(join.slots[0], key) for key in order.keys)}


def _crosses(join: Join, one: Installed, space: int | None) -> bool:
    """Whether a restriction weighs events against each other that differ in their key in ``space``."""
    if facts.is_pointwise(one) or not facts.reliance(one):
        return False
    return not one.named or any(space not in one.prefixes[slot.index] for slot in one.named)


def _carried(join: Join, keys: Keys) -> tuple[str, ...] | None:
    """Return the fields of a result that are the keys of its parts; None if it has not all of them."""
    kept = [facts.fields_kept(one) for one in join.installed if is_gate(one)]
    for slot, features in keys.items():
        if _may_miss(join, slot):
            continue  # its fields are null then, in results of any key
        names = tuple(name for feature in features if (name := _name(join, slot, feature)) is not None)
        if len(names) == len(features) and all(fields is None or set(features) <= set(fields) for fields in kept):
            return names
    return None


def _may_miss(join: Join, slot: Slot) -> bool:
    """Whether a result may be without a part of ``slot``: it is absent, optional, or another event came alone."""
    is_optional = any(isinstance(node, May) and slot in node.slots for one in join.installed for node in one.nodes)
    is_alone = any(family is alone for one in join.installed for _, family, _, _ in one.marks)
    return is_optional or (is_alone and len(join.slots) > 1) or slot.name in join.pattern.absent.names


def _name(join: Join, slot: Slot, feature: Feature) -> str | None:
    """Return the field of a result that is that of a slot's event."""
    field = slot.reactive.key if feature == ROW else feature
    match join.pattern.yields:
        case Part(slot=of) if of == slot.name and isinstance(field, str):
            return field
        case Fields(names=names, items=items):
            for name, item in zip(names, items, strict=True):
                if isinstance(name, str) and _is_feature(join, slot, feature, item):
                    return name
    return None


def _is_feature(join: Join, slot: Slot, feature: Feature, item: Expression) -> bool:
    match item:
        case Field(target=Part(slot=of), name=name) if of == slot.name:
            return feature_of(slot, name) == feature
        case KeyOf(slot=of) if of == slot.name:
            return key_feature(join, slot) == feature
    return False


def _distinct(join: Join) -> tuple[str, ...] | None:
    """Return the fields of results, no two of which agree in them and have one time."""
    if len(join.slots) > 1 or join.slots[0].n is not None or join.pattern.is_generator:
        return None
    order = order_of(join.slots[0], join)
    crossing = any(facts.opens_windows(one) or _crosses(join, one, None) for one in join.installed)
    if order is None or order.distinct is None or crossing:
        return None
    return _carried(join, {join.slots[0]: tuple(feature_of(join.slots[0], name) for name in order.distinct)})
