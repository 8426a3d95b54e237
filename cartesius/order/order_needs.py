"""Which order a correlation relies on: for each two slots, of which of their events, and because of what.

That follows from what its restrictions say of themselves (`Reliance`), the keys that they are under, and whether what
is displaced is taken back: then the results that stand in the end do not depend on what came between.

Invariant: a need names too many pairs of events rather than too few.

Source: SOURCES E1 and E7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.data.records import path_of
from cartesius.expressions.expressions import Expression, Field, KeyOf, Part
from cartesius.language.families import alone, arrive, ended, enter, push, relation, tick, totals
from cartesius.language.orders import ROW
from cartesius.language.reactives import UNDECLARED, Undeclared
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts
from cartesius.plan.nodes import Relation, Sessions
from cartesius.plan.reliance import Reliance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive

Feature: TypeAlias = "str | Callable[[Any], Any]"  # a field's name, `ROW`, or a function of the value
Agreement: TypeAlias = frozenset[tuple[Feature, Feature]]


@attrs.frozen
class Need:
    """That the results depend on the order of an event of ``left`` and one of ``right`` that agree."""

    by: str  # what relies on it
    one: Installed | None  # the restriction, if it is one
    left: Slot
    right: Slot
    agreeing: Agreement = frozenset()
    at_door: bool = False  # before any gate

    def __str__(self) -> str:
        """Say it in words."""
        if self.left is self.right:
            keys = " and ".join(sorted(named(one) for one, _ in self.agreeing))
            return f"an order of {self.left.name}{' per ' * bool(keys)}{keys}"
        pairs = sorted(f"{_of(self.left, one)} == {_of(self.right, other)}" for one, other in self.agreeing)
        return f"an order among {self.left.name} and {self.right.name}{' where ' * bool(pairs)}{' and '.join(pairs)}"


def named(feature: Feature) -> str:
    """Return how a feature is shown."""
    return feature if isinstance(feature, str) else feature.__qualname__


def _of(slot: Slot, feature: Feature) -> str:
    return f"key_{slot.name}" if feature == ROW else f"{slot.name}.{named(feature)}"


def needs_of(join: Join) -> list[Need]:
    """Return what order the results rely on."""
    found: list[Need] = []
    for one in join.installed:
        if facts.makes_table(one):
            found += _needs_of_table(join, one)
        else:
            found += _needs_of_restriction(join, one)
    for slot in join.slots:
        if slot.is_table and not slot.keeps_versions:
            found += _needs_of_rows(join, slot)
        if slot.reactive.table and any(slot.index in space for space in _keyed_spaces(join)):
            by, own = f"the keys of {slot.name}, as a deletion goes where its row is", row_feature(join, slot)
            found.append(Need(by, None, slot, slot, frozenset({(own, own)}), at_door=True))
        if slot.n is not None:
            found.append(Need(f"the lists of {slot.name}, which are in order of arrival", None, slot, slot))
    return list(dict.fromkeys(map(_turned, found)))


def _turned(need: Need) -> Need:
    """Return a need with its slots in their order."""
    if need.left.index <= need.right.index:
        return need
    turned = frozenset((other, one) for one, other in need.agreeing)
    return attrs.evolve(need, left=need.right, right=need.left, agreeing=turned)


def _needs_of_restriction(join: Join, one: Installed) -> Iterator[Need]:
    relies = _reliance(join, one)
    concerned = one.named or tuple(join.slots)
    at_door = any(family is relation for _, family, _, _ in one.marks)  # windows are reported as events come to them
    for slot in concerned:
        if Reliance.WITHIN in relies:
            yield Need(repr(one.restriction), one, slot, slot, _under(join, one, slot, slot), at_door)
        for other in join.slots if Reliance.AMONG in relies else ():
            if other is not slot:
                agreeing = _under(join, one, slot, other) | _linked(join, one, slot, other)
                yield Need(repr(one.restriction), one, slot, other, agreeing, at_door)
    if any(isinstance(node, Sessions) for node in one.nodes):
        for slot in concerned:
            if _comes_late(slot.reactive):  # it is taken only by a session that goes on: by what has come before it
                yield Need(repr(one.restriction), one, slot, slot, _under(join, one, slot, slot), at_door=True)
    rest = [slot for slot in join.slots if slot not in concerned]
    for place, slot in enumerate(rest if Reliance.BESIDE in relies else ()):
        for other in rest[place:]:
            yield Need(repr(one.restriction), one, slot, other)


def _comes_late(reactive: Reactive) -> bool:
    """Whether events may come behind the clock, as it decides when they do: not those that are pushed."""
    pattern = reactive.pattern
    if pattern is None:
        return False
    families = {family for one in pattern.restrictions for _, family, _, _ in slot_families(one)}
    waits = not families.isdisjoint({tick, enter, ended}) or bool(pattern.absent.names)
    return waits or any(map(_comes_late, pattern.slots.values()))


def _reliance(join: Join, one: Installed) -> Reliance:
    """Return what a restriction relies on in its correlation."""
    families = {family for _, family, _, _ in one.marks}
    if totals in families or (facts.versions(one) and not retracts(join)):
        return Reliance.ALL  # each of the totals is a result; a result that holds no longer stands
    if relation in families:
        # Of what comes in batches it is the order of arrival that decides which those are.
        openers = [one for one in join.installed if one.opens_windows and not facts.comes_in_batches(one)]
        shows_all = all(node.kind == "rstream" for node in one.nodes if isinstance(node, Relation))
        # Of two equal results, of which the others say one, the order of arrival decides which it is, and its times.
        return Reliance.NONE if shows_all and any(facts.held(opener) for opener in openers) else Reliance.ALL
    if families == {push} and any(family is alone for other in join.installed for _, family, _, _ in other.marks):
        return facts.reliance(one) & Reliance.WITHIN  # parts of several slots never meet
    if facts.shares(one) and retracts(join):  # its memory follows from the one slot, and results from the memories
        return facts.reliance(one) & Reliance.WITHIN
    return facts.reliance(one)


def _needs_of_rows(join: Join, slot: Slot) -> Iterator[Need]:
    by, own = f"the rows of {slot.name}, which replace each other", row_feature(join, slot)
    yield Need(by, None, slot, slot, frozenset({(own, own)}))
    for other in join.slots if not retracts(join) else ():
        if other is not slot:
            yield Need(by, None, slot, other, frozenset(pair for pair in _equal(join, slot, other) if pair[0] == own))


def _needs_of_table(join: Join, one: Installed) -> Iterator[Need]:
    """Of several rows of one key the first in memory is shown; without `retracting`, the latest."""
    if any(family is totals for _, family, _, _ in one.marks):
        return  # totals are over groups
    key = facts.table_key(one)
    keyed = join.bindings.keyed_slots(key) if isinstance(key, str | tuple) else []
    if retracts(join):
        for slot in join.slots:
            if slot not in _one_a_key(join, keyed):
                yield Need(repr(one.restriction), one, slot, slot)
        return
    for place, slot in enumerate(join.slots):
        for other in join.slots[place:]:
            agreeing = {key for own in keyed[:1] if (key := _key_of_both(join, own, slot, other)) is not None}
            yield Need(repr(one.restriction), one, slot, other, frozenset(agreeing))


def _key_of_both(join: Join, own: Slot, slot: Slot, other: Slot) -> tuple[Feature, Feature] | None:
    """Return in what events of two slots agree that make a row of one key, that of the slot ``own``."""
    if own.is_table:
        key = row_feature(join, own)
        return (key, key) if slot is own and other is own else None
    first = next((space for space in _keyed_spaces(join) if own.index in space), {})
    if slot.index in first and other.index in first:
        return space_feature(slot, first), space_feature(other, first)
    return None


def _one_a_key(join: Join, keyed: list[Slot]) -> list[Slot]:
    """Return the slots of which one event at most makes the row of a key: found by the key, step by step."""
    found = [slot for slot in keyed if _is_single(join, slot)]
    for slot in list(join.slots) * len(join.slots):
        own = own_features(join, slot)
        reached = any(pair[1] in own for other in found for pair in _equal(join, other, slot))
        if slot not in found and reached and _is_single(join, slot):
            found.append(slot)
    return found


def _is_single(join: Join, slot: Slot) -> bool:
    """Whether memory holds one event a key of the slot."""
    counts = [facts.entries_kept(one) for one in join.installed if slot in one.named]
    return slot.is_table or slot.keeps_versions or 1 in counts


def retracts(join: Join) -> bool:
    """Whether results are taken back with what they were made of."""
    return any(facts.takes_back(one) for one in join.installed)


def is_gate(one: Installed) -> bool:
    """Whether a restriction sees what arrives, before it is stored."""
    return any(family is arrive for _, family, _, _ in one.marks)


def acts_on_clock(one: Installed) -> bool:
    """Whether what a restriction does depends on where the clock is."""
    ticks = any(family is tick for _, family, _, _ in one.marks)
    return ticks or one.opens_windows or bool(one.absent or facts.versions(one))


def space_feature(slot: Slot, space: Mapping[int, Callable[[Any], Any]]) -> Feature:
    """Return what the key of a slot is in a key space."""
    return feature_of(slot, _name(space[slot.index]))


def row_feature(join: Join, slot: Slot) -> Feature:
    """Return what the rows of a table are told apart by."""
    if not slot.reactive.table:
        for one in join.installed:
            key = facts.row_key(one, UNDECLARED)  # a life has one of its own
            if slot in facts.row_slots(one) and not isinstance(key, Undeclared):
                return key  # type: ignore[no-any-return]  # a name or a function
    return ROW


def own_features(join: Join, slot: Slot) -> set[Feature]:
    """Return what an event of a slot is told apart by: the key of its row, and those of `key_by`."""
    keys = {space_feature(slot, space) for space in _keyed_spaces(join) if slot.index in space}
    return keys | ({row_feature(join, slot)} if slot.is_table else set())


def feature_of(slot: Slot, name: Feature) -> Feature:
    """Return a feature by its one name: the field that is a table's key is the key of its row."""
    return ROW if slot.reactive.table and name == slot.reactive.key else name


