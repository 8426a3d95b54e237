"""Handlers: what operations mean.

A `Handler` is a class with clauses. A **fun** clause (`handles`) is tail-resumptive: a plain call whose return value
is the operation's. A **ctl** clause (`controls`) receives a one-shot `resume` as its last argument. Handlers are
deep, may hold parameters (their attributes), may have a return clause (`returns`), and compose: in ``h1 | h2`` the
right one is inside, so it sees an operation first and may `forward` it. Operations performed in a clause are seen by
outer handlers only.

Source: ICFP 2018, doi:10.1145/3236762, Figures 4 to 7; Xie & Leijen, Generalized Evidence Passing, ICFP 2021.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from cartesius.errors import InvalidArgument
from cartesius.operations import Operation
from cartesius.resumptions import Prompt, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

F = TypeVar("F", bound="Callable[..., Any]")
T = TypeVar("T")

Clauses = dict[Operation[..., Any], tuple[bool, "Callable[..., Any]"]]


class Frame:
    """A handler in force: its clauses, the frame outside it, and its prompt if it has ctl clauses."""

    __slots__ = ("clauses", "handler", "outer", "prompt")

    def __init__(self, handler: Handler, clauses: Clauses, outer: Frame | None) -> None:
        self.handler: Handler | None = handler
        self.clauses = clauses
        self.outer = outer
        self.prompt: Prompt | None = None


def handles(operation: Any, *fields: str) -> Callable[[F], F]:
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
    """
    return _marking(operation, fields, is_ctl=False)


def controls(operation: Any, *fields: str) -> Callable[[F], F]:
    """Mark a method as the ctl clause for ``operation``: it receives ``resume`` last, and may use it once, or never.

    >>> from cartesius import Handler, Operation, controls, handle
    >>> leave = Operation("leave")
    >>> class catching(Handler):
    ...     @controls(leave)
    ...     def caught(self, reason, resume):
    ...         return f"left: {reason}"
    >>> handle(catching(), lambda: leave("tired"))
    'left: tired'
    """
    return _marking(operation, fields, is_ctl=True)


def _marking(operation: Any, fields: tuple[str, ...], *, is_ctl: bool) -> Callable[[F], F]:
    def mark(method: F) -> F:
        marks = [*getattr(method, "_clause_marks", ()), (operation, fields, is_ctl)]
        method._clause_marks = marks  # type: ignore[attr-defined]
        return method

    return mark


class Handler:
    """Base of handlers: subclass it, keep parameters as attributes, and mark clauses with `handles` and `controls`.

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
    """

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

    def clauses(self) -> Clauses:
        """Return the clauses: for each operation whether it is ctl, and the bound method."""
        return {
            operation: (is_ctl, getattr(self, name))
            for name, marks in self._clause_methods.items()
            for operation, _, is_ctl in marks
        }

    def returns(self, result: Any) -> Any:
        """The return clause: what a handled computation's value becomes; by default itself."""
        return result

    @property
    def is_plain(self) -> bool:
        """Whether there is neither a ctl clause nor a return clause, so that installing it is all there is to do."""
        return type(self).returns is Handler.returns and not any(is_ctl for is_ctl, _ in self.clauses().values())

    def parts(self) -> tuple[Handler, ...]:
        """Return the handlers of a composition, outermost first."""
        return (self,)

    def __or__(self, inner: Handler) -> Handler:
        """Compose: ``inner`` is installed inside ``self``, so it sees an operation first."""
        return Composed((*self.parts(), *inner.parts()))

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


class Composed(Handler):
    """A composition of handlers, outermost first; the empty one is the identity."""

    def __init__(self, handlers: tuple[Handler, ...] = ()) -> None:
        self._handlers = handlers

    def parts(self) -> tuple[Handler, ...]:
        """Return the composed handlers, outermost first."""
        return self._handlers

    def __repr__(self) -> str:
        """Show the composition as written."""
        return " | ".join(map(repr, self._handlers)) or "identity"


def handle(handler: Handler, thunk: Callable[[], T]) -> Any:
    """Run ``thunk`` under ``handler``; return its value through the return clause, or what a ctl clause answered.

    >>> from cartesius import Handler, handle
    >>> handle(Handler(), lambda: 42)
    42
    """
    outside = frame = getattr(running(), "stack", None)
    parts = check_handler(handler, "handle").parts()
    for place, part in enumerate(parts):
        frame = Frame(part, part.clauses(), frame)
        if not part.is_plain:
            inside = parts[place + 1 :]
            break
    else:
        return _within(frame, outside, thunk)
    rest = thunk if not inside else partial(handle, Composed(inside), thunk)
    running().stack = frame.outer
    try:
        if any(is_ctl for is_ctl, _ in frame.clauses.values()):
            frame.prompt = Prompt(frame)
            return frame.prompt.start(rest)
        return part.returns(_within(frame, frame.outer, rest))
    finally:
        running().stack = outside


def _within(frame: Frame | None, outside: Frame | None, thunk: Callable[[], T]) -> T:
    running().stack = frame
    try:
        return thunk()
    finally:
        running().stack = outside


class Implicit(Operation[[], T], Generic[T]):
    """An implicit variable: bound for a dynamic extent, read by calling it (the paper's ``?v``).

    >>> from cartesius import Implicit
    >>> depth = Implicit("depth", default=0)
    >>> with depth.bound_to(3):
    ...     depth()
    3
    >>> depth()
    0

    Args:
        name: Its name in errors.
        default: Its value where nobody has bound it; without one, reading it there raises `UnhandledOperation`.
    """

    __slots__ = ("default",)

    _missing: ClassVar[object] = object()

    def __init__(self, name: str, default: Any = _missing) -> None:
        super().__init__(name)
        self.default = default

    def __call__(self) -> T:
        """Read the innermost binding, or the default."""
        frame = getattr(running(), "stack", None)
        while frame is not None and self not in frame.clauses:
            frame = frame.outer
        if frame is None and self.default is not Implicit._missing:
            return self.default  # type: ignore[no-any-return]
        return super().__call__()

    @contextmanager
    def bound_to(self, value: T) -> Iterator[None]:
        """Bind the variable inside a ``with`` block."""
        here = running()
        outside = getattr(here, "stack", None)
        here.stack = Frame(Handler(), {self: (False, lambda: value)}, outside)
        del here
        try:
            yield
        finally:
            running().stack = outside


def check_handler(value: object, call: str) -> Handler:
    """Return ``value`` if it is a handler; otherwise raise `InvalidArgument` in the name of ``call``."""
    if isinstance(value, Handler):
        return value
    message = f"{call}: expected a handler or a restriction but got {value!r} (type={type(value).__name__})"
    if isinstance(value, type) and issubclass(value, Handler):
        message += f"; call it: {value.__name__}(...)"
    raise InvalidArgument(message)
