"""Continuations of strands: what a ctl clause of a restriction receives as ``resume``.

Inside its clause it resumes at once. Stored in a `state` and called later, from another event's clause, it goes on as a
strand of its own, once the strands that run now have come to rest: the rest of one strand must not run inside another.
While one is held the engine can neither be saved nor undo a failed push; both say so.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.2 (stash: resume in its own thread context); DESIGN 3.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.effects.resumptions import Resumption, Tail


@final
class Continuation:
    """The rest of a strand; one-shot."""

    __slots__ = ("__weakref__", "_later", "_resume", "is_inside")

    def __init__(self, resume: Resumption, later: Callable[[Callable[[], None]], None]) -> None:
        self._resume = resume
        self._later = later
        self.is_inside = True  # its clause is running

    def __call__(self, value: object = None) -> Any:
        """Go on with ``value``: at once inside the clause, otherwise as a strand of its own."""
        if self.is_inside:
            return self._resume(value)
        return self._later(partial(self._resume, value))

    def throw(self, error: BaseException) -> Any:
        """Go on by raising ``error`` where the operation was performed."""
        if self.is_inside:
            return self._resume.throw(error)
        return self._later(partial(self._resume.throw, error))

    def tail(self, value: object = None) -> Tail:
        """Resume as the last act of the clause: ``return resume.tail(value)``."""
        tail: Tail = self._resume.tail(value)
        return tail

    @property
    def used(self) -> bool:
        """Whether it was resumed or dropped."""
        return self._resume.used

    def drop(self) -> None:
        """Abandon the strand: nothing comes from its slot any more."""
        self._resume.drop()


def controlled(clause: Callable[..., Any], installed: Installed, layer: str) -> Callable[..., Any]:
    """Return a ctl clause of a layer that gets a `Continuation` as its last argument, which the strands know of."""

    def later(continuation: Callable[[], None]) -> None:
        installed.join.strands.go_on_later(installed, layer, continuation)

    def control(*arguments: Any) -> Any:
        continuation = Continuation(arguments[-1], later)
        installed.join.strands.note_continuation(continuation, arguments[0])
        try:
            return clause(*arguments[:-1], continuation)
        finally:
            continuation.is_inside = False

    return control


def held_by(installed: Installed) -> Iterator[Continuation]:
    """Iterate over the continuations that the states of a restriction hold, directly or in a container."""
    for copy in installed.copies.values():
        for name in copy._states:
            yield from _held_in(getattr(copy, name))


def holders(join: Join) -> list[str]:
    """Return the restrictions whose state holds a continuation."""
    return [repr(one.restriction) for one in join.installed if any(True for _ in held_by(one))]


def _held_in(value: Any) -> Iterator[Continuation]:
    if isinstance(value, Continuation):
        yield value
    elif isinstance(value, dict):
        yield from (held for item in value.values() for held in _held_in(item))
    elif isinstance(value, tuple | list):
        yield from (held for item in value for held in _held_in(item))
