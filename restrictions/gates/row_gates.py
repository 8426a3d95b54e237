"""Rows: gates that make the events of a stream rows, rows events, or rows other rows.

They are what the algebra of tables is made of, besides `retracting` and `as_table`.

Source: thesis B7, L18 and L23; SEMANTICS 2.1 to 2.3 and 2.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Delete, Restriction, Slot, Update, arrive, expire, forward, handles, push, set_aside
from cartesius.data.null_values import IS_NULL
from cartesius.data.records import wrap
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import recall
from cartesius.language.reactives import UNDECLARED, Undeclared
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts
from cartesius.plan.nodes import Announce, Fold, Recall, Upsert
from cartesius.results.unchanged_values import is_unchanged
from cartesius.storage.memories import checked_key, checked_row_key
from restrictions.basics.checks import refuse_streams, refuse_tables, refuse_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class upserting(Restriction):
    """Make the events of a stream rows: each takes the place of the one of its key. Never suspends.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import retracting
    >>> from restrictions.gates.row_gates import upserting
    >>> ship = Reactive("ship")
    >>> latest = correlate(x=ship, yields=lambda x: x.draught, restrict=retracting() | upserting("x", key="name"))
    >>> trace = [(ship, {"name": "EVA", "draught": 9}), (ship, {"name": "EVA", "draught": 8})]
    >>> [(event.value, event.weight) for event in run(latest, trace)]
    [(9, 1), (9, -1), (8, 1)]

    Args:
        slot: The slot of a stream.
        key: A field's name, or a function of the value; left out, the values are `Update` and `Delete`.

    State: none; the rows are in memory. Relies on arrival order, as rows do. Does not commute with other gates of
    the slot.

    An event whose computed key is null (None or NaN) comes out of ``engine.late``, with the reason.

    Raises:
        InvalidArgument: A key that is neither; when a correlation is built: a table; when an event comes: no change, or
            a key that cannot be hashed.

    Law:
        With a key that is never null, where no other `key_by` names the slot, it is
        ``key_by(slot=key) | most_recently(slot)``.

    Source:
        SEMANTICS 2.1.
    """

    slot: Slot
    key: Any = UNDECLARED

    def validate(self) -> None:
        """Check the key."""
        if not isinstance(self.key, str | Undeclared) and not callable(self.key):
            message = (
                f"upserting: expected a field's name or a function but got key={self.key!r}"
                f" (type={type(self.key).__name__})"
            )
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        refuse_tables(self, slots["slot"])

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Upsert(self.slot, self.configuration["key"]),)

    @handles(arrive, "slot")
    def let_through(self, slot: Slot, event: Entry) -> None:
        """Let the event through as a change of a row."""
        value, table = event.value, None if slot.memory.finds else slot.source
        if not isinstance(self.key, Undeclared):
            key = getattr(value, self.key) if isinstance(self.key, str) else self.key(value)
            key = checked_key(key, repr(self))
            if key is None:
                set_aside(slot, event, f"{IS_NULL}, by {self!r}")
            else:
                forward(slot, event.as_row(key, value, table=table))
        elif isinstance(value, Update):
            forward(slot, event.as_row(checked_row_key(value.key, repr(self)), wrap(value.value), table=table))
        elif isinstance(value, Delete):
            change = event.as_row(checked_row_key(value.key, repr(self)), None, deletes=True, table=table)
            if value.row is not None and slot.keeps_versions:
                change.note(row=wrap(value.row))  # its ties are told by that
            forward(slot, change)
        else:
            message = (
                f"{self!r}: expected an Update or a Delete but got {value!r} (type={type(value).__name__}); write"
                " key= for a stream of plain values"
            )
            raise InvalidArgument(message)


class _changing(Restriction):
    """Base of gates on a table that keep no rows: a change comes with the row that it replaces."""

    slot: Slot

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse what is no table, other slots, and other gates: they would part a row from the one it replaces."""
        refuse_streams(self, slots["slot"])
        refuse_versions(self, others, "which need rows that are kept")
        for other in others:
            if facts.paused(other) or any(family is arrive for _, family, _, _ in slot_families(other)):
                message = f"{self!r}: expected no other gate but got {other!r}, which may hold a change back"
                raise InvalidArgument(message)

    def _is_change(self, event: Entry) -> bool:
        before = event.noted("before", ())
        if event.deletes:
            return bool(before)
        return not before or not is_unchanged(before[0], event.value)


