"""Handlers: what operations mean.

A `Handler` is a class with clauses. A **fun** clause (`handles`) is tail-resumptive: a plain call whose return value
is the operation's. A **ctl** clause (`controls`) receives a one-shot `resume` as its last argument. Handlers are
deep, may hold parameters (their attributes), may have a return clause (`returns`), and compose: in ``h1 | h2`` the
right one is inside, so it sees an operation first and may `forward` it. Operations performed in a clause are seen by
outer handlers only.

This module is over 300 lines because the overloads that check clauses, and what users read of each name, stand in it.

Source: ICFP 2018, doi:10.1145/3236762, Figures 4 to 7; Xie & Leijen, Generalized Evidence Passing, ICFP 2021.
"""

from __future__ import annotations

from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
    runtime_checkable,
)

from cartesius.effects.operations import Frame, Operation, check_performed
from cartesius.effects.resumptions import Prompt, running
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import TypeVar as TypeVarWithDefault

    from cartesius.effects.resumptions import Resumption

    Inside = TypeVarWithDefault("Inside", default=Any)  # the result of the computation inside a handler
    Answer = TypeVarWithDefault("Answer", default=Any)  # what `handle` answers
else:
    Inside = TypeVar("Inside")
    Answer = TypeVar("Answer")

F = TypeVar("F", bound="Callable[..., Any]")
H = TypeVar("H")
P = ParamSpec("P")
R = TypeVar("R")
B = TypeVar("B")
A1 = TypeVar("A1")
A2 = TypeVar("A2")
Innermost = TypeVar("Innermost")


@runtime_checkable
class Named(Protocol):
    """Operations of one name, of which each owner has one of its own; and the layer that clauses for them are of."""

    @property
    def name(self) -> str:
        """What they are called."""
        ...

    @property
    def layer(self) -> str:
        """Where clauses for them are installed."""
        ...


Clauses = dict[Operation[..., Any], tuple[bool, "Callable[..., Any]"]]


@overload
def handles(
    operation: Operation[P, R],
) -> Callable[[Callable[Concatenate[H, P], R]], Callable[Concatenate[H, P], R]]: ...
@overload
def handles(operation: Named, *fields: str) -> Callable[[F], F]: ...
def handles(operation: Any, *fields: str) -> Any:
    """Mark a method as the fun clause for ``operation``: its return value resumes. Runs in place.

    In a `Restriction`, ``operation`` is a family (`arrive`, `push`, …) and ``fields`` name the fields that hold its
    slots.

    >>> from cartesius import Handler, Operation, handle, handles
    >>> double = Operation("double")
    >>> class doubling(Handler):
    ...     @handles(double)
    ...     def twice(self, n):
    ...         return 2 * n
    >>> handle(doubling(), lambda: double(21))
    42

    Raises:
        InvalidArgument: ``operation`` is none; or the method is a generator or a coroutine, which nobody would run.
    """
    return _marking("handles", operation, fields, is_ctl=False)


@overload
def controls(operation: Named, *fields: str) -> Callable[[F], F]: ...
@overload
def controls(
    operation: Callable[[], R],
) -> Callable[[Callable[[H, Resumption[R, B]], B]], Callable[[H, Resumption[R, B]], B]]: ...
@overload
def controls(
    operation: Callable[[A1], R],
) -> Callable[[Callable[[H, A1, Resumption[R, B]], B]], Callable[[H, A1, Resumption[R, B]], B]]: ...
@overload
def controls(
    operation: Callable[[A1, A2], R],
) -> Callable[[Callable[[H, A1, A2, Resumption[R, B]], B]], Callable[[H, A1, A2, Resumption[R, B]], B]]: ...
@overload
def controls(operation: Operation[..., Any]) -> Callable[[F], F]: ...  # of more parameters: not checked
def controls(operation: Any, *fields: str) -> Any:
    """Mark a method as the ctl clause for ``operation``: it receives ``resume`` last, and may use it once, or never.

    >>> from cartesius import Handler, Operation, controls, handle
    >>> leave = Operation("leave")
    >>> class catching(Handler):
    ...     @controls(leave)
    ...     def caught(self, reason, resume):
    ...         return f"left: {reason}"
    >>> handle(catching(), lambda: leave("tired"))
    'left: tired'

    Raises:
        InvalidArgument: ``operation`` is none; or the method is a generator or a coroutine, which nobody would run.
    """
    return _marking("controls", operation, fields, is_ctl=True)


