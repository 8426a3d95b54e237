"""One-shot resumptions: the only module that knows greenlets.

A `Coroutine` runs a computation on a stack of its own and carries the handlers in force (`stack`): neither a global nor
`contextvars` would do, the first being wrong while the collector unwinds a greenlet, the second empty in a new one. A
ctl clause gets a `Resumption`: the suspended computation up to its handler, to be resumed once, now, later or never.

Invariants. A suspended computation never holds its own coroutine, its resumption or its handler (it would keep itself
alive): messages travel in the prompt's cell, which the receiver empties. A dropped resumption unwinds its
computation.

Source: Plotkin & Pretnar's handlers with Koka's two kinds of clause; ICFP 2018, doi:10.1145/3236762, Figure 5.
"""

from __future__ import annotations

from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from greenlet import GreenletExit, getcurrent, greenlet

from cartesius.errors import InternalError, InvalidArgument, ResumptionUsed, WrongThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeVar as TypeVarWithDefault

    from cartesius.effects.operations import Frame

    Value = TypeVarWithDefault("Value", default=Any, contravariant=True)  # what the operation returns
    Answer = TypeVarWithDefault("Answer", default=Any, covariant=True)  # what its handler answers
else:
    Value = TypeVar("Value", contravariant=True)
    Answer = TypeVar("Answer", covariant=True)


running: Callable[[], Any] = getcurrent
"""Return the coroutine that runs now; its ``stack`` is the innermost handler in force, if it has one."""


class Tail:
    """The answer of a ctl clause that resumes as the last thing it does: the prompt does it, in constant space."""

    __slots__ = ("resumption", "value")

    def __init__(self, resumption: Resumption, value: object) -> None:
        self.resumption = resumption
        self.value = value


