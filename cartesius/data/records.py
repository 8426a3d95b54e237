"""Mappings as records: a field is ``x.name``, whatever the payload is.

A mapping is wrapped once, at the door of the engine. A field always wins over a method of the same name, so a column
called ``items`` is no trap; where there is no such field, the methods of a mapping are there. The few names that Python
finds on any object before it asks for a field, such as ``__class__``, are refused as names of fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, final

from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MAPPING_METHODS = frozenset({"keys", "items", "values", "get"})


@final
class Record:
    """An immutable mapping with its fields as attributes. Equal to any mapping with equal items.

    Raises:
        InvalidArgument: A field has a name of Python's own.

    >>> ship = Record({"name": "EVA", "draught": 9.5})
    >>> ship.name, ship["draught"]
    ('EVA', 9.5)
    """

    __slots__ = ("__weakref__", "_fields")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        if not TAKEN.isdisjoint(fields):
            raise InvalidArgument(taken(fields))
        object.__setattr__(self, "_fields", {k: v if type(v) in PLAIN else wrap(v) for k, v in dict(fields).items()})

    def __getattr__(self, name: str) -> Any:
        fields = object.__getattribute__(self, "_fields")
        try:
            return fields[name]
        except KeyError:
            if name in _MAPPING_METHODS:
                return getattr(fields, name)
            message = f"there is no field {name!r}; the fields are {', '.join(map(str, fields)) or 'none'}"
            raise AttributeError(message) from None

    def __setattr__(self, name: str, value: object) -> None:
        message = f"a record cannot be changed (field {name!r}); make a new one"
        raise AttributeError(message)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return bool(self._fields == other._fields)
        return bool(self._fields == other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as dict: what equals one may change

    def __repr__(self) -> str:
        return f"Record({self._fields!r})"

    def _repr_html_(self) -> str:
        from cartesius.data.event_tables import record_html  # noqa: PLC0415 - only notebooks need it

        return record_html(self)


TAKEN = frozenset(dir(Record))
"""The names that are no fields of a record: Python finds them before it asks."""


def taken(fields: Iterable[str]) -> str:
    """Say that one of ``fields`` has a name that cannot be a field's."""
    name = next(one for one in fields if one in TAKEN)
    return f"a record: expected names of fields but got {name!r}, which Python finds on any object; rename the field"


def wrap(value: Any) -> Any:
    """Return ``value``, a mapping as a `Record`."""
    if type(value) is dict and TAKEN.isdisjoint(value) and PLAIN.issuperset(map(type, value.values())):
        record = _new(Record)  # most are so: as the initialiser would, in a third of the time
        _set_fields(record, value.copy())
        return record
    return value if type(value) in PLAIN or not isinstance(value, Mapping) else Record(value)


_new = object.__new__
_set_fields = Record._fields.__set__  # type: ignore[attr-defined]  # the descriptor of a slot
PLAIN = frozenset((Record, int, float, str, bool, bytes, type(None), tuple, list))
"""Types of which it is known that they are no mappings, so that nobody need ask."""


def reader(name: str) -> Callable[[Any], Any]:
    """Return what reads a field of a value: ``value.name``, of a record without a detour. A field of null is null.

    >>> reader("draught")(Record({"draught": 9.5}))
    9.5
    """
    is_own = not name.startswith("_")  # a record has attributes of its own that are called so

    def read(value: Any) -> Any:
        if is_own and type(value) is Record and name in (fields := value._fields):
            return fields[name]
        return None if value is None else getattr(value, name)

    return read


def path_of(get: Callable[[Any], Any]) -> list[str] | None:
    """Return the fields that an attribute getter reads, each of the one before; None: it reads several, or is none.

    >>> path_of(attrgetter("berth.depth")), path_of(attrgetter("berth", "depth"))
    (['berth', 'depth'], None)
    """
    names: Any = get.__reduce__()[1] if isinstance(get, attrgetter) else ()
    return names[0].split(".") if len(names) == 1 else None


def fields_of(record: Record) -> dict[str, Any]:
    """Return the fields of a record, whatever they are called."""
    return dict(object.__getattribute__(record, "_fields"))
