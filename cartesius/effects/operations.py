"""Operations: fresh, named effects.

An `Operation` is an ordinary object, so it is *generative*: two operations of one name are two effects, and a
correlation owns one operation a slot, of any payload type. Calling it performs it: the innermost handler in force
with a clause for it decides what that means. An `Implicit` variable is an operation with one meaning, its value.

Source: ICFP 2018, doi:10.1145/3236762, sections 3 and 7 (generativity), Figure 6 (implicit variables).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar

from cartesius.effects.resumptions import running
from cartesius.errors import InvalidArgument, UnhandledOperation, block

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from typing_extensions import ParamSpec as ParamSpecWithDefault
    from typing_extensions import TypeVar as TypeVarWithDefault

    from cartesius.effects.handlers import Handler
    from cartesius.effects.resumptions import Prompt

    P = ParamSpecWithDefault("P", default=...)
    R = TypeVarWithDefault("R", default=Any)
else:
    P = ParamSpec("P")
    R = TypeVar("R")

T = TypeVar("T")


class Missing(enum.Enum):
    """What an argument is that is not given, where any value may be. An enum, to survive copying."""

    ARGUMENT = "not given"

    def __repr__(self) -> str:
        """Say it, as `help` does of defaults."""
        return f"<{self.value}>"


MISSING: Final = Missing.ARGUMENT


class Frame:
    """A handler in force: its clauses, the frame outside it, and its prompt if it has ctl clauses.

    One of a stack that stays (its ``evidence``) remembers which clause of that stack an operation has found from here.
    """

    __slots__ = ("clauses", "evidence", "found", "handler", "outer", "prompt")

    def __init__(
        self,
        handler: object,
        clauses: dict[Operation[..., Any], tuple[bool, Callable[..., Any]]],
        outer: Frame | None,
        evidence: object = None,
    ) -> None:
        self.handler: object | None = handler
        self.clauses = clauses
        self.outer = outer
        self.prompt: Prompt | None = None
        self.evidence = evidence
        self.found: dict[Operation[..., Any], tuple[Frame, bool, Callable[..., Any]]] = {}

    def find(self, operation: Operation[..., Any]) -> tuple[Frame, bool, Callable[..., Any]]:
        """Return the innermost frame with a clause for ``operation``, and the clause: whether it is ctl, and itself."""
        frame: Frame | None = self
        while frame is not None:
            clause = frame.clauses.get(operation)
            if clause is not None:
                found = (frame, *clause)
                if self.evidence is not None and frame.evidence is self.evidence:
                    self.found[operation] = found
                return found
            frame = frame.outer
        raise UnhandledOperation(_unhandled(operation, self))


class Operation(Generic[P, R]):
    """A fresh effect named ``name``; calling it performs it. May suspend, if a ctl clause handles it.

    >>> from cartesius import Handler, handle, handles
    >>> ask = Operation("ask")
    >>> class answering(Handler):
    ...     @handles(ask)
    ...     def answer(self, question):
    ...         return len(question)
    >>> handle(answering(), lambda: ask("why") + 1)
    4

    Annotated, it is checked: by mypy where it is performed, and in the clauses that handle it.

    >>> length: Operation[[str], int] = Operation("length")

    Args:
        name: How it is called in errors and explanations.

    Raises:
        UnhandledOperation: When performed with no handler for it in force.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R:
        """Perform the operation: run the clause of the innermost handler that has one; arguments are given by place."""
        if keywords:
            message = (
                f"{self}: expected arguments by their places but got {', '.join(keywords)} by name; leave names out"
            )
            raise InvalidArgument(message)
        here = running().__dict__  # not the coroutine itself: a suspended frame must not hold its own
        stack = here.get("stack")
        if stack is None:
            raise UnhandledOperation(_unhandled(self, None))
        frame, is_ctl, function = stack.found.get(self) or stack.find(self)
        if is_ctl:
            outside = frame.prompt.post(self, function, arguments)
            del here, stack, frame, function  # what is suspended must not keep its handler alive
            return outside.switch()  # type: ignore[no-any-return]  # what it gives is the answer of the clause
        performing = here.get("performing")
        here["stack"], here["performing"] = frame.outer, self
        try:
            return function(*arguments)  # type: ignore[no-any-return]  # likewise
        finally:
            here["stack"], here["performing"] = stack, performing

    def __repr__(self) -> str:
        """Show the name."""
        return f"<operation {self.name}>"


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

    def __init__(self, name: str, default: T = MISSING) -> None:  # type: ignore[assignment]  # stands for no default
        super().__init__(name)
        self.default: T = default

    def __call__(self) -> T:
        """Read the innermost binding, or the default."""
        frame = getattr(running(), "stack", None)
        while frame is not None and self not in frame.clauses:
            frame = frame.outer
        if frame is None and self.has_default:
            return self.default
        return super().__call__()

    @property
    def has_default(self) -> bool:
        """Whether it may be read where nobody has bound it."""
        return self.default is not MISSING

    @block
    def bound_to(self, value: T) -> Generator[None]:
        """Bind the variable inside a ``with`` block, for all that runs in this thread meanwhile: other tasks, too."""
        here = running()
        outside = getattr(here, "stack", None)
        here.stack = frame = Frame(self, {self: (False, lambda: value)}, outside)
        del here
        try:
            yield
        finally:
            frame.clauses = {}  # who ends it elsewhere, as a generator may be, finds others in force, or it in between
            stack = getattr(running(), "stack", None)
            while stack is not None and isinstance(stack.handler, Implicit) and not stack.clauses:
                stack = stack.outer
            running().stack = stack

    def __repr__(self) -> str:
        """Show the name."""
        return f"<implicit {self.name}>"


