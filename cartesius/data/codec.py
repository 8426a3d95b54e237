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
    from collections.abc import Callable

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
    packed = deflated(json.dumps(pack(value), separators=(",", ":"), ensure_ascii=True).encode(), 1)
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


def pack(value: Any) -> Any:
    """Turn plain data into what JSON can hold.

    Raises:
        NotStorable: Something in it is not plain data and not of a registered type, or it is nested too deep.
    """
    try:
        return _pack(value)
    except RecursionError:
        message = "snapshot: expected values that are nested a few hundred deep at most but one is nested deeper"
        raise NotStorable(message) from None


def _pack(value: Any) -> Any:
    # A packer has two frames of Python a level, `unpack` one: so what could be written can be read in a deeper call,
    # too, where Python's limit is the same.
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_SAFE_INT <= value <= _SAFE_INT else ["i", hex(value)]
    if kind is float:
        return ["f", value.hex()] if value != value or value in (_INF, -_INF) else value  # noqa: PLR0124 - NaN
    packer = _PACKERS.get(kind)
    if packer is not None:
        return packer(value)
    return _pack_object(value, kind)


def _pack_object(value: Any, kind: type) -> Any:
    if isinstance(value, timezone | ZoneInfo):
        return _pack_zone(value)
    if _types.get(registered_name(kind)) is not kind:
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
            return ["E", registered_name(kind), value.name]
        return ["F", registered_name(kind), _pack(value.value)]  # flags: several at once, or none
    if isinstance(value, tuple):
        return ["N", registered_name(kind), *map(_pack, value)]
    names = field_names(kind)
    others = [name for name in getattr(value, "__dict__", ()) if name not in names]
    if besides := [name for name in others if not _is_made_anew(kind, name)]:
        message = (
            f"snapshot: expected a {kind.__qualname__} of its fields alone but {value!r} has {', '.join(besides)}"
            " besides; make a field or a property of it"
        )
        raise NotStorable(message)
    return ["O", registered_name(kind), *(_pack(getattr(value, name)) for name in names)]


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


def _pack_zone(zone: Any) -> Any:
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        return ["z", zone.key]
    if isinstance(zone, timezone):
        return ["Z", _pack(zone.utcoffset(None)), zone.tzname(None)]
    message = f"snapshot: expected a time zone of datetime or zoneinfo but got {zone!r}; convert it first"
    raise NotStorable(message)


def _in_order(items: set[Any] | frozenset[Any]) -> list[Any]:
    """Pack the items of a set in an order that is the same in every process, so that equal states are equal bytes."""
    return sorted(map(_pack, items), key=json.dumps)


_INF = float("inf")
_PACKERS: dict[type, Callable[[Any], Any]] = {
    tuple: lambda t: ["t", *map(_pack, t)],
    list: lambda items: ["l", *map(_pack, items)],
    Record: lambda r: ["R", *(part for k, v in fields_of(r).items() for part in (_pack(k), _pack(v)))],
    Queue: lambda q: ["q", *map(_pack, q)],
    dict: lambda d: ["d", *(part for k, v in d.items() for part in (_pack(k), _pack(v)))],
    set: lambda s: ["s", *_in_order(s)],
    frozenset: lambda s: ["S", *_in_order(s)],
    bytes: lambda b: ["b", base64.b85encode(b).decode()],
    Decimal: lambda d: ["D", str(d)],
    datetime: lambda d: ["T", d.replace(tzinfo=None, fold=0).isoformat(), d.fold, _pack_zone(d.tzinfo)],
    date: lambda d: ["Y", d.isoformat()],
    time: lambda t: ["h", t.replace(tzinfo=None, fold=0).isoformat(), t.fold, _pack_zone(t.tzinfo)],
    timedelta: lambda d: ["p", d.days, d.seconds, d.microseconds],
    UUID: lambda u: ["u", u.hex],
}


def unpack(packed: Any) -> Any:
    """Turn what JSON held back into plain data."""
    if not isinstance(packed, list):
        return packed
    tag, *rest = packed
    unpacker = _UNPACKERS.get(tag)
    if unpacker is None:
        message = f"restore: the snapshot has a value of an unknown kind {tag!r}; it was written by another version"
        raise SnapshotMismatch(message)
    return unpacker(*map(unpack, rest))


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
