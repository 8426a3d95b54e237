"""Ageing: rows that are what a function makes of them and of the clock, anew at the times that it says.

So a row can count as too old after a while, be there during a span only, or show which of the predictions that it has
collected still matter: no row is polled, each has one deadline, that of its next change.

Source: SEMANTICS 3.1 and 3.10 (deadlines); ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cartesius import Restriction, Slot, arrive, forward, handles, notify_at, set_aside, tick
from cartesius.plan.nodes import Age, Collate
from cartesius.rows.clock_clauses import cancel_at, clock, due_at
from restrictions.basics.checks import refuse_streams, refuse_tables, refuse_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.plan.nodes import Node


class Stage(NamedTuple):
    """What a row is from some time on.

    >>> Stage("fresh", None, 30).until
    30
    """

    value: Any
    """What others see of it."""
    keeps: Any
    """What it is made from, to be given back at the next change; None: as it is seen."""
    until: int | None
    """The time from which on it is something else, later than the present; None: there is none."""


class Life(Protocol):
    """What becomes of a row: pure, and plain data (it is part of the fingerprint of a saved state).

    If its attribute ``is_last`` is true, its rows change after those of lives without it that change at that time.
    """

    def come(self, before: Any, value: Any, time: Time, now: Time) -> Stage | None:
        """Return what the row is when ``value`` has come, of that time, where ``before`` was kept (None: nothing)."""

    def go_on(self, keeps: Any, time: Time, now: int) -> Stage | None:
        """Return what the row is at ``now``, the time that its stage named; None: it is gone."""


class Collection(Life, Protocol):
    """A life of rows that are collected from the events of a stream."""

    def key(self, value: Any) -> Any:
        """Return the key of the row that ``value`` belongs to."""

    def objection(self, value: Any) -> str | None:
        """Return why ``value`` belongs to no row, and is set aside; None if it belongs to one."""


class _ageing(Restriction):
    """Base: the stages of rows in memory; what is kept and the next change are noted beside the row.

    It takes the place of a stage by a row of the same key, which displaces it.
    """

    slot: Slot
    life: Any

    def due(self, slot: Slot, entry: Entry) -> Time | None:
        """Return the last time of the present stage."""
        until: int | None = entry.noted("until")
        return None if until is None else until - 1

    def _arrive(self, slot: Slot, event: Entry, send: Callable[[Slot, Entry], object]) -> None:
        """Let a change through as its first stage."""
        before = slot.memory.row(event.row_key)
        if before is not None:
            self._forget_deadline(slot, before)
        kept = None if before is None else _kept(before)
        event.note(time=event.end)
        stage = self.life.come(kept, event.value, event.end, max(clock(), event.end))
        self._send(slot, event, stage, send)

    def _send(self, slot: Slot, row: Entry, stage: Stage | None, send: Callable[[Slot, Entry], object]) -> None:
        if stage is None:
            if slot.memory.row(row.row_key) is not None:
                send(slot, row.as_deletion())
            return
        entry = row.with_value(stage.value)
        entry.note(keeps=stage.keeps, until=stage.until)
        if stage.until is not None:
            notify_at(stage.until - 1)
        send(slot, entry)

    def _forget_deadline(self, slot: Slot, row: Entry) -> None:
        last = self.due(slot, row)
        if last is not None and due_at(slot, int(last)) == [row]:
            cancel_at(last)

    @handles(tick)
    def go_on(self, now: int) -> None:
        """Let the rows whose stage is over go on to the next."""
        for row in due_at(self.slot, now - 1):
            stage = self.life.go_on(_kept(row), row.noted("time"), now)
            present = row.with_value(row.value, end=max(row.end, now))
            present.note(cause=(now, now))
            self._send(self.slot, present, stage, arrive)


class ageing(_ageing):
    """Let each row of a table pass through stages, by the clock; a deletion ends them. Never suspends.

    >>> from cartesius import Engine, Reactive, Update, correlate
    >>> from restrictions import as_table, retracting
    >>> from restrictions.gates.life_stages import Stage, ageing
    >>> class Old:
    ...     def come(self, before, value, time, now):
    ...         return Stage(value, value, time + 30)
    ...
    ...     def go_on(self, keeps, time, now):
    ...         return Stage("old", keeps, None)
    >>> wind = Reactive("wind", table=True)
    >>> restrict = retracting() | as_table("x") | ageing("x", Old())
    >>> engine = Engine(correlate(x=wind, yields=lambda x: x, restrict=restrict))
    >>> [event.value for event in engine.push(wind, Update("N", 9), at=5)], engine.next_deadline
    ([Update(key='N', value=9)], 35)
    >>> [event.value for event in engine.advance(40)], engine.next_deadline
    ([Update(key='N', value='old')], None)

    Args:
        slot: The slot of a table.
        life: What becomes of a row: a `Life`, plain and pure.

    State: none; what a row is made from, and its deadline, are beside it in memory. Relies on arrival order. Does not
    commute with other gates of the slot.

    Raises:
        InvalidArgument: When a correlation is built: no table, or versions.

    Law:
        At any time each row is the stage that its last change and the clock give, whatever came between.

    Source:
        SEMANTICS 3.10.
    """

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse streams, and versions."""
        refuse_streams(self, slots["slot"])
        refuse_versions(self, others, "as it goes by order of arrival")

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Age(self.slot, self.life),)

    @handles(arrive, "slot")
    def begin(self, slot: Slot, event: Entry) -> None:
        """Let the row through as its first stage, and a deletion as it is."""
        if not event.deletes:
            self._arrive(slot, event, forward)
            return
        before = slot.memory.row(event.row_key)
        if before is not None:
            self._forget_deadline(slot, before)
        forward(slot, event)


class collating(_ageing):
    """Collect the events of a stream in one row a key, which passes through stages by the clock. Never suspends.

    Args:
        slot: The slot of a stream.
        life: What becomes of a row, and of which row a value is: a `Collection`, plain and pure.

    State: none; what a row is made from, and its deadline, are beside it in memory. Relies on arrival order. Does not
    commute with other gates of the slot.

    Raises:
        InvalidArgument: When a correlation is built: a table, or versions.

    A value that the life objects to comes out of ``engine.late``, with the reason.

    Law:
        At any time each row is what `Life.come` makes of the events of its key so far, at the stage that the clock
        gives.

    Source:
        SEMANTICS 2.7 and 3.10.
    """

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables, and versions."""
        refuse_tables(self, slots["slot"])
        refuse_versions(self, others, "as it goes by order of arrival")

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Collate(self.slot, self.life),)

    @handles(arrive, "slot")
    def collect(self, slot: Slot, event: Entry) -> None:
        """Let the row through with one event more."""
        objection = self.life.objection(event.value)
        if objection is not None:
            set_aside(slot, event, objection)
            return
        table = None if slot.memory.finds else slot.source
        self._arrive(slot, event.as_row(self.life.key(event.value), event.value, table=table), forward)


def _kept(row: Entry) -> Any:
    kept = row.noted("keeps")
    return row.value if kept is None else kept