def forward(*arguments: object) -> Any:
    """Perform, in a clause, the operation that it handles, with these arguments: the next handler outwards sees it.

    >>> from cartesius import Handler, handle, handles
    >>> say = Operation("say")
    >>> class loudly(Handler):
    ...     @handles(say)
    ...     def louder(self, words):
    ...         return forward(words.upper())
    >>> class printing(Handler):
    ...     @handles(say)
    ...     def show(self, words):
    ...         print(words)
    >>> handle(printing() | loudly(), lambda: say("ahoy"))
    AHOY

    Raises:
        UnhandledOperation: Outside a clause, or when no outer handler has a clause for the operation.
    """
    operation = running().__dict__.get("performing")
    if operation is None:
        message = (
            "forward: expected to be called in a clause of a handler but there is no operation to forward here;"
            " perform one by calling it, or move this into a clause"
        )
        raise UnhandledOperation(message)
    return operation(*arguments)


def check_performed(parts: Iterable[Handler], call: str = "handle") -> None:
    """Check that what each of ``parts``, outermost first, declares to perform has a handler outside it.

    That is a part further out, or a handler in force here; an `Implicit` variable with a default needs none. Only
    operations are looked at: the families of restrictions are not.

    >>> from cartesius import Handler, handles
    >>> ask, tell = Operation("ask"), Operation("tell")
    >>> class answering(Handler):
    ...     @handles(ask)
    ...     def answer(self):
    ...         return 42
    >>> class translating(Handler):
    ...     performs = (ask,)
    ...
    ...     @handles(tell)
    ...     def translate(self):
    ...         return ask()
    >>> check_performed([answering(), translating()])
    >>> check_performed([translating(), answering()])
    Traceback (most recent call last):
    cartesius.errors.UnhandledOperation: handle: expected a handler outside translating for ask, which it performs, ...

    Raises:
        UnhandledOperation: For the first operation that has none.
    """
    parts = tuple(parts)
    if not any(part.performs for part in parts):  # as nearly always: nothing is looked up, and no text is made
        return
    frame = getattr(running(), "stack", None)
    handled: set[Any] = set()
    outside: list[str] = []
    while frame is not None:
        handled.update(frame.clauses)
        outside.append(repr(frame.handler))
        frame = frame.outer
    for part in parts:
        for operation in part.performs:
            if operation in handled or not isinstance(operation, Operation):
                continue
            if isinstance(operation, Implicit) and operation.has_default:
                continue
            message = (
                f"{call}: expected a handler outside {part!r} for {operation.name}, which it performs, but those"
                f" outside it, innermost first, are: {', '.join(outside) or 'none'}; put one to its left, as in"
                f" other | {part!r}, or install one around this call with handle(handler, thunk)"
            )
            raise UnhandledOperation(message)
        handled.update(part.handled)
        outside.insert(0, repr(part))


def _unhandled(operation: Operation[Any, Any], stack: Any) -> str:
    names = []
    while stack is not None:
        names.append(repr(stack.handler))
        stack = stack.outer
    force = ", ".join(names) or "none"
    return (
        f"{operation.name}: expected a handler with a clause for this operation but the handlers in force, innermost"
        f" first, are: {force}; install one around this call with handle(handler, thunk)"
    )
