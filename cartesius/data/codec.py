"""The codec of snapshots: plain data to bytes and back, exactly, type for type. It cannot name code.

What JSON has is written as it is; everything else as ``[tag, …]``. Types of the user's own are stored only if they
were registered with `storable`, and come back only if they are registered then.

This module is over 300 lines because how each kind of value is written and how it is read stand together.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import inspect
import json
import zlib
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import cache, cached_property
from itertools import chain
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs

from cartesius.data.inflating import deflated, inflated, loading
from cartesius.data.null_values import NO_NUMBER, found_again
from cartesius.data.queues import Queue
from cartesius.data.records import Record, fields_of
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

C = TypeVar("C", bound=type)

MAGIC = b"cartesius\x01"
OURS: Final = frozenset({"cartesius", "restrictions", "dsl", "spark_bridge"})
_types: dict[str, type] = {}
_SAFE_INT = 2**53
_CACHED_HASH: Final = "_attrs_cached_hash"
"""Where attrs keeps a hash that is computed once (``cache_hash=True``)."""


def storable(cls: C) -> C:
    """Register a type, so that its instances may be part of a snapshot; usable as a class decorator.

    >>> import attrs
    >>> from cartesius import storable
    >>> @storable
    ... @attrs.frozen
    ... class Position:
    ...     latitude: float
    ...     longitude: float

    Args:
        cls: An attrs class, a dataclass, a named tuple or an Enum; its fields must be storable in turn.

    Raises:
        InvalidArgument: It is none of these.
    """
    if not (isinstance(cls, type) and _is_known_kind(cls)):
        message = f"storable: expected an attrs class, a dataclass, a NamedTuple or an Enum but got {cls!r}"
        raise InvalidArgument(message)
    _types[registered_name(cls)] = cls
    _layouts.clear()
    return cls


def _is_known_kind(cls: type) -> bool:
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return attrs.has(cls) or dataclasses.is_dataclass(cls) or issubclass(cls, enum.Enum) or is_named_tuple


def registered_name(cls: type) -> str:
    """Return the name under which a registered type is stored."""
    return f"{stored_module(cls.__module__)}:{cls.__qualname__}"


@cache
def stored_module(module: str) -> str:
    """Return what stored texts call a module: one of ours without its room, so that moving it changes no snapshot."""
    parts = module.split(".")
    return f"{parts[0]}.{parts[-1]}" if len(parts) > 2 and parts[0] in OURS else module


def encode(value: object) -> bytes:
    """Encode plain data: versioned, checksummed, compressed.

    Raises:
        NotStorable: Something in it is not plain data and not of a registered type, or it is nested too deep.
    """
    packed = deflated(text_of(value).encode(), 1)
    return MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def decode(blob: bytes) -> Any:
    """Decode what `encode` wrote.

    Raises:
        SnapshotMismatch: It is no snapshot, damaged, of another version, or names a type that is not registered.
        InvalidArgument: It is not bytes.
    """
    if not isinstance(blob, bytes | bytearray | memoryview):
        message = f"restore: expected the bytes of a snapshot but got {blob!r} (type={type(blob).__name__})"
        raise InvalidArgument(message)
    if bytes(blob[: len(MAGIC)]) != MAGIC:
        message = "restore: expected a snapshot of this version of Cartesius but got something else; take a new one"
        raise SnapshotMismatch(message)
    blob = bytes(blob)
    head = len(MAGIC) + 4
    packed = blob[head:]
    if zlib.crc32(packed).to_bytes(4, "big") != blob[len(MAGIC) : head]:
        message = "restore: the snapshot is damaged (its checksum differs); use an earlier one"
        raise SnapshotMismatch(message)
    return parsed(inflated(packed))


def parsed(text: bytes) -> Any:
    """Return the plain data of a text.

    Raises:
        SnapshotMismatch: It is none that a snapshot has.
    """
    return loading(lambda: unpack(json.loads(text)))


class Written(str):
    """A text that `text_of` has written: it stands in another one as it is."""

    __slots__ = ()


def text_of(value: Any) -> str:
    """Return plain data as JSON; no part of it is a list for long, which the collector would follow.

    Raises:
        NotStorable: Something in it is not plain data and not of a registered type, or it is nested too deep.
    """
    try:
        return _text(value)
    except RecursionError:
        message = "snapshot: expected values that are nested a few hundred deep at most but one is nested deeper"
        raise NotStorable(message) from None


def _text(value: Any) -> str:
    # This has two frames of Python a level, `unpack` one: so what could be written can be read in a deeper call, too,
    # where Python's limit is the same.
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is int:
        return str(value) if -_SAFE_INT <= value <= _SAFE_INT else f'["i","{value:#x}"]'
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        is_plain = value == value and value not in (_INF, -_INF)  # noqa: PLR0124 - NaN
        return repr(value) if is_plain else f'["f","{value.hex()}"]'
    parts_of = _PARTS.get(kind)
    if parts_of is not None:
        return _joined(parts_of[0], parts_of[1](value))
    layout = _layouts.get(kind)
    if layout is None:
        return value if kind is Written else _text_of_object(value, kind)
    _check_fields_alone(value, kind)
    return _joined(layout[0], layout[1](value))


def _joined(head: str, parts: Iterable[Any]) -> str:
    """Return ``[head, …]``; what most parts are is written without a call."""
    texts = ["[" + head]
    for part in parts:
        kind = type(part)
        if kind is int and -_SAFE_INT <= part <= _SAFE_INT:
            texts.append(str(part))
        else:
            texts.append(quoted(part) if kind is str else "null" if part is None else _text(part))
    return ",".join(texts) + "]"


def _text_of_object(value: Any, kind: type) -> str:
    if isinstance(value, timezone | ZoneInfo):
        return _joined(*_zone_parts(value))
    name = registered_name(kind)
    if _types.get(name) is not kind:
        known = _is_known_kind(kind)
        remedy = (
            f"register it with storable({kind.__name__}), or declare it as type= of the Reactive"
            if known
            else "use plain data (numbers, strings, tuples, lists, dicts, sets, dates) or a registered attrs class"
        )
        message = (
            f"snapshot: expected plain data but got {value!r} (type={kind.__module__}.{kind.__qualname__}); {remedy}"
        )
        raise NotStorable(message)
    if isinstance(value, enum.Enum):
        if value.name in type(value).__members__:
            return _joined('"E"', (name, value.name))
        return _joined('"F"', (name, value.value))  # flags: several at once, or none
    names, called = field_names(kind), quoted(name)
    if isinstance(value, tuple):
        _layouts[kind] = '"N",' + called, iter
    elif len(names) > 1:
        _layouts[kind] = '"O",' + called, attrgetter(*names)
    else:
        _layouts[kind] = '"O",' + called, lambda one: [getattr(one, name) for name in names]
    return _text(value)


def _check_fields_alone(value: Any, kind: type) -> None:
    others = getattr(value, "__dict__", None)
    names = field_names(kind) if others else ()
    if besides := [name for name in others or () if name not in names and not _is_made_anew(kind, name)]:
        message = (
            f"snapshot: expected a {kind.__qualname__} of its fields alone but {value!r} has {', '.join(besides)}"
            " besides; make a field or a property of it"
        )
        raise NotStorable(message)


def _is_made_anew(kind: type, name: str) -> bool:
    """Whether an attribute is what a class remembers of its fields: whoever asks for it makes it."""
    return name == _CACHED_HASH or isinstance(inspect.getattr_static(kind, name, None), cached_property)


@cache
def _caches_its_hash(kind: type) -> bool:
    return _CACHED_HASH in getattr(getattr(kind.__hash__, "__code__", None), "co_names", ())


def field_names(kind: Any) -> list[str]:
    """Return the names of the fields of an attrs class, a dataclass or a named tuple; none of another type."""
    if attrs.has(kind):
        return [field.name for field in attrs.fields(kind)]
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return list(getattr(kind, "_fields", ()))


def _zone_parts(zone: Any) -> tuple[str, tuple[Any, ...]]:
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        return '"z"', (zone.key,)
    if isinstance(zone, timezone):
        return '"Z"', (zone.utcoffset(None), zone.tzname(None))
    message = f"snapshot: expected a time zone of datetime or zoneinfo but got {zone!r}; convert it first"
    raise NotStorable(message)


def _time_parts(value: datetime | time) -> tuple[Any, ...]:
    zone: Any = value.tzinfo
    if zone is not None:
        zone = _UTC if zone is UTC else Written(_joined(*_zone_parts(zone)))
    return value.replace(tzinfo=None, fold=0).isoformat(), value.fold, zone


def _in_order(items: set[Any] | frozenset[Any]) -> list[Any]:
    """Return the items of a set in an order that is the same in every process, so that equal states are equal bytes."""
    return sorted([Written(_text(item)) for item in items])


_INF = float("inf")
_UTC: Final = Written('["Z",["p",0,0,0],"UTC"]')
_layouts: dict[type, tuple[str, Callable[[Any], Iterable[Any]]]] = {}
"""Of types that are stored by their fields: what they are called, and their values."""
_PARTS: dict[type, tuple[str, Callable[[Any], Iterable[Any]]]] = {
    tuple: ('"t"', iter),
    list: ('"l"', iter),
    Record: ('"R"', lambda record: chain.from_iterable(fields_of(record).items())),
    Queue: ('"q"', iter),
    dict: ('"d"', lambda pairs: chain.from_iterable(pairs.items())),
    set: ('"s"', _in_order),
    frozenset: ('"S"', _in_order),
    bytes: ('"b"', lambda some: (base64.b85encode(some).decode(),)),
    Decimal: ('"D"', lambda number: (str(number),)),
    datetime: ('"T"', _time_parts),
    date: ('"Y"', lambda day: (day.isoformat(),)),
    time: ('"h"', _time_parts),
    timedelta: ('"p"', lambda span: (span.days, span.seconds, span.microseconds)),
    UUID: ('"u"', lambda one: (one.hex,)),
}


def unpack(packed: Any) -> Any:
    """Turn what JSON held, which is used up, back into plain data: what `text_of` has written, once it is parsed."""
    if not isinstance(packed, list):
        return packed
    unpacker = _UNPACKERS.get(packed[0])
    if unpacker is None:
        message = (
            f"restore: the snapshot has a value of an unknown kind {packed[0]!r}; it was written by another version"
        )
        raise SnapshotMismatch(message)
    for place, part in enumerate(packed):
        if type(part) is list:
            packed[place] = unpack(part)  # of what is read, JSON is forgotten
    return unpacker(*packed[1:])


def registered(name: str) -> Any:
    """Return the registered type of a name; raise `SnapshotMismatch` if there is none."""
    if name not in _types:
        message = (
            f"restore: the snapshot has values of the type {name}, which is not registered here;"
            " call storable on it before restoring"
        )
        raise SnapshotMismatch(message)
    return _types[name]


def _object(name: str, *values: Any) -> Any:
    kind = registered(name)
    made = object.__new__(kind)
    names = field_names(kind)
    if len(names) != len(values):
        message = (
            f"restore: the snapshot has {len(values)} fields for {name}, which has {len(names)}; its definition changed"
        )
        raise SnapshotMismatch(message)
    for field, value in zip(names, values, strict=True):
        object.__setattr__(made, field, value)
    if _caches_its_hash(kind):
        object.__setattr__(made, _CACHED_HASH, None)
    return made


def _flags(name: str, value: int) -> Any:
    kind = registered(name)
    if not issubclass(kind, enum.Flag):
        message = f"restore: the snapshot has flags of the type {name}, which is no Flag here; its definition changed"
        raise SnapshotMismatch(message)
    return kind(value)


def _pairs(*parts: Any) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _zone(offset: timedelta, name: str) -> timezone:
    plain = timezone(offset)
    return UTC if plain == UTC and name == "UTC" else plain if plain.tzname(None) == name else timezone(offset, name)


_UNPACKERS: dict[str, Callable[..., Any]] = {
    "i": lambda text: int(text, 16),
    "f": lambda text: found_again(float.fromhex(text)),
    "t": lambda *items: items,
    "l": lambda *items: [*items],
    "d": _pairs,
    "R": lambda *parts: Record(_pairs(*parts)),
    "q": lambda *items: Queue(items),
    "s": lambda *items: set(items),
    "S": lambda *items: frozenset(items),
    "b": base64.b85decode,
    "D": lambda text: NO_NUMBER if text == str(NO_NUMBER) else Decimal(text),
    "T": lambda text, fold, zone: datetime.fromisoformat(text).replace(fold=fold, tzinfo=zone),
    "Y": date.fromisoformat,
    "h": lambda text, fold, zone: time.fromisoformat(text).replace(fold=fold, tzinfo=zone),
    "p": timedelta,
    "u": lambda text: UUID(hex=text),
    "z": ZoneInfo,
    "Z": _zone,
    "E": lambda name, member: registered(name)[member],
    "F": _flags,
    "N": lambda name, *items: registered(name)._make(items),
    "O": _object,
}
