"""Every error that Cartesius raises on purpose.

One base, `CartesiusError`; each leaf also inherits the builtin that a stranger would catch. A leaf's docstring says
whose fault it is. Messages follow one form: what was called, what was expected, what came instead, and what to do.
"""

from __future__ import annotations

import difflib
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")


class CartesiusError(Exception):
    """Base of all errors raised by Cartesius; catch it to catch them all.

    >>> from cartesius import CartesiusError, Reactive
    >>> try:
    ...     Reactive("")
    ... except CartesiusError as error:
    ...     print(error)
    Reactive: expected a name but got name='' (type=str); give it a string
    """


def add_note(error: BaseException, note: str) -> None:
    """Note something on an error of anybody's: its class may be frozen, so that its own `add_note` raises."""
    notes = getattr(error, "__notes__", None)
    BaseException.__setattr__(error, "__notes__", [*(notes if isinstance(notes, list) else ()), note])


class Block(Generic[T]):
    """A context manager of a generator with one ``yield``; the generator lets errors pass."""

    def __init__(self, steps: Generator[T]) -> None:
        self._steps = steps

    def __enter__(self) -> T:
        return next(self._steps)

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is None:
            next(self._steps, None)
            return
        try:
            self._steps.throw(error)
        except BaseException as raised:
            is_wrapped = isinstance(error, StopIteration) and raised.__cause__ is error  # no generator raises that
            if raised is not error and not is_wrapped:
                raise
        BaseException.with_traceback(error, traceback)


def block(made: Callable[P, Generator[T]]) -> Callable[P, Block[T]]:
    """Return `contextlib.contextmanager` of a function, which sets no attribute of errors that pass: some are frozen.

    >>> @block
    ... def tidy():
    ...     yield "in"
    ...     print("out")
    >>> with tidy() as where:
    ...     print(where)
    in
    out
    """

    @wraps(made)
    def begin(*arguments: P.args, **options: P.kwargs) -> Block[T]:
        return Block(made(*arguments, **options))

    return begin


def add_place(error: BaseException, place: str) -> None:
    """Note where an error came from, unless a place further inside has been noted."""
    if not any(note.startswith(("in the clause ", "in the body of ")) for note in getattr(error, "__notes__", ())):
        add_note(error, place)


def near(name: object, known: Iterable[str]) -> str:
    """Return the hint at the names that ``name`` may have been meant as; empty if there is none.

    >>> near("draft", ["draught", "depth"])
    "; did you mean 'draught'?"
    >>> near("MMSI", ["mmsi", "draught"])
    "; did you mean 'mmsi'?"
    """
    names, wanted = list(known), str(name).casefold()
    found = [one for one in names if one.casefold() == wanted] or difflib.get_close_matches(str(name), names, n=2)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


def shortened(text: str, longest: int = 500) -> str:
    """Return a text for a message: what is beyond ``longest`` characters is left out, but counted.

    >>> shortened("a long story", 6)
    'a long… (6 characters more)'
    """
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} characters more)"


def as_text(value: object, write: Callable[[object], str] = repr) -> str:
    """Return a value as text, or why it has none: what an engine takes, a message or a record of it does not refuse.

    >>> as_text("tea"), as_text(7, str), as_text(10**5000)
    ("'tea'", '7', '<int without a text: ValueError>')

    Args:
        value: Any.
        write: Makes the text.
    """
    try:
        return write(value)
    except Exception as error:  # users' classes may raise anything, and some numbers are too long for Python
        return f"<{type(value).__name__} without a text: {type(error).__name__}>"


def places_of(error: BaseException) -> list[str]:
    """Return the notes that say where in a program an error came from, the innermost first.

    >>> error = ValueError("no")
    >>> add_place(error, "in the body of pairs")
    >>> places_of(error)
    ['in the body of pairs']
    """
    return [note for note in getattr(error, "__notes__", ()) if note.startswith("in the ")]


