"""Contents: what a window keeps of the events that come into it.

Each is a restriction that stands right of the windows: ``content=`` puts it there.

Source: Polyflow4J (Content: all, first, last, filtered, accumulated); SEMANTICS 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, arrive, displace, forward, handles, push
from cartesius.errors import InvalidArgument
from cartesius.plan import facts
from cartesius.plan.nodes import Opaque
from cartesius.plan.reliance import Reliance
from cartesius.rows.window_clauses import of_window
from restrictions.basics.checks import check_count, check_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class _content(Restriction):
    """Base: what concerns the events in windows, of all slots that are in them."""

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse it without windows."""
        if not any(facts.opens_windows(other) for other in others):
            message = (
                f"{self!r}: expected windows whose content it is but there are none; give it to them:"
                f" tumbling(…, content={self!r})"
            )
            raise InvalidArgument(message)


class keeping(_content):
    """Keep those events of a window that a function chooses; the others are displaced. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, tumbling
    >>> from restrictions.windows import keeping
    >>> def two_largest(events):
    ...     return sorted(events, key=lambda event: event.value)[-2:]
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=tumbling(10, content=keeping(two_largest)))
    >>> [e.value for e in run(pairs, [(left, 3, 1), (left, 5, 2), (left, 4, 3), (right, 0, 4)])]
    [(4, 0), (5, 0)]

    Args:
        keep: A function of the events of one slot in one window (`Entry`, oldest first): those that stay. It is asked
            whenever one has come.

    State: none; it looks at memory. Relies on arrival order. Does not commute with others.

    Raises:
        InvalidArgument: No function; when a correlation is built: without windows.

    Law:
        Idempotent, if ``keep`` is.
    """

    keep: Callable[[Sequence[Entry]], Iterable[Entry]]

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say: which events stay, a function says."""
        return (Opaque(),)

    @handles(push)
    def choose(self, slot: Slot, entry: Entry) -> None:
        """Ask who stays."""
        there = of_window(slot, entry) if slot.has_windows else []
        staying = {id(one) for one in self.keep(there[::-1])} if there else {id(entry)}
        for other in there:
            if id(other) not in staying:
                displace(slot, other)
        if id(entry) in staying:
            forward(slot, entry)


def first(n: int = 1) -> Restriction:
    """Return the content that keeps, of each slot, the first ``n`` events of a window to come, by arrival.

    >>> from restrictions import tumbling
    >>> from restrictions.windows import first
    >>> tumbling(10, content=first(2))
    tumbling(10, content=first(2))
    """
    return _first(n)


def last(n: int = 1) -> Restriction:
    """Return the content that keeps, of each slot, the last ``n`` events of a window to come, by arrival.

    >>> from restrictions import tumbling
    >>> from restrictions.windows import last
    >>> tumbling(10, content=last())
    tumbling(10, content=last())
    """
    return _last(n)


class _first(_content):
    """Keep the first; later events are displaced."""

    n: int

    def validate(self) -> None:
        """Check the number."""
        check_count(type(self).__name__, self.n)

    @handles(push)
    def keep(self, slot: Slot, entry: Entry) -> None:
        """Displace the events after the first."""
        there = of_window(slot, entry) if slot.has_windows else ()
        if len(there) > self.n:
            displace(slot, entry)
        else:
            forward(slot, entry)

    def __repr__(self) -> str:
        """Show it as written."""
        return f"first({self.n if self.n != 1 else ''})"


class _last(_first):
    """Keep the last; what came earlier is displaced."""

    @handles(push)
    def keep(self, slot: Slot, entry: Entry) -> None:
        """Displace what came before the last."""
        for older in of_window(slot, entry)[self.n :] if slot.has_windows else ():
            displace(slot, older)
        forward(slot, entry)

    def __repr__(self) -> str:
        """Show it as written."""
        return f"last({self.n if self.n != 1 else ''})"


_first.__name__, _last.__name__ = "first", "last"  # as they are written, in messages


class filtered(_content):
    """Keep, in a window, the events whose value satisfies a predicate. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, tumbling
    >>> from restrictions.windows import filtered
    >>> left = Reactive("left")
    >>> even = cartesian(left, restrict=tumbling(10, content=filtered(lambda n: n % 2 == 0)))
    >>> [e.value for e in run(even, [(left, 2, 1), (left, 3, 2)])]
    [(2,)]

    Args:
        predicate: A pure function of the value.

    State: none. Relies on no order. Does not commute with `last`, which counts events.

    Raises:
        InvalidArgument: No function; when a correlation is built: without windows.

    Law:
        It is `only` on every slot that is in the windows.
    """

    predicate: Callable[[Any], Any]

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(fields=None, relies=Reliance.NONE, pointwise=True),)

    @handles(arrive)
    def let_through(self, slot: Slot, event: Entry) -> None:
        """Drop what fails."""
        if not slot.has_windows or self.predicate(event.value):
            forward(slot, event)


class accumulated(_content):
    """Keep, of each slot, one value a window: what all its events come to. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, tumbling
    >>> from restrictions.windows import accumulated, on_close
    >>> left = Reactive("left")
    >>> total = cartesian(left, restrict=tumbling(10, content=accumulated(0, lambda total, n: total + n)))
    >>> [e.value for e in run(total, [(left, 2, 1), (left, 3, 2), (left, 4, 11)])]
    [(2,), (5,), (4,)]

    What is kept may be of any kind, a compressed one as well: ``show`` makes of it what the variable is bound to.

    Args:
        initial: What is kept of nothing.
        add: A pure function of what is kept and a value: what is kept then.
        show: A pure function of what is kept; by default it is bound itself.

    State: none; what is kept is in memory, so that it begins anew beside what lets it leave (`affinely`, `at_most`,
    `momentarily`). Relies on arrival order. What a source takes back stays in the value: use groups, by `aggregate`.
    Does not commute with other contents.

    Raises:
        InvalidArgument: No function; when a correlation is built: without windows.

    Law:
        The value is ``functools.reduce(add, values, initial)``, as long as nothing lets it leave.

    Source:
        Polyflow4J (AccumulatorContent: I → W → R).
    """

    initial: Any
    add: Callable[[Any, Any], Any]
    show: Callable[[Any], Any] | None = None

    def validate(self) -> None:
        """Check the functions."""
        check_function(self, self.add, "add")
        if self.show is not None:
            check_function(self, self.show, "show")

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(),)

    def shows(self) -> Callable[[Any], Any] | None:
        """Return how what is kept is shown."""
        return self.show

    @handles(arrive)
    def accumulate(self, slot: Slot, event: Entry) -> None:
        """Let through what all come to."""
        if not slot.has_windows:
            forward(slot, event)
            return
        there = of_window(slot, event)
        kept = there[0].value if there else self.initial
        spans = [event, *there[:1]]
        start, end = min(one.start for one in spans), max(one.end for one in spans)
        forward(slot, event.with_value(self.add(kept, event.value), start, end))

    @handles(push)
    def replace(self, slot: Slot, entry: Entry) -> None:
        """Displace what it replaces."""
        for older in of_window(slot, entry)[1:] if slot.has_windows else ():
            displace(slot, older)
        forward(slot, entry)
