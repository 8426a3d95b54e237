"""Deliveries: what of a reactive's events comes to a slot, and as what.

Source: SEMANTICS 2.1 and 3.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.entries import Entry
from cartesius.data.events import LATEST, Delete
from cartesius.data.records import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.data.events import Event
    from cartesius.language.families import Slot


def entry_of(slot: Slot, event: Event) -> Entry:
    """Return what comes to a slot as an entry that is not stored yet."""
    is_change = slot.reactive.table
    value = event.value if is_change else wrap(event.value)
    entry = Entry(value, event.start, event.end, slot.source if is_change else event.identity, weight=event.weight)
    if slot.kept is not None and event.before:
        entry.note(before=event.before)
    if event.span is not None and slot.keeps_versions:
        entry.note(span=event.span)
    if is_change:
        entry.row_key = value.key
        if isinstance(value, Delete):
            entry.value = None
            entry.note(deletes=True)
            if value.row is not None:
                entry.note(row=wrap(value.row))
        else:
            entry.value = wrap(value.value)
    return entry


def concerning(slot: Slot, events: Sequence[Event]) -> Sequence[Event]:
    """Leave out what corrects an older version of a table, where a slot knows the newest alone."""
    if slot.keeps_versions:  # what only says anew what held already is for those who know no spans
        return [event for event in events if event.span is None or event.span[0] < event.span[1]]
    return [event for event in events if event.span is None or event.span[1] == LATEST]