def carried(error: BaseException, emitted: Any, inner: list[Any] | None = None) -> bool:
    """Let an error carry, as ``emitted``, what a call has emitted that stands; return whether it takes attributes.

    >>> error, inner = ValueError("no"), ["a"]
    >>> carried(error, inner), carried(error, ["b"], inner), error.emitted
    (True, True, ['b', 'a'])
    >>> carried(error, ["c"]), error.emitted
    (True, ['c'])

    Args:
        error: The error; what it carries may be of a call before, or of another engine.
        emitted: What the call has emitted, a list beside ``inner``.
        inner: What the last call has that a subscriber has made meanwhile: if the error carries that, it comes after.
    """
    try:
        if inner and inner is getattr(error, "emitted", None):
            emitted = emitted + inner
        BaseException.__setattr__(error, "emitted", emitted)  # its class may be frozen
    except Exception:  # it has a property of that name
        return False
    return True


def unloaded(error: BaseException) -> Any:
    """Return what an error carries, and let it carry nothing; None if it does not.

    >>> error = ValueError("no")
    >>> carried(error, ["a"]), unloaded(error), unloaded(error)
    (True, ['a'], None)
    """
    with suppress(Exception):  # it has a property of that name
        emitted = error.emitted  # type: ignore[attr-defined]  # `carried` sets it
        BaseException.__delattr__(error, "emitted")
        return emitted
    return None


class InvalidArgument(CartesiusError, ValueError):
    """An argument is out of range, unknown or of the wrong kind: the caller's fault, raised before anything changed."""


class NotInstalled(CartesiusError, ImportError):
    """A package is missing that not everybody needs: install what the message says, an extra of the distribution.

    Not `InvalidArgument`: the call is fine where the package is there.
    """


class NotReachable(CartesiusError, ConnectionError):
    """A server did not answer, or not in time: its own fault, or that of its address, or of the network between.

    What was kept stands: start again when the server is there.
    """


class OrderMismatch(CartesiusError, TypeError):
    """Results would depend on an order that an input does not have: the correlation's fault, or its declaration's.

    Not `InvalidArgument`: each argument is fine by itself, as in a type error.
    """


class UnhandledOperation(CartesiusError, RuntimeError):
    """An operation was performed and no handler in force has a clause for it: a handler is missing outside."""


class ResumptionUsed(CartesiusError, RuntimeError):
    """A one-shot resumption was resumed twice: the fault of the ctl clause that did it."""


class Deadlock(CartesiusError, RuntimeError):
    """Every strand of an `interleave` waits, and nobody is left to resolve what they wait for."""


class WrongThread(CartesiusError, RuntimeError):
    """An engine was used by a second thread: it belongs to the thread that built it."""


class EngineBroken(CartesiusError, RuntimeError):
    """Nobody knows what the state is: build a new engine, or restore a snapshot.

    A push failed while a handler held a live continuation, which cannot be undone; or a call was interrupted (Ctrl-C, a
    signal) while it changed the state.
    """


class QueueFull(CartesiusError, RuntimeError):
    """A gate with a limit holds as many events as it may: the other inputs lag behind, or the limit is too low."""


class NotStorable(CartesiusError, TypeError):
    """A value cannot be part of a snapshot: register its type with `storable`, or use plain data."""


class ShutOut(CartesiusError, RuntimeError):
    """Another run has taken over what this one wrote, as it was believed to be dead: end this one.

    Not `InvalidArgument`: what another run has from the beginning is refused by that.
    """


class SnapshotMismatch(CartesiusError, ValueError):
    """A snapshot is damaged, or belongs to another program than the one it is restored into."""


class RuleRaised(CartesiusError, RuntimeError):
    """A rule raised in a worker, and the query fails: the fault of the rule, or of the row; the cause says how."""


class InternalError(CartesiusError, RuntimeError):
    """An invariant of Cartesius itself is broken: please report this."""
