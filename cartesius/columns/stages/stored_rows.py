"""Stored rows: what the memory of a slot holds, as columns, and columns as what a memory holds.

Invariant: what is loaded of what was stored is the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.stages.rows import BEFORE, Rows
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import any_nan
from cartesius.columns.vectors.vectors import NotColumnar, Struct
from cartesius.data.entries import Entry
from cartesius.data.window_spans import INSIDE, inside, origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot


def load_rows(slot: Slot, like: Rows | None) -> Rows | None:
    """Return the rows in the memory of a slot, oldest first; of the types of those that are ``like`` them."""
    entries = list(slot.memory.all())
    check_noted(entries, set())
    return rows_of(slot, entries, like)


def load_bare(
    slot: Slot, like: Rows | None = None, seen: Callable[[Any], Any] = lambda value: None
) -> tuple[Rows | None, list[Any]]:
    """Return the rows in the memory of a slot, with what is ``seen`` of their values, and those, whatever they are."""
    entries = list(slot.memory.all())
    bare = [entry.with_value(seen(entry.value)) for entry in entries]
    for one, entry in zip(bare, entries, strict=True):
        one.number = entry.number
    return rows_of(slot, bare, like), [entry.value for entry in entries]


def check_noted(entries: Sequence[Entry], known: set[str]) -> None:
    """Raise `NotColumnar` if more is noted of entries than a kernel knows.

    The step in which one came concerns the windows that held it, and nobody else.
    """
    if any(not (known | {"step"}).issuperset(entry.more or ()) for entry in entries):
        raise NotColumnar("something is noted of a retained event")


def load_uses(entries: Sequence[Entry], limit: int | None) -> NDArray[np.int64] | None:
    """Return the uses that entries have left; None if they are not limited."""
    return None if limit is None else np.array([int(entry.uses) for entry in entries], np.int64)


def rows_of(slot: Slot, entries: Sequence[Entry], like: Rows | None) -> Rows | None:
    """Return entries of a slot as rows, in their order; None if there are none; what is noted of them is left out."""
    if not entries:
        return None
    try:
        start, end = (np.array([getattr(e, name) for e in entries], np.int64) for name in ("start", "end"))
    except (OverflowError, ValueError) as error:
        raise NotColumnar("a retained event has an infinite time") from error
    payload = of_values([entry.value for entry in entries], None if like is None else like.payload)
    number = np.array([entry.number for entry in entries], np.int64)
    key, ordinal = None, number
    if slot.is_table:
        key = checked_keys(of_values([entry.row_key for entry in entries], None if like is None else like.key))
    else:
        ordinal = _ordinals(slot, entries)
    position, window = np.full(len(entries), BEFORE, np.int64), _windows(entries)
    return Rows(payload, start, end, ordinal, number, position, key, window=window).check_times()


def checked_keys(keys: Vector) -> Vector:
    """Return the keys of rows; raise `NotColumnar` if one is no number, which here would not be found again."""
    if any_nan(keys):
        raise NotColumnar("the key of a row is no number")
    return keys


def _ordinals(slot: Slot, entries: Sequence[Entry]) -> NDArray[np.int64]:
    """Return the numbers by which the identities of events tell them; those of results are told by their arrival."""
    if slot.reactive.pattern is not None:
        return np.array([entry.number for entry in entries], np.int64)
    identities = [origin(entry.identity) for entry in entries]
    if not all(type(one) is tuple and len(one) == 2 and one[0] == slot.source for one in identities):
        raise NotColumnar("a retained event has been let in twice")
    return np.array([one[1] for one in identities], np.int64)


def _windows(entries: Sequence[Entry]) -> Struct | None:
    """Return the windows of entries; None if they are in none."""
    identities = [entry.identity for entry in entries]
    if not all(type(one) is tuple and len(one) == 3 and one[0] == INSIDE for one in identities):
        return None
    windows = of_values([window for _, window, _ in identities])
    return windows if isinstance(windows, Struct) else None


def store_rows(join: Join, slot: Slot, rows: Rows | None) -> None:
    """Let the memory of a slot hold these rows and nothing else. The journal is the caller's to clear."""
    store_entries(slot, [] if rows is None else entries_of(join, slot, rows))


def store_entries(slot: Slot, entries: Iterable[Entry]) -> None:
    """Let the memory of a slot hold these entries and nothing else. The journal is the caller's to clear."""
    for entry in list(slot.memory.all()):
        slot.memory.remove(entry)
    for entry in entries:
        slot.memory.store(entry)
    slot.memory.settle(slot.memory.all())


def store_uses(slots: Sequence[Slot], uses: Sequence[NDArray[np.int64] | None]) -> None:
    """Let the entries in memory have these uses left, slot by slot; None: they are not limited."""
    for slot, left in zip(slots, uses, strict=True):
        if left is not None:
            for entry, n in zip(slot.memory.all(), left.tolist(), strict=True):
                entry.uses = n


def store_deadlines(installed: Installed, until: Iterable[int]) -> None:
    """Let a restriction that has no keys ask for ticks once the clock has reached these times, and no others."""
    deadlines = installed.join.world.deadlines
    deadlines.forget_all(installed.join.installed)
    installed.due.clear()
    for time in sorted(set(until)):
        deadlines.add(time - 1, installed, ())


def entries_of(join: Join, slot: Slot, rows: Rows) -> list[Entry]:
    """Return rows as the entries of a slot that they are."""
    keys = [None] * len(rows) if rows.key is None else rows.key.to_list()
    columns = (rows.payload.to_list(), rows.start.tolist(), rows.end.tolist(), rows.ordinal.tolist())
    entries = []
    windows = [None] * len(rows) if rows.window is None else rows.window.to_list()
    space: Any = join.bindings.window_space
    for value, start, end, ordinal, number, key, window in zip(
        *columns, rows.number.tolist(), keys, windows, strict=True
    ):
        entry = Entry(value, start, end, slot.source if slot.is_table else (slot.source, ordinal))
        entry.slot = slot.name
        if slot.is_table:
            entry.row_key = key
        entry.keys = join.bindings.keys_of(slot, entry)
        if window is not None:
            entry = inside(entry, space, window)
        entry.number = number
        entries.append(entry)
    return entries
