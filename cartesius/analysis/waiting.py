"""Waiting: whether what a restriction waits for, before it decides, is of its own key, or of all.

A sequence that chooses, an absence, a row without a partner waits until nothing can come any more that would make it
wrong (`correlations/floors.py`): so it waits for what gates hold, in its correlation and in those before it. Right of a
`key_by` it waits for what is held of its key alone, where the keys are known. Elsewhere it waits for what is held of
all keys, of which a bucket has only some.

Source: SEMANTICS 1.13 and 3.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius.analysis.lineage import (
    Column,
    are_totalled,
    clauses,
    extracted,
    key_space,
    optional_slots,
    origin,
    replaced_slots,
    slots_named,
)
from cartesius.expressions.expressions import Expression
from cartesius.language.families import arrive, relation
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts
from cartesius.plan.nodes import InSequence, Never, Opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cartesius.analysis.lineage import Origin
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction


@attrs.frozen
class _BySlot:
    """The variables of a correlation's bodies, each of its slot: two slots of one reactive are told apart."""

    pattern: Pattern = attrs.field(eq=False)

    def part(self, slot: str) -> Origin | None:
        """Return the origin of a slot's payload, as of a column of that name; of what is changed it is not told."""
        is_changed = slot in self.pattern.lists or slot in replaced_slots(self.pattern)
        return None if is_changed else Column(self.pattern.slots[slot], (slot,))

    def key(self, slot: str) -> Origin | None:
        """Return nothing: which key is meant is not told."""
        return None


def carried_spaces(join: Join, slot: Slot, source: Join) -> dict[int, int]:
    """Return by key space that a slot is in the one of the correlation it comes from that has the same keys."""
    window = source.bindings.window_space
    known = {number: by_slot for number, by_slot in enumerate(source.bindings.spaces) if number != window}
    found = {}
    for space in join.bindings.key_spaces(slot):
        extract = join.bindings.spaces[space][slot.index]
        for other, by_slot in known.items():
            if _carries(source.pattern, extract, {source.slots[index].name: key for index, key in by_slot.items()}):
                found[space] = other
                break
    return found


def _carries(pattern: Pattern, extract: Any, keys: Mapping[str, Any]) -> bool:
    """Whether what a function takes out of a result is a key of one of its parts."""
    if are_totalled(pattern) or not isinstance(pattern.yields, Expression):
        return False
    scope = _BySlot(pattern)
    found = extracted(extract, origin(pattern.yields, scope))
    return isinstance(found, Column) and any(found == extracted(key, scope.part(slot)) for slot, key in keys.items())


def held_of_all_keys(
    pattern: Pattern,
    split: Collection[str],
    is_partition: Callable[[Origin | None], bool],
    is_split: Callable[[Reactive], bool],
) -> tuple[Restriction, str] | None:
    """Return a restriction that waits, before it decides, for what is held of several buckets, and what that is.

    Args:
        pattern: A correlation.
        split: Its slots whose events are spread over buckets.
        is_partition: Whether a key is the column of the partition.
        is_split: Whether the events of a reactive are spread over buckets.
    """
    keys: dict[str, list[Any]] = {slot: [] for slot in pattern.slots}  # what takes the column out, by slot
    for restriction in pattern.restrictions:
        origins = key_space(pattern, restriction)
        for slot, extract in _extracts(pattern, restriction).items():
            if is_partition(origins[slot]):
                keys[slot].append(extract)
        for slot in _decisive_slots(pattern, restriction):
            source, gate = pattern.slots[slot], _gate_of(pattern, slot, restriction)
            if slot not in split:
                continue
            if gate is not None and not keys[slot]:
                return restriction, f"{gate!r} holds of {slot}"
            if _may_wait(source) and not any(_is_of_key(source, key, is_split) for key in keys[slot]):
                return restriction, f"{source.name!r} waits for"
    return None


def _extracts(pattern: Pattern, restriction: Restriction) -> dict[str, Any]:
    """Return what takes the key out of the events of each slot, in the key space that a restriction opens."""
    return {slot: key for name, key in facts.key_space(restriction).items() for slot in slots_named(pattern, name)}


def _decisive_slots(pattern: Pattern, restriction: Restriction) -> list[str]:
    """Return the slots of which nothing may come any more when a restriction decides on a result; none for most."""
    absent = [slot for one in restriction.nodes if isinstance(one, Never) for slot in slots_named(pattern, one.slot)]
    if absent:
        return absent
    decides = any(
        isinstance(one, Opaque) or (isinstance(one, InSequence) and one.after_match is not None)
        for one in restriction.nodes
    )
    if facts.floors(restriction) is None or not (decides or _tells_what_expires(pattern)):
        return []
    named = {slot for name in facts.floors(restriction) or pattern.slots for slot in slots_named(pattern, name)}
    return [slot for slot in pattern.slots if slot in named - pattern.absent.names]


def _tells_what_expires(pattern: Pattern) -> bool:
    """Whether something comes when an entry has expired: its row without a partner, or what a relation has lost."""
    families = {family for one in pattern.restrictions for family, _ in clauses(pattern, one)}
    return bool(optional_slots(pattern)) or relation in families


def _gate_of(pattern: Pattern, slot: str, asking: Restriction) -> Restriction | None:
    """Return a gate that may hold events of a slot back, key by key."""
    for one in pattern.restrictions:
        gated = [slots or pattern.slots for family, slots in clauses(pattern, one) if family is arrive]
        if one is not asking and not facts.is_common(one) and _may_hold(one) and any(slot in slots for slots in gated):
            return one
    return None


def _may_hold(restriction: Restriction) -> bool:
    suspends = any(is_ctl for _, _, _, is_ctl in slot_families(restriction))
    return suspends or bool(
        restriction._states and (facts.may_hold(restriction) or facts.held(restriction) is not None)
    )


def _may_wait(reactive: Reactive) -> bool:
    """Whether results may come that are of what has long been there, or has been held."""
    pattern = reactive.pattern
    if pattern is None:
        return False
    holds = any(_may_hold(one) for one in pattern.restrictions) or any(map(_may_wait, pattern.slots.values()))
    looks_back = any(facts.opens_windows(one) or facts.is_relative(one) for one in pattern.restrictions)
    return holds or (not reactive.table and (looks_back or bool(optional_slots(pattern))))


def _is_of_key(reactive: Reactive, extract: Any, split: Callable[[Reactive], bool]) -> bool:
    """Whether all that results wait for, and that may be in another bucket, has the key that is taken out of them.

    Args:
        reactive: What the results come from.
        extract: What takes the key out of a result.
        split: Whether the events of a reactive are spread over buckets.
    """
    pattern = reactive.pattern
    if pattern is None or not _may_wait(reactive):
        return True
    for one in pattern.restrictions:
        keys = _extracts(pattern, one)
        if _carries(pattern, extract, keys):
            return all(
                slot in keys and _is_of_key(source, keys[slot], split)
                for slot, source in pattern.slots.items()
                if split(source)
            )
    return False
