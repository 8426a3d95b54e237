"""Strands: cooperative computations that await futures, built from a handler.

`await_` is an operation; the scheduler (`Strands`) handles it with a ctl clause that parks the strand until its
future is resolved. Runnable strands run in the order in which they became runnable, so every run is deterministic
and fair. A resolved future resumes its waiters at the next `Strands.run`; never inside `Future.resolve`.

Source: ICFP 2018, doi:10.1145/3236762, section 3.4 (async, await, interleave).
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cartesius.effects.handlers import Handler, controls, handle
from cartesius.effects.operations import Operation
from cartesius.effects.resumptions import running
from cartesius.errors import Deadlock, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.effects.resumptions import Resumption

T = TypeVar("T")

await_: Operation[[Future[Any]], Any] = Operation("await_")
"""``await_(future)`` gives the future's value; until it has one, the strand is suspended and the others run."""


class Future(Generic[T]):
    """A value that comes later: resolved once, awaited by any number of strands.

    >>> from cartesius.effects.strands import Future
    >>> tide = Future("tide")
    >>> tide.resolve(3)
    >>> tide.is_resolved, tide.value
    (True, 3)

    Args:
        name: How it is called when strands wait for it in vain.
    """

    __slots__ = ("_value", "is_resolved", "name", "waiting")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.is_resolved = False
        self._value: Any = None
        # The scheduler owns what waits: a suspended strand holds its future, which must not hold the strand.
        self.waiting: list[tuple[weakref.ref[Strands], int]] = []

    def __repr__(self) -> str:
        """Show the name."""
        return f"<future {self.name or 'without a name'}>"

    @property
    def value(self) -> T:
        """The value; meaningful once `is_resolved`."""
        value: T = self._value
        return value

    def resolve(self, value: T) -> None:
        """Give the value; the waiting strands become runnable. Never suspends.

        Raises:
            InvalidArgument: It is resolved already.
        """
        if self.is_resolved:
            message = (
                f"Future.resolve: expected an unresolved future but {'it' if self.name is None else repr(self.name)}"
                f" has the value {self._value!r}; use a new one"
            )
            raise InvalidArgument(message)
        self.is_resolved = True
        self._value = value
        waiting, self.waiting = self.waiting, []
        for reference, number in waiting:
            strands = reference()
            if strands is not None:
                strands.wake(number, value)


class Strands(Handler):
    """The scheduler: spawns strands, runs those that can run, and parks those that await.

    >>> from cartesius.effects.strands import Future, Strands, await_
    >>> strands, tide = Strands(), Future("tide")
    >>> strands.spawn(lambda: print("height", await_(tide)))
    >>> strands.run()
    >>> strands.awaited()
    [<future tide>]
    >>> tide.resolve(3)
    >>> strands.run()
    height 3
    """

    def __init__(self) -> None:
        self.ready: deque[tuple[Callable[[Any], Any], Any]] = deque()
        self.parked: dict[int, tuple[Resumption, Future[Any]]] = {}
        self._alive = [0]  # a cell, as a strand must not hold its scheduler
        self._number = 0
        self._spawned = 0

    @property
    def alive(self) -> int:
        """How many strands have not ended."""
        return self._alive[0]

    @controls(await_)
    def park(self, future: Future[Any], resume: Resumption) -> Any:
        """Go on at once if the future is resolved; otherwise wait for it, and let the others run."""
        if future.is_resolved:
            return resume.tail(future.value)
        self._number += 1
        self.parked[self._number] = (resume, future)
        future.waiting.append((weakref.ref(self), self._number))
        return None

    def wake(self, number: int, value: object) -> None:
        """Make a parked strand runnable."""
        self.ready.append((self.parked.pop(number)[0], value))

    def spawn(self, strand: Callable[[], None]) -> None:
        """Add a strand; it first runs at the next `run`."""
        alive = self._alive
        alive[0] += 1
        place = self._spawned = self._spawned + 1

        def counted() -> None:
            running().place = place
            try:
                strand()
            finally:
                alive[0] -= 1

        self.ready.append((lambda _: handle(self, counted), None))

    def run(self) -> None:
        """Run until no strand is runnable. An exception of a strand comes out here."""
        while self.ready:
            go_on, value = self.ready.popleft()
            go_on(value)

    def drop(self) -> None:
        """Abandon all strands: their ``finally`` blocks run now."""
        self.ready.clear()
        while self.parked:
            _, (resumption, _) = self.parked.popitem()
            resumption.drop()

    def awaited(self) -> list[Future[Any]]:
        """Return the futures that strands wait for, in the order in which the strands were spawned."""
        parked = sorted(self.parked.values(), key=lambda one: getattr(one[0].prompt.root, "place", 0))
        return [future for _, future in parked]


def interleave(strands: Iterable[Callable[[], None]]) -> None:
    """Run ``strands`` cooperatively until all have ended; their operations are the caller's. Fair and deterministic.

    >>> from cartesius.effects.strands import Future, await_, interleave
    >>> tide = Future()
    >>> interleave([lambda: print("height", await_(tide)), lambda: tide.resolve(3)])
    height 3

    Raises:
        Deadlock: All strands that are left await futures that nobody can resolve any more.
    """
    scheduler = Strands()
    for strand in strands:
        scheduler.spawn(strand)
    try:
        scheduler.run()
        left, awaited = scheduler.alive, scheduler.awaited()
    finally:
        scheduler.drop()
    if left:
        raise Deadlock(_deadlock(left, awaited))


def _deadlock(left: int, awaited: list[Future[Any]]) -> str:
    named = list(dict.fromkeys(repr(future.name) for future in awaited if future.name is not None))
    unnamed = len({id(future) for future in awaited if future.name is None})
    if unnamed:
        named.append(f"{unnamed} without a name, which Future('…') would give")
    who, what = ("1 strand waits", "a future") if left == 1 else (f"{left} strands wait", "futures")
    return (
        f"interleave: expected every strand to end but {who} for {what} that nobody is left to resolve:"
        f" {', '.join(named)}; resolve them from another strand, or before interleave is called"
    )