def _marking(call: str, operation: Any, fields: tuple[str, ...], *, is_ctl: bool) -> Callable[[F], F]:
    if isinstance(operation, type) or not isinstance(operation, Operation | Named):
        message = (
            f"{call}: expected an operation, or a family of operations of slots, but got {operation!r}"
            f" (type={type(operation).__name__}); name it in parentheses, as in @{call}(push, 'slots')"
        )
        raise InvalidArgument(message)

    def mark(method: F) -> F:
        if isgeneratorfunction(method) or iscoroutinefunction(method) or isasyncgenfunction(method):
            kind = "generator" if isgeneratorfunction(method) else "coroutine"
            message = (
                f"{call}: expected a function that returns but got the {kind} {method.__qualname__}, which nobody would"
                " run; write it with def, without yield and await"
            )
            raise InvalidArgument(message)
        marks = [*getattr(method, "_clause_marks", ()), (operation, fields, is_ctl)]
        method._clause_marks = marks  # type: ignore[attr-defined]  # functions have attributes
        return method

    return mark


class Handler(Generic[Inside, Answer]):
    """Base of handlers: subclass it, keep parameters as attributes, and mark clauses with `handles` and `controls`.

    ``Handler[Inside, Answer]`` says what a computation inside must return, and what `handle` then answers.

    >>> from cartesius import Handler, Operation, handle, handles
    >>> emit = Operation("emit")
    >>> class adding(Handler):
    ...     total = 0
    ...
    ...     @handles(emit)
    ...     def add(self, n):
    ...         self.total += n
    ...
    ...     def returns(self, result):
    ...         return self.total
    >>> handle(adding(), lambda: [emit(n) for n in (1, 2, 3, 4)])
    10

    Attributes:
        performs: The operations that its clauses perform; `handle` checks that each has a handler outside this one.
    """

    performs: ClassVar[tuple[Any, ...]] = ()
    _has_ctl: ClassVar[bool] = False
    _clause_methods: ClassVar[Mapping[str, list[tuple[Any, tuple[str, ...], bool]]]] = {}

    def __init_subclass__(cls, **keywords: object) -> None:
        """Collect the marked methods, those of the bases included."""
        super().__init_subclass__(**keywords)
        marked = dict(cls._clause_methods)
        for name, value in vars(cls).items():
            if hasattr(value, "_clause_marks"):
                _check_name(cls, name)
                marked[name] = value._clause_marks
        cls._clause_methods = marked
        cls._has_ctl = any(is_ctl for marks in marked.values() for _, _, is_ctl in marks)

    def clauses(self) -> Clauses:
        """Return the clauses: for each operation whether it is ctl, and the bound method."""
        return {
            operation: (is_ctl, getattr(self, name))
            for name, marks in self._clause_methods.items()
            for operation, _, is_ctl in marks
        }

    @property
    def handled(self) -> tuple[Operation[..., Any], ...]:
        """The operations that it has clauses for; those of a composition outermost first."""
        return tuple(dict.fromkeys(operation for part in self.parts() for operation in part.clauses()))

    def returns(self, result: Inside) -> Answer:
        """The return clause: what a handled computation's value becomes; by default itself."""
        return result  # type: ignore[return-value]  # Invariant: Inside is Answer where this is not overridden

    @property
    def is_plain(self) -> bool:
        """Whether there is neither a ctl clause nor a return clause, so that installing it is all there is to do."""
        kind = type(self)
        if kind.returns is not Handler.returns:
            return False
        if kind.clauses is Handler.clauses:
            return not kind._has_ctl
        return not any(is_ctl for is_ctl, _ in self.clauses().values())

    def parts(self) -> tuple[Handler, ...]:
        """Return the handlers of a composition, outermost first."""
        return (self,)

    def __or__(self, inner: Handler[Innermost, Inside]) -> Handler[Innermost, Answer]:
        """Compose: ``inner`` is installed inside ``self``, so it sees an operation first."""
        return Composed((self, check_handler(inner, "|")))

    def __repr__(self) -> str:
        """Show the class's name."""
        return type(self).__name__