class transiently(_changing):
    """Keep no rows of a table: the one that a change replaces comes with it, and both are there for one batch.

    >>> from cartesius import Engine, Reactive, Update, correlate
    >>> from restrictions import as_table, retracting
    >>> from restrictions.gates.row_gates import transiently
    >>> ship = Reactive("ship", table=True)
    >>> shallow = correlate(
    ...     x=ship, where=lambda x: x < 9, yields=lambda x: x, restrict=retracting() | as_table("x") | transiently("x")
    ... )
    >>> engine = Engine(shallow)
    >>> [event.value for draught in (8, 10) for event in engine.push(ship, Update("EVA", draught))]
    [Update(key='EVA', value=8), Delete(key='EVA')]
    >>> engine.stats.retained
    0

    Args:
        slot: The slot of a table, the only slot.

    State: none; the table keeps its rows, or a correlation that makes it does. Relies on no order. Commutes with
    `retracting`, `as_table`.

    Raises:
        InvalidArgument: When a correlation is built: another slot, no table, another gate, or versions.

    Law:
        Beside `retracting` and `as_table` of the slot it changes nothing but what is retained.

    Source:
        SEMANTICS 2.3.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Recall(self.slot),)

    @handles(arrive, "slot")
    def bring_back(self, slot: Slot, event: Entry) -> None:
        """Bring the row that is replaced back, unless both are alike."""
        if self._is_change(event):
            recall(slot, event)
            forward(slot, event)

    @handles(push, "slot")
    def leave(self, slot: Slot, entry: Entry) -> None:
        """Let the new row leave at the end of the batch."""
        expire(slot, entry)
        forward(slot, entry)


class announcing(_changing):
    """Let the changes of a table through as events, with `Update` and `Delete` as values; what is none is dropped.

    >>> from cartesius import Delete, Reactive, Update, correlate, run
    >>> from restrictions import momentarily
    >>> from restrictions.gates.row_gates import announcing
    >>> ship = Reactive("ship", table=True)
    >>> changes = correlate(x=ship, yields=lambda x: x, restrict=momentarily("x") | announcing("x"))
    >>> [event.value for event in run(changes, [(ship, Delete("EVA")), (ship, Update("EVA", 9))])]
    [Update(key='EVA', value=9)]

    Args:
        slot: The slot of a table.

    State: none. Relies on no order. Commutes with `momentarily`.

    Raises:
        InvalidArgument: When a correlation is built: no table, another gate, or versions.

    Law:
        The changes, applied to an empty dict, give the table.

    Source:
        Thesis, Table 4.1.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Announce(self.slot),)

    @handles(arrive, "slot")
    def announce(self, slot: Slot, event: Entry) -> None:
        """Let the change through as the value of its row."""
        if self._is_change(event):
            row = event.noted("row") if event.deletes else event.value
            change = Delete(event.row_key, row) if event.deletes else Update(event.row_key, row)
            forward(slot, event.as_row(event.row_key, change))


class updating(Restriction):
    """Make each row of a table the fold of the updates of its key; a deletion drops row and fold. Never suspends.

    >>> from cartesius import Reactive, Update, correlate, run
    >>> from restrictions import as_table, retracting
    >>> from restrictions.gates.row_gates import updating
    >>> ship = Reactive("ship", table=True)
    >>> fold = updating("x", 0, lambda total, draught: total + draught)
    >>> totals = correlate(x=ship, yields=lambda x: x, restrict=retracting() | as_table("x") | fold)
    >>> [event.value for event in run(totals, [(ship, Update("EVA", 9)), (ship, Update("EVA", 8))])]
    [Update(key='EVA', value=9), Update(key='EVA', value=17)]

    Args:
        slot: The slot of a table.
        initial: The fold before the first update of a key.
        combine: A pure function of the fold so far and a value.

    State: none; the folds are the rows in memory. Relies on arrival order. Does not commute with other gates of the
    slot.

    Raises:
        InvalidArgument: When a correlation is built: no table, or versions.

    Law:
        It agrees with `functools.reduce` over the updates of a key since its last deletion.

    Source:
        Thesis, L37; SEMANTICS 2.7.
    """

    slot: Slot
    initial: Any
    combine: Callable[[Any, Any], Any]

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse streams."""
        refuse_streams(self, slots["slot"])
        refuse_versions(self, others, "as it folds by order of arrival")

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Fold(self.slot, self.initial, self.configuration["combine"]),)

    @handles(arrive, "slot")
    def fold(self, slot: Slot, event: Entry) -> None:
        """Combine, and let the fold through as the row."""
        if event.deletes:
            forward(slot, event)
            return
        before = slot.memory.row(event.row_key)
        fold = self.combine(self.initial if before is None else before.value, event.value)
        forward(slot, event.with_value(fold))
