"""Operations: fresh, named effects.

An `Operation` is an ordinary object, so it is *generative*: two operations of one name are two effects, and a
correlation owns one operation a slot, of any payload type. Calling it performs it: the innermost handler in force
with a clause for it decides what that means.

Source: ICFP 2018, doi:10.1145/3236762, sections 3 and 7 (generativity).
"""

from __future__ import annotations

from typing import Any, Generic, ParamSpec, TypeVar

from cartesius.errors import UnhandledOperation
from cartesius.resumptions import running

P = ParamSpec("P")
R = TypeVar("R")


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

    Args:
        name: How it is called in errors and explanations.

    Raises:
        UnhandledOperation: When performed with no handler for it in force.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: P.args, **_: P.kwargs) -> R:
        """Perform the operation: run the clause of the innermost handler that has one."""
        here = running()
        stack = getattr(here, "stack", None)
        frame = stack
        while frame is not None:
            clause = frame.clauses.get(self)
            if clause is not None:
                break
            frame = frame.outer
        else:
            raise UnhandledOperation(_unhandled(self, stack))
        is_ctl, function = clause
        if is_ctl:
            outside = frame.prompt.post(self, function, arguments)
            del here, stack, frame, clause, function  # what is suspended must not keep its handler alive
            return outside.switch()  # type: ignore[no-any-return]
        performing = here.__dict__.get("performing")
        here.stack = frame.outer
        here.performing = self
        del here  # a suspended frame must not hold its own coroutine
        try:
            return function(*arguments)  # type: ignore[no-any-return]
        finally:
            here = running()
            here.stack = stack
            here.performing = performing
            del here

    def __repr__(self) -> str:
        """Show the name."""
        return f"<operation {self.name}>"


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
        message = "forward: expected to be called in a clause of a handler; there is no operation to forward here"
        raise UnhandledOperation(message)
    return operation(*arguments)


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