class Prompt:
    """Where a handler with ctl clauses was installed: runs the computation inside, and the clauses it asks for.

    While the computation is suspended its frame is an empty shell: the computation must not keep the handler alive, for
    a handler may hold the resumption, and a greenlet in a reference cycle is never collected.
    """

    __slots__ = ("cell", "clauses", "frame", "handler", "outside", "root", "thread")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.handler: Any = frame.handler
        self.clauses = frame.clauses
        self.cell: tuple[object, Callable[..., Any], tuple[Any, ...]] | None = None
        self.outside: Any = None  # Invariant: set only while the computation runs
        self.root: Any = None
        self.thread = get_ident()

    def start(self, thunk: Callable[[], object]) -> Any:
        """Run ``thunk`` under the prompt's frame; return its value, or what a clause answered instead."""
        root = greenlet(lambda _: thunk())
        root.stack = self.frame
        performing = getcurrent().__dict__.get("performing")
        if performing is not None:
            root.performing = performing  # `forward` inside a handler that a clause installs is still the clause's
        self.root = root
        return self.drive(root, None, None)

    def drive(self, target: Any, value: object, error: BaseException | None) -> Any:
        """Switch into ``target`` and serve its ctl operations, until it ends or a clause answers."""
        while True:
            self._enter()
            try:
                answer = target.switch(value) if error is None else target.throw(error)
            finally:
                error = None  # a frame must not hold what it raises: the cycle would keep all its frames alive
                self._leave()
            del target
            message, self.cell = self.cell, None
            if message is None:
                if isinstance(answer, GreenletExit):  # the computation inside was abandoned: so is what waits for it
                    del answer  # as above
                    raise GreenletExit
                return self.handler.returns(answer)
            answer = _serve(*message)
            del message
            if not isinstance(answer, Tail):
                return answer
            value, error = answer.value, None
            target = answer.resumption.take()
            if answer.resumption.prompt is not self:
                return answer.resumption.prompt.drive(target, value, error)
            del answer

    def _enter(self) -> None:
        here = getcurrent()
        frame = self.frame
        frame.handler, frame.clauses, frame.outer, frame.prompt = self.handler, self.clauses, _stack(here), self
        self.outside = here
        self.root.parent = here

    def _leave(self) -> None:
        frame = self.frame
        frame.handler, frame.clauses, frame.outer, frame.prompt = None, _NO_CLAUSES, None, None
        self.outside = None

    def post(self, operation: object, clause: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Leave a message for the prompt, the rest of the computation with it; return the greenlet to switch to."""
        if self.outside is None:
            message = f"the handler {self.handler!r} is not running where {clause!r} was asked for; please report this"
            raise InternalError(message)
        self.cell = (operation, clause, (*arguments, Resumption(self, getcurrent())))
        return self.outside


def _serve(operation: object, clause: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a ctl clause; meanwhile `forward` means ``operation``."""
    here = getcurrent()
    before = here.__dict__.get("performing")
    here.performing = operation
    del here  # a suspended frame must not hold its own coroutine
    try:
        return clause(*arguments)
    finally:
        getcurrent().performing = before


_NO_CLAUSES: dict[Any, Any] = {}


def _stack(coroutine: Any) -> Any:
    return getattr(coroutine, "stack", None)


class Resumption(Generic[Value, Answer]):
    """The rest of a computation, up to and including its handler (deep), as a ctl clause receives it. One-shot.

    ``resume(value)`` returns the handler's answer. ``return resume.tail(value)`` does the same in constant stack space.
    Dropped unused, it unwinds its computation; only a computation that holds its own resumption cannot be collected,
    and must be given up by `drop`. ``Resumption[Value, Answer]``: the operation returns Value, and its handler
    answers Answer.

    >>> from cartesius import Handler, Operation, controls, handle
    >>> ask = Operation("ask")
    >>> class storing(Handler):
    ...     @controls(ask)
    ...     def store(self, resume):
    ...         self.stored = resume
    >>> handler = storing()
    >>> handle(handler, lambda: ask() + 1)
    >>> handler.stored(41)
    42
    """

    __slots__ = ("__weakref__", "_target", "prompt")

    def __init__(self, prompt: Prompt, target: Any) -> None:
        self.prompt = prompt
        self._target = target

    def take(self) -> Any:
        """Mark as used and return the coroutine to switch to.

        Raises:
            ResumptionUsed: It was taken before.
            WrongThread: It is another thread's, and stays unused.
        """
        self._check_thread()
        target, self._target = self._target, None
        if target is None:
            message = (
                f"resume: expected a resumption that is unused but this one, of {self.prompt.handler!r}, was resumed,"
                " thrown into or dropped before; resume once, and perform the operation again for a second answer"
            )
            raise ResumptionUsed(message)
        return target

    def _check_thread(self) -> None:
        if get_ident() != self.prompt.thread:
            message = (
                f"resume: expected to be resumed or dropped by the thread that runs {self.prompt.handler!r} but another"
                " one did; a computation stays in its thread: hand the value over to that, and resume there"
            )
            raise WrongThread(message)

    @property
    def used(self) -> bool:
        """Whether it was resumed, thrown into or dropped."""
        return self._target is None

    @overload
    def __call__(self: Resumption[None, Answer]) -> Answer: ...
    @overload
    def __call__(self, value: Value) -> Answer: ...
    def __call__(self, value: Any = None) -> Any:
        """Go on with ``value`` as the operation's result; return the handler's answer."""
        return self.prompt.drive(self.take(), value, None)

    def throw(self, error: BaseException) -> Answer:
        """Go on by raising ``error`` where the operation was performed; return the handler's answer.

        Raises:
            InvalidArgument: It is no error; the resumption stays unused.
        """
        if not isinstance(error, BaseException):
            message = f"throw: expected an exception but got {error!r} (type={type(error).__name__})"
            raise InvalidArgument(message)
        try:
            answer: Answer = self.prompt.drive(self.take(), None, error)
            return answer
        finally:
            del error  # as in `Prompt.drive`

    @overload
    def tail(self: Resumption[None, Answer]) -> Answer: ...
    @overload
    def tail(self, value: Value) -> Answer: ...
    def tail(self, value: Any = None) -> Any:
        """Resume as the last act of a clause: ``return resume.tail(value)``; runs in constant stack space."""
        return Tail(self, value)

    def drop(self) -> None:
        """Abandon the computation: its ``finally`` blocks run now, under its handlers and those in force here.

        Raises:
            WrongThread: It is another thread's, and stays unused.
        """
        self._check_thread()
        target, self._target = self._target, None
        if target is not None and not target.dead:
            _unwind(self.prompt, target)

    def __del__(self) -> None:
        """An abandoned computation is unwound as soon as nobody can resume it."""
        target = getattr(self, "_target", None)  # missing if making it failed
        self._target = None
        if target is not None and not target.dead:
            _unwind(self.prompt, target)


def _unwind(prompt: Prompt, target: Any) -> None:
    root = prompt.root
    try:
        root.parent = getcurrent()
    except (ValueError, RuntimeError):  # its thread is another one or has ended, or who drops it is being finalized
        return  # greenlet frees it
    del root
    with suppress(GreenletExit):  # the computation has ended by it
        prompt.drive(target, None, GreenletExit())
