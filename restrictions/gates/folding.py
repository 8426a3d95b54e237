"""Folding: gates that turn the events of a slot into others, or let them through by what came before.

Each holds its state as a field (of each key, right of a `key_by`), and forwards events with new values. What its source
takes back later is taken back where it is in memory; a fold is not undone.

Source: thesis B8 (scan, skip_while, rolling) as SEMANTICS 2.7 corrects it; ReactiveX for the names of the operators.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius import Restriction, Slot, arrive, forward, handles, state
from cartesius.data.queues import Queue
from cartesius.language.families import ended
from cartesius.plan.nodes import Opaque, Transduce
from cartesius.plan.reliance import Reliance
from cartesius.results.unchanged_values import is_same
from restrictions.basics.checks import refuse_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class of_streams(Restriction):
    """Base of gates on streams: refuses tables."""

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        for bound in slots.values():
            refuse_tables(self, bound)


class accumulating(of_streams):
    """Replace each event's value by the fold of all values so far. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.gates.folding import accumulating
    >>> level = Reactive("level")
    >>> total = cartesian(level, restrict=accumulating("level", lambda total, value: total + value))
    >>> [event.value for event in run(total, [(level, 1), (level, 2), (level, 3)])]
    [(1,), (3,), (6,)]

    Args:
        slot: The slot.
        combine: A pure function of the fold so far and a value.
        initial: A tuple of the fold before the first value, or the empty tuple: then the first value is the fold.

    State: the fold. Relies on arrival order. Does not commute with other gates of the slot.

    Raises:
        InvalidArgument: ``combine`` is not a function; when a correlation is built: a table.

    Law:
        It agrees with `itertools.accumulate`.
    """

    slot: Slot
    combine: Callable[[Any, Any], Any]
    initial: tuple[Any, ...] = ()
    fold: tuple[Any, ...] = state(())

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        step = partial(_accumulated, self.combine, self.initial)
        return (Transduce(slot=self.slot, variable="fold", step=step, relies=Reliance.WITHIN),)

    @handles(arrive, "slot")
    def take_in(self, slot: Slot, event: Entry) -> None:
        """Combine, and let the fold through."""
        self.fold, (fold,) = _accumulated(self.combine, self.initial, self.fold, event.value)
        forward(slot, event.with_value(fold))


class buffering(of_streams):
    """Gather ``n`` events into one, the list of their values; what is left over comes when the input ends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.gates.folding import buffering
    >>> level = Reactive("level")
    >>> pairs = cartesian(level, restrict=buffering("level", 2))
    >>> [event.value for event in run(pairs, [(level, 1), (level, 2), (level, 3)], close=True)]
    [([1, 2],), ([3],)]

    Args:
        slot: The slot.
        n: How many: an int ≥ 1, dimensionless.

    State: up to n - 1 events. Relies on arrival order. Does not commute with other gates of the slot.

    Raises:
        InvalidArgument: When a correlation is built: a table.

    Law:
        The lists, put together, are the values.
    """

    slot: Slot
    n: int
    held: Queue = state(Queue())

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(held=f"at most {self.n - 1}", relies=Reliance.WITHIN, variables=(self.n - 1, self.n - 1)),)

    @handles(arrive, "slot")
    def gather(self, slot: Slot, event: Entry) -> None:
        """Hold the event back, or let the list go."""
        self.held = self.held.append(event)
        if len(self.held) == self.n:
            self._let_go()

    @handles(ended, "slot")
    def let_rest_go(self, slot: Slot) -> None:
        """Let the rest go."""
        if self.held:
            self._let_go()

    def _let_go(self) -> None:
        events = [event for event in self.held if not event.withdrawn]
        self.held = Queue()
        if not events:
            return
        start, end = min(event.start for event in events), max(event.end for event in events)
        arrive(self.slot, events[-1].with_value([event.value for event in events], start, end))


class distinctly(of_streams):
    """Drop an event whose value, or its key, equals that of the one before, as null does null. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.gates.folding import distinctly
    >>> level = Reactive("level")
    >>> changes = cartesian(level, restrict=distinctly("level"))
    >>> [event.value for event in run(changes, [(level, 1), (level, 1), (level, 2), (level, 1)])]
    [(1,), (2,), (1,)]

    Args:
        slot: The slot.
        key: A pure function of the value, or None for the value itself. They are compared by ``==``, but NaN is equal
            to NaN.

    State: the key of the event before. Relies on arrival order. Commutes with what handles stored entries.

    Raises:
        InvalidArgument: When a correlation is built: a table.

    Law:
        Idempotent.
    """

    slot: Slot
    key: Callable[[Any], Any] | None = None
    before: tuple[Any, ...] = state(())

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        step = partial(_changed, self.key)
        return (Transduce(slot=self.slot, variable="before", step=step, fields=None, relies=Reliance.WITHIN),)

    @handles(arrive, "slot")
    def compare(self, slot: Slot, event: Entry) -> None:
        """Let a change through."""
        self.before, values = _changed(self.key, self.before, event.value)
        if values:
            forward(slot, event)


class skipping(of_streams):
    """Drop the events of ``slot`` up to the first that fails the predicate. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.gates.folding import skipping
    >>> level = Reactive("level")
    >>> rest = cartesian(level, restrict=skipping("level", lambda value: value < 3))
    >>> [event.value for event in run(rest, [(level, 1), (level, 3), (level, 2)])]
    [(3,), (2,)]

    Args:
        slot: The slot.
        predicate: A pure function of the value.

    State: whether the first has come. Relies on arrival order. Commutes with what handles stored entries.

    Raises:
        InvalidArgument: ``predicate`` is not a function; when a correlation is built: a table.

    Law:
        Idempotent; it agrees with `itertools.dropwhile`.
    """

    slot: Slot
    predicate: Callable[[Any], Any]
    is_open: bool = state(False)

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        step = partial(_skipped, self.predicate)
        return (Transduce(slot=self.slot, variable="is_open", step=step, fields=None, relies=Reliance.WITHIN),)

    @handles(arrive, "slot")
    def skip(self, slot: Slot, event: Entry) -> None:
        """Let everything through once one has failed."""
        self.is_open, values = _skipped(self.predicate, self.is_open, event.value)
        if values:
            forward(slot, event)


def _accumulated(
    combine: Callable[[Any, Any], Any], initial: tuple[Any, ...], fold: tuple[Any, ...], value: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    before = fold or initial
    after = (combine(before[0], value) if before else value,)
    return after, after


def _changed(
    key: Callable[[Any], Any] | None, before: tuple[Any, ...], value: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    of_value = value if key is None else key(value)
    return (before, ()) if before and is_same(before[0], of_value) else ((of_value,), (value,))


def _skipped(predicate: Callable[[Any], Any], is_open: bool, value: Any) -> tuple[bool, tuple[Any, ...]]:
    return (True, (value,)) if is_open or not predicate(value) else (False, ())
