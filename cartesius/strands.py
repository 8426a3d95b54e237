"""Strands: cooperative computations that await futures, built from a handler.

`await_` is an operation; the scheduler (`Strands`) handles it with a ctl clause that parks the strand until its
future is resolved. Runnable strands run in the order in which they became runnable, so every run is deterministic
and fair. A resolved future resumes its waiters at the next `Strands.run`; never inside `Future.resolve`.

Source: ICFP 2018, doi:10.1145/3236762, section 3.4 (async, await, interleave).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cartesius.errors import Deadlock, InvalidArgument
from cartesius.handlers import Handler, controls, handle
from cartesius.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.resumptions import Resumption

T = TypeVar("T")

await_: Operation[..., Any] = Operation("await_")


class Future(Generic[T]):
    """A value that comes later: resolved once, awaited by any number of strands."""

    __slots__ = ("_value", "is_resolved", "waiting")

    def __init__(self) -> None:
        self.is_resolved = False
        self._value: Any = None
        self.waiting: list[tuple[Strands, Resumption]] = []

    @property
    def value(self) -> T:
        """The value; meaningful once `is_resolved`."""
        return self._value  # type: ignore[no-any-return]

    def resolve(self, value: T) -> None:
        """Give the value; the waiting strands become runnable. Never suspends.

        Raises:
            InvalidArgument: It is resolved already.
        """
        if self.is_resolved:
            message = (
                f"Future.resolve: expected an unresolved future but it has the value {self._value!r}; use a new one"
            )
            raise InvalidArgument(message)
        self.is_resolved = True
        self._value = value
        waiting, self.waiting = self.waiting, []
        for strands, resumption in waiting:
            strands.ready.append((resumption, value))


class Strands(Handler):
    """The scheduler: spawns strands, runs those that can run, and parks those that await."""

    def __init__(self) -> None:
        self.ready: deque[tuple[Callable[[Any], Any], Any]] = deque()
        self.alive = 0

    @controls(await_)
    def park(self, future: Future[Any], resume: Resumption) -> Any:
        """Go on at once if the future is resolved; otherwise wait for it, and let the others run."""
        if future.is_resolved:
            return resume.tail(future.value)
        future.waiting.append((self, resume))
        return None

    def spawn(self, strand: Callable[[], None]) -> None:
        """Add a strand; it first runs at the next `run`."""
        self.alive += 1

        def counted() -> None:
            try:
                strand()
            finally:
                self.alive -= 1

        self.ready.append((lambda _: handle(self, counted), None))

    def run(self) -> None:
        """Run until no strand is runnable. An exception of a strand comes out here."""
        while self.ready:
            go_on, value = self.ready.popleft()
            go_on(value)


def interleave(strands: Iterable[Callable[[], None]]) -> None:
    """Run ``strands`` cooperatively until all have ended; their operations are the caller's. Fair and deterministic.

    >>> from cartesius.strands import Future, await_, interleave
    >>> tide = Future()
    >>> interleave([lambda: print("height", await_(tide)), lambda: tide.resolve(3)])
    height 3

    Raises:
        Deadlock: All strands that are left await futures that nobody can resolve any more.
    """
    scheduler = Strands()
    for strand in strands:
        scheduler.spawn(strand)
    scheduler.run()
    if scheduler.alive:
        message = (
            f"interleave: {scheduler.alive} strand(s) await futures that nobody is left to resolve;"
            " resolve them from another strand, or before interleave is called"
        )
        raise Deadlock(message)