def _under(join: Join, one: Installed, slot: Slot, other: Slot) -> Agreement:
    """Return in what two events agree that meet in one copy of a restriction, or under one of its keys."""
    if not one.named:
        return frozenset()
    common = set(one.prefixes[slot.index]) & set(one.prefixes[other.index]) - {join.bindings.window_space}
    spaces = [join.bindings.spaces[space] for space in sorted(common)]
    return frozenset((space_feature(slot, space), space_feature(other, space)) for space in spaces)


def _linked(join: Join, one: Installed, slot: Slot, other: Slot) -> Agreement:
    """Return in what an event of ``slot`` agrees with those of ``other`` for which it matters that it is there."""
    if any(family is not push for _, family, _, _ in one.marks):
        return frozenset()  # a gate, or a selector, weighs also what does not match
    own = {pair[0] for pair in _under(join, one, slot, slot)}  # it displaces only what agrees with it in these
    return frozenset(pair for pair in _equal(join, slot, other) if facts.is_pointwise(one) or pair[0] in own)


def _equal(join: Join, slot: Slot, other: Slot) -> Agreement:
    """Return in what two events must agree to be parts of one result."""
    pairs = {
        (space_feature(slot, space), space_feature(other, space))
        for space in _keyed_spaces(join)
        if slot.index in space and other.index in space
    }
    for sides in join.pattern.equalities:
        ends = dict(sides)
        if set(ends) == {slot.name, other.name}:
            one, two = _side(join, slot, ends[slot.name]), _side(join, other, ends[other.name])
            if one is not None and two is not None:
                pairs.add((one, two))
    return frozenset(pairs)


def _keyed_spaces(join: Join) -> list[dict[int, Callable[[Any], Any]]]:
    return [space for place, space in enumerate(join.bindings.spaces) if place != join.bindings.window_space]


def _side(join: Join, slot: Slot, side: Expression) -> Feature | None:
    """Return the feature of a slot's event that one side of an equality is, if it is one."""
    match side:
        case Field(target=Part(), name=name):
            return feature_of(slot, name)
        case KeyOf():
            return key_feature(join, slot)
    return None


def key_feature(join: Join, slot: Slot) -> Feature:
    """Return what ``key_x`` is of a slot: the key of its row, or that of the first `key_by`."""
    keys = [space_feature(slot, space) for space in _keyed_spaces(join) if slot.index in space]
    return row_feature(join, slot) if slot.is_table or not keys else keys[0]


def _name(get: Callable[[Any], Any]) -> Feature:
    """Return the name of the field that a key is, or the function that makes it."""
    path = path_of(get)
    return get if path is None else ".".join(path)
