"""Kinds: which Python values structs and leaves stand for, and how those are made of what the columns hold.

A kind is a name, and behind a blank a parameter; it is kept in the metadata of an Arrow field.

Invariant: a kind says all that is needed, so that what was written in one process is read in another.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from cartesius.data.codec import registered, unpack
from cartesius.data.events import Delete, Interval, Update, Window
from cartesius.data.records import Record
from cartesius.expressions.made_values import Chained, Labelled, Made, Names, Noted, Present
from cartesius.expressions.phases import MARK

if TYPE_CHECKING:
    from collections.abc import Callable


def _unpacked(text: str) -> Any:
    return unpack(json.loads(text))


def _of_all(function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    return lambda values: function(*values)


@lru_cache(maxsize=4096)
def _constant(parameter: str) -> Callable[[list[Any]], list[Any]]:
    value = _unpacked(parameter)
    return lambda values: [value] * len(values)


def _noted(parameter: str) -> Callable[[list[Any]], list[Any]]:
    function = Noted(json.loads(parameter))
    return lambda values: list(map(function, values))


def _marked(names: tuple[str, ...], _: str) -> Callable[[tuple[Any, ...]], Any]:
    def make(values: tuple[Any, ...]) -> Record:
        columns = zip(names, values, strict=True)
        return Record({name: value for name, value in columns if value is not None or not name.startswith(MARK)})

    return make


MAKERS: Final[dict[str, Callable[[tuple[str, ...], str], Callable[[tuple[Any, ...]], Any]]]] = {
    "record": lambda names, _: lambda values: Record(dict(zip(names, values, strict=True))),
    "marked": _marked,
    "dict": lambda names, _: lambda values: dict(zip(names, values, strict=True)),
    "tuple": lambda names, _: tuple,
    "interval": lambda names, _: _of_all(Interval),
    "window": lambda names, _: _of_all(Window),
    "change": lambda names, _: lambda values: Delete(values[0]) if values[2] else Update(*values[:2]),
    "made": lambda names, kind: _of_all(Made(registered(kind), names)),
    "present": lambda names, _: _of_all(Present(names)),
    "chained": lambda names, _: _of_all(Chained(names)),
    "names": lambda _, given: _of_all(Names(tuple(json.loads(given)))),
    "labelled": lambda names, notes: _of_all(Labelled(tuple(zip(names, json.loads(notes), strict=True)))),
}
"""How the values of a kind of struct are made: of the names of the fields, and the parameter."""
READERS: Final[dict[str, Callable[[str], Callable[[list[Any]], list[Any]]]]] = {
    "packed": lambda _: lambda values: [None if value is None else _unpacked(value) for value in values],
    "constant": _constant,
    "noted": _noted,
}
"""How the values of a kind of leaf are made, of the parameter."""
