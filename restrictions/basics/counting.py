"""Counting: the first n, and every n-th, of results or of the events of slots.

Source: ICFP 2018, doi:10.1145/3236762, Table 1 (positional selection); SEMANTICS 1.13, 1.14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius import Restriction, Slots, arrive, forward, handles, select, state
from cartesius.language.families import completes
from cartesius.language.restriction_base import of_subclasses_too
from cartesius.plan.nodes import Choose, Opaque
from cartesius.plan.reliance import Reliance
from restrictions.basics.checks import check_count, refuse_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cartesius import Reactive, Slot
    from cartesius.data.entries import Entry
    from cartesius.language.matches import Match
    from cartesius.plan.nodes import Node


class _of_n(Restriction):
    """Base: has a count."""

    n: int

    def validate(self) -> None:
        """Check the count."""
        check_count(type(self).__name__, self.n)


class _of_n_events(_of_n):
    """Base: counts events of streams."""

    slots: Slots
    seen: Mapping[str, int] = state({})

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        refuse_tables(self, slots["slots"])

    @of_subclasses_too
    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(fields=None, held="", relies=Reliance.WITHIN, variables=(len(self.slots), 1)),)


class take_results(_of_n):
    """Let the first ``n`` results through: what `take` without slots is. Completes with the n-th.

    State: the number of results let through. Relies on arrival order. Commutes with no other selector.

    Law:
        ``take_results(n) | take_results(m) == take_results(min(n, m))``.
    """

    seen: int = state(0)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Choose(leaves_out=True, counts=1, ends=True),)

    @handles(select)
    def let_first_through(self, matches: Iterator[Match]) -> None:
        """Count while they are taken: what an outer selector leaves is not counted."""
        forward(self._first(matches))

    def _first(self, matches: Iterator[Match]) -> Iterator[Match]:
        while self.seen < self.n and (match := next(matches, None)) is not None:
            values = match.values[: self.n - self.seen]
            self.seen += len(values)
            yield attrs.evolve(match, values=values)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing follows the n-th result."""
        return self.seen >= self.n or bool(forward(arrived))


class take_events(_of_n_events):
    """Let the first ``n`` events of each slot through, before they reach any memory: what `take` with slots is.

    State: a count a slot (and key). Relies on arrival order. Commutes with what handles stored entries.

    Law:
        ``take_events(n, s) | take_events(m, s) == take_events(min(n, m), s)``.
    """

    @handles(arrive, "slots")
    def let_first_through(self, slot: Slot, event: Entry) -> None:
        """Drop the events after the n-th."""
        seen = self.seen.get(slot.name, 0)
        if seen < self.n:
            self.seen = {**self.seen, slot.name: seen + 1}
            forward(slot, event)


take_results.__name__ = take_events.__name__ = "take"  # as it is written, in messages and explanations


def take(n: int, *slots: str | Reactive) -> Restriction:
    """Let the first ``n`` through: results; or with slots, events of each of them, before they reach any memory.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, take
    >>> left, right = Reactive("left"), Reactive("right")
    >>> trace = [(left, 1), (left, 2), (right, "x"), (right, "y")]
    >>> [event.value for event in run(cartesian(left, right, restrict=take(1, "left")), trace)]
    [(1, 'x'), (1, 'y')]
    >>> [event.value for event in run(cartesian(left, right, restrict=take(3)), trace)]
    [(2, 'x'), (1, 'x'), (2, 'y')]

    Args:
        n: How many: an int ≥ 1, dimensionless.
        *slots: The slots whose events are counted, of each key right of a `key_by`; none: results are counted, and the
            output completes with the n-th.

    Results are counted over all keys, and right of windows in each window. Each value that a body yields counts; what a
    selector to the left does not ask for, as `first_match` does not, is not counted.

    State: a count. Relies on arrival order.

    Raises:
        InvalidArgument: ``n`` is not an int ≥ 1; when a correlation is built: a table.

    Law:
        ``take(n, s) | take(m, s) == take(min(n, m), s)``. It does not commute with gates that drop or hold events of
        its slots, nor with selectors.

    Source:
        ICFP 2018, doi:10.1145/3236762, Table 1 (positional).
    """
    return take_events(n, *slots) if slots else take_results(n)


class every_nth_result(_of_n):
    """Let the results number n, 2n, 3n, … through: what `every_nth` without slots is.

    State: a count. Relies on arrival order. Commutes with no other selector.

    Law:
        ``every_nth(n) | every_nth(m) == every_nth(n * m)``.
    """

    seen: int = state(0)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Choose(leaves_out=True, counts=1),)

    @handles(select)
    def let_nth_through(self, matches: Iterator[Match]) -> None:
        """Count what could be a result."""
        forward(self._nth(matches))

    def _nth(self, matches: Iterator[Match]) -> Iterator[Match]:
        for match in matches:
            places = range(self.seen + 1, self.seen + 1 + len(match.values))
            values = [value for place, value in zip(places, match.values, strict=True) if place % self.n == 0]
            self.seen = (self.seen + len(match.values)) % self.n
            if values:
                yield attrs.evolve(match, values=values)


class every_nth_event(_of_n_events):
    """Let the events number n, 2n, 3n, … of each slot through: what `every_nth` with slots is.

    State: a count a slot (and key). Relies on arrival order. Commutes with no gate that drops or holds events of its
    slots.

    Law:
        ``every_nth(n, s) | every_nth(m, s) == every_nth(n * m, s)``.
    """

    @handles(arrive, "slots")
    def let_nth_through(self, slot: Slot, event: Entry) -> None:
        """Drop those between."""
        seen = (self.seen.get(slot.name, 0) + 1) % self.n
        self.seen = {**self.seen, slot.name: seen}
        if not seen:
            forward(slot, event)


every_nth_result.__name__ = every_nth_event.__name__ = "every_nth"


def every_nth(n: int, *slots: str | Reactive) -> Restriction:
    """Let number n, 2n, 3n, … through: of the results; or with slots, of the events of each of them, before memory.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, every_nth
    >>> left, right = Reactive("left"), Reactive("right")
    >>> trace = [(left, 1), (right, "w"), (right, "x"), (right, "y"), (right, "z")]
    >>> [event.value for event in run(cartesian(left, right, restrict=every_nth(2, "right")), trace)]
    [(1, 'x'), (1, 'z')]

    Args:
        n: An int ≥ 1, dimensionless; 1 lets everything through.
        *slots: The slots whose events are counted, of each key right of a `key_by`; none: results are counted, as
            `take` counts them.

    State: a count. Relies on arrival order.

    Raises:
        InvalidArgument: ``n`` is not an int ≥ 1; when a correlation is built: a table.

    Law:
        ``every_nth(n, s) | every_nth(m, s) == every_nth(n * m, s)``.

    Source:
        ICFP 2018, doi:10.1145/3236762, Table 1 (positional: every other event).
    """
    return every_nth_event(n, *slots) if slots else every_nth_result(n)
