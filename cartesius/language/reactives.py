"""Reactives: named sources of events, declared by the user or derived by a correlation.

A declared reactive is pushed into an engine; a derived one carries its pattern, from which the engine finds the inputs.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterable, Iterable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, final, overload

from cartesius.data.codec import storable
from cartesius.errors import InvalidArgument
from cartesius.language.orders import Order, checked_order

if (
    TYPE_CHECKING
):  # defaults are for type checkers alone: at run time they would need typing_extensions before Python 3.13
    from typing_extensions import TypeVar

    from cartesius.data.events import Delete, Update
    from cartesius.language.patterns import Pattern

    Payload = TypeVar("Payload", default=Any)
    Carried = TypeVar("Carried", default=Payload)
    Kind = TypeVar("Kind")
else:
    from typing import TypeVar

    Payload = TypeVar("Payload")
    Carried = TypeVar("Carried")

Items: TypeAlias = "Iterable[Any] | AsyncIterable[Any]"


@storable
class Undeclared(enum.Enum):
    """That a table does not declare its key: rows come as `Update` and `Delete` only. An enum, to survive copying."""

    KEY = "undeclared"


UNDECLARED: Final = Undeclared.KEY


@final
class Reactive(Generic[Payload, Carried]):
    """A named source of events.

    For type checkers ``Reactive[Order]`` is a stream of orders: what a variable of `correlate` is bound to, and what is
    pushed. A table carries changes of its rows, `Update` and `Delete`: ``Reactive[Order, Update[Order] | Delete]``. One
    without ``type=`` is a ``Reactive[Any]``, and may be written ``Reactive``.

    >>> Reactive("tide")
    Reactive('tide')

    Args:
        name: Its name, unique among the inputs of an engine.
        table: Whether it carries `Update` and `Delete`, the changes of a keyed table.
        key: For a table: the field of a row that is its key, or None for a table of one row; then bare rows may be
            pushed.
        type: The type of its payloads, if it is an attrs class, a dataclass or a named tuple.
        fields: The names of the fields of its payloads, where they are known.
        items: Events that it has already, as `of` takes them.
        order: In which order its events come, by `ordered` or `unordered`; None: nothing is said, and nothing checked.

    Raises:
        InvalidArgument: The name is empty or not a string, or the order none.
    """

    __slots__ = ("fields", "items", "key", "name", "order", "pattern", "table", "type")

    if not TYPE_CHECKING:
        __class_getitem__ = classmethod(GenericAlias)  # one argument is enough, though Python knows no defaults

    @overload
    def __init__(
        self: Reactive[Kind],
        name: str,
        *,
        table: Literal[False] = False,
        type: type[Kind],
        fields: Iterable[str] = (),
        items: Items | None = None,
        order: Order | None = None,
        pattern: Pattern | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self: Reactive[Kind, Update[Kind] | Delete],
        name: str,
        *,
        table: Literal[True],
        key: str | Undeclared | None = UNDECLARED,
        type: type[Kind],
        fields: Iterable[str] = (),
        items: Items | None = None,
        order: Order | None = None,
        pattern: Pattern | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self: Reactive[Any, Any],
        name: str,
        *,
        table: bool = False,
        key: str | Undeclared | None = UNDECLARED,
        type: type | None = None,
        fields: Iterable[str] = (),
        items: Items | None = None,
        order: Order | None = None,
        pattern: Pattern | None = None,
    ) -> None: ...

    def __init__(
        self,
        name: str,
        *,
        table: bool = False,
        key: str | Undeclared | None = UNDECLARED,
        type: type | None = None,
        fields: Iterable[str] = (),
        items: Items | None = None,
        order: Order | None = None,
        pattern: Pattern | None = None,
    ) -> None:
        if not (isinstance(name, str) and name):
            message = (
                f"Reactive: expected a name but got name={name!r} (type={name.__class__.__name__}); give it a string"
            )
            raise InvalidArgument(message)
        self.name = name
        self.table = table
        self.key = key
        self.type = type
        self.fields = tuple(fields)
        self.items = items
        self.order = checked_order(order)
        self.pattern = pattern

    @classmethod
    def of(cls, items: Items, *, name: str = "of", **options: Any) -> Reactive:
        """Return a source of which something is there already: an iterable, to which more may be pushed later.

        An engine takes these events at its first use, input by input in slot order, as if it had been pushed; an
        async iterable is eaten by `Engine.events`.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import zip_
        >>> left, right = Reactive.of([1, 2, 3]), Reactive.of("ab")
        >>> engine = Engine(zip_(left, right))
        >>> [event.value for event in engine.pull()]
        [(1, 'a'), (2, 'b')]
        >>> [event.value for event in engine.push(right, "c")]
        [(3, 'c')]

        Args:
            items: Payloads, or an `Event` each where the time matters: a finite iterable, or an async iterable. An
                iterator serves one engine only.
            name: Its name; a number is added if an engine has several of one name.
            **options: As for `Reactive`.

        Raises:
            InvalidArgument: ``items`` is no iterable.

        Source:
            ICFP 2018, doi:10.1145/3236762, Figure 9 (a list whose tail is a future).
        """
        if not isinstance(items, Iterable | AsyncIterable):
            message = f"Reactive.of: expected an iterable but got {items!r} (type={items.__class__.__name__})"
            raise InvalidArgument(message)
        return cls(name, items=items, **options)

    def __repr__(self) -> str:
        """Show the name."""
        return f"Reactive({self.name!r})"

    def _repr_html_(self) -> str | None:
        return None if self.pattern is None else self.pattern._repr_html_()


class ListBinding(Generic[Payload]):
    """Base of what binds a variable of `correlate` to several events of a ``source``: no reactive by itself."""

    source: Reactive


def check_reactive(value: object, call: str, argument: str) -> Reactive:
    """Return ``value`` if it is a reactive; otherwise raise `InvalidArgument` in the name of ``call``."""
    if isinstance(value, Reactive):
        return value
    message = f"{call}: expected a Reactive but got {argument}={value!r} (type={type(value).__name__})"
    if callable(value):
        message += "; did you forget yields=, or to decorate a generator function with correlate(…)?"
    elif isinstance(value, ListBinding):
        message += "; it binds a variable of correlate: correlate(x=…)"
    raise InvalidArgument(message)
