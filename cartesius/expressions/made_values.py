"""Made values: objects and tuples that a function makes of values, in expressions that columns can compute.

Each has names for its parts, by which they are found where the values are columns.

Invariant: a function here gives over columns, row by row, what it gives here.

Source: `missing_values`.
"""

from __future__ import annotations

from typing import Any

import attrs


def only_if(condition: Any, value: Any) -> Any:
    """Return a value where a condition holds, None elsewhere.

    >>> only_if(True, 3), only_if(None, 3)
    (3, None)
    """
    return value if condition else None


@attrs.frozen
class FirstCase:
    """The value of the first condition that holds; the last one where none does.

    >>> FirstCase(("red", "green"))(False)
    'green'
    """

    values: tuple[str, ...]

    def __call__(self, *conditions: Any) -> str:
        """Choose."""
        cases = zip(self.values, conditions, strict=False)  # there is one value more
        return next((value for value, condition in cases if condition), self.values[-1])


@attrs.frozen
class Made:
    """An object of a registered class, of the values of its fields, in their order.

    >>> Made(complex, ("real", "imag"))(1, 2)
    (1+2j)
    """

    kind: type
    names: tuple[str, ...]

    def __call__(self, *values: Any) -> Any:
        """Make it."""
        return self.kind(**dict(zip(self.names, values, strict=True)))


@attrs.frozen
class Present:
    """The tuple of those items that are there, which have names for who looks at columns.

    >>> Present(("a", "b"))(None, 3)
    (3,)
    """

    names: tuple[str, ...]

    def __call__(self, *items: Any) -> tuple[Any, ...]:
        """Leave the others out."""
        return tuple(item for item in items if item is not None)


@attrs.frozen
class Sole:
    """The only item of a tuple.

    >>> Sole()((3,))
    3
    """

    def __call__(self, items: tuple[Any]) -> Any:
        """Take it out."""
        return items[0]


@attrs.frozen
class Chained:
    """The items of several tuples as one, each with a name for who looks at columns.

    >>> Chained(("left", "right"))((1,), (2, 3))
    (1, 2, 3)
    """

    names: tuple[str, ...]

    def __call__(self, *items: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put them together."""
        return tuple(item for each in items for item in each)


@attrs.frozen
class Names:
    """The names of the conditions that hold, each once.

    >>> Names(("a", "b", "a"))(False, True, True)
    ('b', 'a')
    """

    names: tuple[str, ...]

    def __call__(self, *conditions: Any) -> tuple[str, ...]:
        """Leave the others out."""
        return tuple(dict.fromkeys(name for name, holds in zip(self.names, conditions, strict=True) if holds))


@attrs.frozen
class Labelled:
    """Values, each in a tuple with a label and a note.

    >>> Labelled((("depth", "m"),))(9.0)
    (('depth', 9.0, 'm'),)
    """

    labels: tuple[tuple[str, str], ...]

    def __call__(self, *values: Any) -> tuple[tuple[str, Any, str], ...]:
        """Put them together."""
        return tuple((label, value, note) for (label, note), value in zip(self.labels, values, strict=True))


@attrs.frozen
class Noted:
    """A value in a tuple with a note; None where it is missing.

    >>> Noted("m")(9.0), Noted("m")(None)
    ((9.0, 'm'), None)
    """

    note: str

    def __call__(self, value: Any) -> tuple[Any, str] | None:
        """Note it."""
        return None if value is None else (value, self.note)
