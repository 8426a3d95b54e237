"""What the names mean that functions of pushes into streams share, and what stands above generated functions.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.data.entries import ABSENT, LIVE, Entry
from cartesius.data.events import Event, EventDraft, Interval
from cartesius.data.generated import commented
from cartesius.data.queues import Queue
from cartesius.data.records import PLAIN, Record, wrap
from cartesius.programs.doors import checked_times
from cartesius.programs.give_ups import LeftToClauses
from cartesius.storage.memories import NOWHERE, checked_key, hashable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot


def there(key: Any) -> Any:
    """Return a key at the door; raise `LeftToClauses` if it is null: then the event is set aside."""
    if checked_key(key, "key_by") is None:
        reason = "a key is null"
        raise LeftToClauses(reason)
    return key


STREAM_SCOPE: dict[str, Any] = {
    "plain": PLAIN, "wrap": wrap, "checked_times": checked_times, "there": there, "hashable": hashable,
    "NOWHERE": NOWHERE, "ABSENT": ABSENT, "LIVE": LIVE, "Entry": Entry, "Event": Event, "EventDraft": EventDraft,
    "LeftToClauses": LeftToClauses, "new": object.__new__, "Record": Record, "Interval": Interval, "Queue": Queue,
}  # fmt: skip


def headed(join: Join, slot: Slot, bound: Mapping[str, Any], text: str) -> str:
    """Return a text, with the pattern that it came from, and what the bound names in it are."""
    restrict = " | ".join(map(repr, join.pattern.restrictions)) or "nothing: the whole product"
    head = [f"{join.name}, when an event comes to {slot.name!r}", f"restricted by {restrict}"]
    head += [f"{name} = {value!r}" for name, value in bound.items()]
    return "".join(f"# {commented(line)}\n" for line in head) + text
