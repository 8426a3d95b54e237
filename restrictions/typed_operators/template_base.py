"""What the templates of operators have in common: items, markers, and gates that make items of items.

Invariant: what a gate lets go on is `Keyed`; a marker comes once, after all that ends before it.

Source: SOURCES E2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius import Restriction, Slot, arrive, storable
from cartesius.errors import InvalidArgument
from cartesius.rows.clock_clauses import notify_at_time
from restrictions.basics.checks import refuse_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius import Duration
    from cartesius.data.entries import Entry


@storable
@attrs.frozen
class Keyed:
    """An item: a value under a key.

    >>> from restrictions.operators import Keyed
    >>> Keyed("N", 9.5).key
    'N'
    """

    key: Any
    value: Any


class template(Restriction):
    """Base: a gate that makes items of items, and has a marker after each span of ``every``."""

    slot: Slot
    every: Duration | None = None

    def validate(self) -> None:
        """Check the span of the markers."""
        if self.every is not None and self.every <= self.every * 0:
            message = f"{type(self).__name__}: expected a duration > 0 but got every={self.every!r}"
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        refuse_tables(self, slots["slot"])

    def marker_after(self, event: Entry) -> int:
        """Return the marker that comes after an event, and ask for a tick when it comes."""
        every: int = self.every  # type: ignore[assignment]  # in time units, in a copy that is at work
        marker = (int(event.end) // every + 1) * every
        notify_at_time(marker - 1)
        return marker

    def let_go(self, made_of: Entry, items: Iterable[Any], marker: int | None = None) -> None:
        """Let items go on: with the time of the event, or the span that a marker ends."""
        for place, item in enumerate(items):
            if not isinstance(item, Keyed):
                message = f"{self!r}: expected Keyed(key, value) but got {item!r} (type={type(item).__name__})"
                raise InvalidArgument(message)
            span = (made_of.start, made_of.end) if marker is None else (marker - self.every, marker - 1)  # type: ignore[operator]  # as above
            arrive(self.slot, made_of.nth(place, item, *span))


class template_of_key(template):
    """Base of operators that keep the key: their items are of one, right of a `key_by`."""

    def check_key(self, known: tuple[Any, ...], key: Any) -> None:
        """Refuse an item of another key than the one that is ``known``, if one is."""
        if known and known[0] != key:
            message = (
                f"{self!r}: expected items of one key but got {known[0]!r} and {key!r}; write it right of"
                f" key_by({self.slot.name}='key'), as operate does"
            )
            raise InvalidArgument(message)
