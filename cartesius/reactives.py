"""Reactives: named sources of events, declared by the user or derived by a correlation.

A declared reactive is pushed into an engine; a derived one carries its pattern, from which the engine finds the inputs.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, final

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.patterns import Pattern


class Undeclared(enum.Enum):
    """That a table does not declare its key: rows come as `Update` and `Delete` only. An enum, to survive copying."""

    KEY = "undeclared"


UNDECLARED: Final = Undeclared.KEY


@final
class Reactive:
    """A named source of events.

    >>> Reactive("tide")
    Reactive('tide')

    Args:
        name: Its name, unique among the inputs of an engine.
        table: Whether it carries `Update` and `Delete`, the changes of a keyed table.
        key: For a table: the field of a row that is its key, or None for a table of one row; then bare rows may be
            pushed.
        type: The type of its payloads, if it is an attrs class, a dataclass or a named tuple.
        fields: The names of the fields of its payloads, where they are known.

    Raises:
        InvalidArgument: The name is empty or not a string.
    """

    __slots__ = ("fields", "key", "name", "pattern", "table", "type")

    def __init__(
        self,
        name: str,
        *,
        table: bool = False,
        key: str | Undeclared | None = UNDECLARED,
        type: type | None = None,
        fields: Iterable[str] = (),
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
        self.pattern = pattern

    def __repr__(self) -> str:
        """Show the name."""
        return f"Reactive({self.name!r})"


def check_reactive(value: object, call: str, argument: str) -> Reactive:
    """Return ``value`` if it is a reactive; otherwise raise `InvalidArgument` in the name of ``call``."""
    if isinstance(value, Reactive):
        return value
    message = f"{call}: expected a Reactive but got {argument}={value!r} (type={type(value).__name__})"
    if callable(value):
        message += "; did you forget yields=, or to decorate a generator function with correlate(…)?"
    raise InvalidArgument(message)
