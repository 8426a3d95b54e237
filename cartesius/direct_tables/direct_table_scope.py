"""What the names mean that functions of changes of tables share.

Those are written by `direct_changes` and `direct_kept_codes`.

Source: DESIGN 4; SEMANTICS 1.4.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from cartesius.data.calendars import is_dated
from cartesius.data.entries import LIVE, Entry
from cartesius.data.events import Delete, Event, EventDraft, Update
from cartesius.data.null_values import is_null
from cartesius.data.records import PLAIN, wrap
from cartesius.programs.doors import checked_times
from cartesius.results.outputs import is_unchanged
from cartesius.storage.memories import hashable

_EXACT = frozenset((int, str, bool, float, bytes, type(None)))


def is_exact(key: Any) -> bool:
    """Whether what an index finds by a key is what equals it; a tuple of one may stand for what has no place in it."""
    kind = type(key)
    return kind in _EXACT or (kind is tuple and len(key) > 1 and _EXACT.issuperset(map(type, key)))


def listed(found: Any) -> list[Entry]:
    """Return what an index has under a key as a list, the oldest first."""
    if found is None:
        return []
    return list(found.values()) if type(found) is dict else [found]


TABLE_SCOPE: dict[str, Any] = {
    "checked_times": checked_times, "is_dated": is_dated, "plain": PLAIN, "wrap": wrap, "hashable": hashable,
    "LIVE": LIVE, "Entry": Entry, "Event": Event, "EventDraft": EventDraft, "Update": Update, "Delete": Delete,
    "new": object.__new__, "is_unchanged": is_unchanged, "nothing": object(),
    "is_exact": is_exact, "is_null": is_null, "listed": listed, "number_of": attrgetter("number"),
}  # fmt: skip
