"""Evidence: handlers that are put together once, so that an operation finds its clause without a search.

The handlers of a correlation never change, so its frames are made when it is built. Each of them remembers where the
operations performed from it have found their clause (`Frame.found`), which is then a direct call. For the time of a
step the outermost is chained to the handlers that are in force around it: they are found as ever, by a search. A
`Layer` is a handler whose clauses are computed rather than written as methods.

Invariant: none of the handlers is ctl, and what a frame remembers is one of its own stack.

Source: Xie & Leijen, Generalized Evidence Passing for Effect Handlers, ICFP 2021, doi:10.1145/3473576.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cartesius.effects.handlers import Handler
from cartesius.effects.operations import Frame, Operation
from cartesius.effects.resumptions import running

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.effects.handlers import Clauses, Named

STRAND_LAYERS = ("memory", "gates", "door")
"""The layers inside the strands, whose clauses can suspend one."""


class Layer(Handler):
    """Clauses that are known once and for all."""

    def __init__(self, named: object, clauses: Clauses) -> None:
        self._named = named
        self._clauses = clauses
        self._is_plain = not any([is_ctl for is_ctl, _ in clauses.values()])

    @property
    def is_plain(self) -> bool:
        """Whether no clause is ctl."""
        return self._is_plain

    def clauses(self) -> Clauses:
        """Return the clauses."""
        return self._clauses

    def __repr__(self) -> str:
        """Show the name, or what has it."""
        return str(self._named)


def layer_of(family: Named | Operation[..., Any]) -> str:
    """Return the layer in which clauses for a family are installed; those for an operation surround the strands."""
    return "outer" if isinstance(family, Operation) else family.layer


Answer = TypeVar("Answer")


def put_back() -> Callable[[], None]:
    """Return what puts the handlers that are in force now back: who is interrupted may be so between any two lines."""
    here = vars(running())
    return partial(here.update, {"stack": None, "performing": None, "copy": None, **here})


class Evidence:
    """The handlers of one correlation in force: those around its slots, and those that each slot has besides."""

    def __init__(self, outer: Handler, inner: Handler) -> None:
        frames: list[Frame] = []
        for part in (*outer.parts(), *inner.parts()):
            frames.append(Frame(part, part.clauses(), frames[-1] if frames else None, self))
        self._outermost = frames[0]
        self._outside = frames[len(outer.parts()) - 1]
        self._inside = frames[-1]
        self.frames = self._outermost, self._outside, self._inside

    def outside(self, thunk: Callable[[], Answer]) -> Answer:
        """Run ``thunk`` under the handlers around the slots, and those in force here."""
        here = running().__dict__  # not the coroutine itself: a suspended frame must not hold its own
        stack, copy, performing = here.get("stack"), here.get("copy"), here.get("performing")
        before, self._outermost.outer = self._outermost.outer, stack
        # The clause of another engine is not at work in this one, nor one that an interrupted call has left.
        here["stack"], here["copy"], here["performing"] = self._outside, None, None
        try:
            return thunk()
        finally:
            here["stack"], here["copy"], here["performing"] = stack, copy, performing
            self._outermost.outer = before

    def inside(self, thunk: Callable[[], Any]) -> None:
        """Run ``thunk``, inside of `outside`, under the handlers of the slots as well."""
        here = running().__dict__
        here["stack"] = self._inside
        try:
            thunk()
        finally:
            here["stack"] = self._outside
