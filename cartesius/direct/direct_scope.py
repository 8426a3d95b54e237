"""What the names mean that functions of pushes into streams share, and what stands above generated functions.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import Any

from cartesius.data.calendars import is_dated
from cartesius.data.entries import ABSENT, LIVE, Entry
from cartesius.data.events import Event, EventDraft, Interval
from cartesius.data.queues import Queue
from cartesius.data.records import PLAIN, Record, wrap
from cartesius.programs.doors import checked_times
from cartesius.programs.give_ups import LeftToClauses
from cartesius.storage.memories import NOWHERE, checked_key, hashable


def there(key: Any) -> Any:
    """Return a key at the door; raise `LeftToClauses` if it is null: then the event is set aside."""
    if checked_key(key, "key_by") is None:
        reason = "a key is null"
        raise LeftToClauses(reason)
    return key


STREAM_SCOPE: dict[str, Any] = {
    "plain": PLAIN, "wrap": wrap, "checked_times": checked_times, "is_dated": is_dated, "there": there,
    "hashable": hashable,
    "NOWHERE": NOWHERE, "ABSENT": ABSENT, "LIVE": LIVE, "Entry": Entry, "Event": Event, "EventDraft": EventDraft,
    "LeftToClauses": LeftToClauses, "new": object.__new__, "Record": Record, "Interval": Interval, "Queue": Queue,
}  # fmt: skip