def _check_name(cls: type, name: str) -> None:
    """Refuse a clause that would replace a method of the base classes."""
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("cartesius.") and name in vars(base) and not name.startswith("__"):
            message = (
                f"{cls.__name__}: expected clauses with names of their own but {name!r} is a method of"
                f" {base.__name__}; give the clause another name"
            )
            raise InvalidArgument(message)


class Composed(Handler[Inside, Answer]):
    """A composition of handlers, outermost first; the empty one is the identity.

    >>> from cartesius.effects.handlers import Composed, Handler, handle
    >>> class quoting(Handler):
    ...     def returns(self, result):
    ...         return f"'{result}'"
    >>> Composed((quoting(), Composed(), quoting()))
    quoting | quoting
    >>> handle(Composed((quoting(), quoting())), lambda: 1)
    "''1''"
    """

    def __init__(self, handlers: tuple[Handler, ...] = ()) -> None:
        self._handlers = tuple(part for handler in handlers for part in handler.parts())

    def parts(self) -> tuple[Handler, ...]:
        """Return the composed handlers, outermost first."""
        return self._handlers

    def __repr__(self) -> str:
        """Show the composition as written."""
        return " | ".join(map(repr, self._handlers)) or "identity"


def handle(handler: Handler[Inside, Answer], thunk: Callable[[], Inside]) -> Answer:
    """Run ``thunk`` under ``handler``; return its value through the return clause, or what a ctl clause answered.

    >>> from cartesius import Handler, handle
    >>> handle(Handler(), lambda: 42)
    42

    Raises:
        InvalidArgument: ``handler`` is none.
        UnhandledOperation: A handler declares that it performs what no handler outside it handles.
    """
    parts = check_handler(handler, "handle").parts()
    for part in parts:
        if part.performs:
            check_performed(parts)
            break
    return _run(parts, thunk)  # type: ignore[no-any-return]  # its handlers are known at run time


def _run(parts: tuple[Handler, ...], thunk: Callable[[], Any]) -> Any:
    outside = frame = getattr(running(), "stack", None)
    for place, part in enumerate(parts):
        frame = Frame(part, part.clauses(), frame)
        if not part.is_plain:
            inside = parts[place + 1 :]
            break
    else:
        return _within(frame, outside, thunk)
    rest = thunk if not inside else partial(_run, inside, thunk)
    running().stack = frame.outer
    try:
        if any(is_ctl for is_ctl, _ in frame.clauses.values()):
            frame.prompt = Prompt(frame)
            return frame.prompt.start(rest)
        return part.returns(_within(frame, frame.outer, rest))
    finally:
        running().stack = outside


def _within(frame: Frame | None, outside: Frame | None, thunk: Callable[[], Any]) -> Any:
    running().stack = frame
    try:
        return thunk()
    finally:
        running().stack = outside


def check_handler(value: object, call: str) -> Handler:
    """Return ``value`` if it is a handler; otherwise raise `InvalidArgument` in the name of ``call``."""
    if isinstance(value, Handler):
        return value
    if isinstance(value, type) and issubclass(value, Handler):
        got = f"the class {value.__name__}; call it: {value.__name__}(...)"
    else:
        got = f"{value!r} (type={type(value).__name__}); subclass Handler and make one"
    message = f"{call}: expected a handler or a restriction but got {got}"
    raise InvalidArgument(message)
