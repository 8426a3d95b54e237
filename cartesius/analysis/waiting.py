"""Waiting: whether what a restriction waits for, before it decides, is of one bucket, or of all keys.

A window, a sequence that chooses, an absence, a row without a partner waits until nothing can come any more that would
make it wrong (`correlations/floors.py`): so it waits for what gates hold, in its correlation and in those before it. Of
a gate under the same keys that is what it holds of one key. All else is of all keys, of which a bucket has only some.

Source: SEMANTICS 1.13 and 3.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.analysis.lineage import clauses, key_space, optional_slots, slots_named
from cartesius.correlations.placements import holds_back, suspends
from cartesius.language.families import arrive, relation
from cartesius.plan import facts
from cartesius.plan.nodes import InSequence, Never, Opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from cartesius.analysis.lineage import Origin
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction


def held_of_all_keys(
    pattern: Pattern, split: Collection[str], is_partition: Callable[[Origin | None], bool]
) -> tuple[str, str] | None:
    """Return what waits, before it decides, for what is held of several buckets, and what helps, if something does.

    Args:
        pattern: A correlation.
        split: Its slots whose events are spread over buckets.
        is_partition: Whether a key is the column of the partition.
    """
    for restriction in pattern.restrictions:
        for slot in _decisive_slots(pattern, restriction):
            if slot not in split:
                continue
            spaces = _spaces_left(pattern, slot, restriction)
            is_keyed = any(is_partition(key_space(pattern, one)[slot]) for one in spaces)
            for gate in _gates(pattern, slot, restriction):
                if not is_keyed or suspends(gate) or _spaces_left(pattern, slot, gate) != spaces:
                    fix = "" if suspends(gate) else f"put {restriction!r} and {gate!r} right of the same key_by(…)"
                    return _said(restriction, f"{gate!r} holds of {slot}"), fix
            source = pattern.slots[slot]
            if not facts.opens_windows(restriction) and _may_wait(source):
                return _said(restriction, f"{source.name!r} waits for"), ""
    return None


def _said(restriction: Restriction, held: str) -> str:
    return f"{restriction!r} waits for what {held} under all keys, and a bucket has only some"


def _decisive_slots(pattern: Pattern, restriction: Restriction) -> list[str]:
    """Return the slots of which nothing may come any more when a restriction decides on a result; none for most."""
    absent = [slot for one in restriction.nodes if isinstance(one, Never) for slot in slots_named(pattern, one.slot)]
    if absent or facts.opens_windows(restriction):
        return absent or [*pattern.slots]
    names = facts.floors(restriction)
    decides = any(isinstance(one, InSequence | Opaque) for one in restriction.nodes) or _tells_what_expires(pattern)
    if names is None or facts.is_common(restriction) or not decides:
        return []
    named = {slot for name in names or pattern.slots for slot in slots_named(pattern, name)}
    return [slot for slot in pattern.slots if slot in named - pattern.absent.names]


def _tells_what_expires(pattern: Pattern) -> bool:
    """Whether something comes when an entry has expired: its row without a partner, or what a relation has lost."""
    families = {family for one in pattern.restrictions for family, _ in clauses(pattern, one)}
    return bool(optional_slots(pattern)) or relation in families


def _spaces_left(pattern: Pattern, slot: str, restriction: Restriction) -> list[Restriction]:
    """Return the restrictions left of one that open key spaces for a slot."""
    place = next(n for n, one in enumerate(pattern.restrictions) if one is restriction)
    return [one for one in pattern.restrictions[:place] if slot in key_space(pattern, one)]


def _gates(pattern: Pattern, slot: str, asking: Restriction) -> Iterator[Restriction]:
    """Iterate over the gates that may hold events of a slot back, or pause it, and do not go by the clock."""
    for one in pattern.restrictions:
        if facts.opens_windows(asking) and one is asking:
            return  # what is further right is inside the windows
        if one is asking or facts.is_common(one) or facts.opens_windows(one):
            continue
        paused = [found for name in facts.paused(one) for found in slots_named(pattern, name)]
        gated = [slots or pattern.slots for family, slots in clauses(pattern, one) if family is arrive]
        if slot in paused or (holds_back(one) and any(slot in slots for slots in gated)):
            yield one


def _may_wait(reactive: Reactive) -> bool:
    """Whether results may come that are of what has long been there, or has been held."""
    pattern = reactive.pattern
    if pattern is None:
        return False
    holds = any(holds_back(one) for one in pattern.restrictions) or any(map(_may_wait, pattern.slots.values()))
    looks_back = any(facts.opens_windows(one) or facts.is_relative(one) for one in pattern.restrictions)
    return holds or (not reactive.table and (looks_back or bool(optional_slots(pattern))))
