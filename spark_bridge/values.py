"""Values across the border: Spark's types to Python's and back, exactly, by way of JSON text.

A payload travels as one JSON string: the row's struct, written by Spark's own ``to_json`` and read here by the frame's
schema. So a chunk with a null changes no type (a nullable long does not become a double on its way through pandas),
2**53 + 1 stays what it is, and the conversion to pandas sees nothing but ints and strings. What JSON lacks is spelled:
NaN and the infinities and binary (base64) as strings, timestamps in UTC with microseconds, maps whose keys are no
strings as lists of entries. Results go the same way back, through ``from_json``. This was chosen over typed columns
because it is exact; which of the two is faster is to be measured together with the columnar tier.

Invariant: ``decoder(type)(json.loads(text))`` gives the value that Spark's own ``collect`` gives, but tuples for
arrays, records for structs, and aware datetimes in UTC for timestamps.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from cartesius.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    Convert: TypeAlias = Callable[[Any], Any]

JSON_OPTIONS: Final = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "dateFormat": "yyyy-MM-dd",
    "ignoreNullFields": "true",
}
"""How Spark writes and reads the text; its defaults would lose microseconds."""

_BITS: Final = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
_AS_THEY_ARE = (t.StringType, t.CharType, t.VarcharType, t.BooleanType, *_BITS)
_DIRECT = (*_AS_THEY_ARE, t.DoubleType, t.FloatType, t.DecimalType, t.TimestampType, t.TimestampNTZType, t.DateType)
_LIMIT = 3  # of the places named in a message


def unsupported(kind: t.DataType, path: str) -> list[str]:
    """Return the places of ``kind`` whose type cannot be carried, each as ``path: type``."""
    match kind:
        case t.StructType():
            return [place for field in kind for place in unsupported(field.dataType, f"{path}.{field.name}")]
        case t.ArrayType():
            return unsupported(kind.elementType, f"{path}[]")
        case t.MapType():
            return unsupported(kind.keyType, f"{path}.key") + unsupported(kind.valueType, f"{path}.value")
    return [] if isinstance(kind, (*_DIRECT, t.BinaryType)) else [f"{path}: {kind.simpleString()}"]


def check_supported(kind: t.DataType, path: str, call: str) -> None:
    """Raise `InvalidArgument` if ``kind`` has a type that cannot be carried."""
    places = unsupported(kind, path)
    if places:
        shown = "; ".join(places[:_LIMIT])
        message = f"{call}: expected columns of types that can be carried exactly but got {shown}; cast or drop them"
        raise InvalidArgument(message)


def wire_type(kind: t.DataType) -> t.DataType:
    """Return the type that ``kind`` travels as: maps whose keys are no strings become arrays of entries."""
    match kind:
        case t.StructType():
            return t.StructType([t.StructField(f.name, wire_type(f.dataType)) for f in kind])
        case t.ArrayType():
            return t.ArrayType(wire_type(kind.elementType))
        case t.MapType(keyType=t.StringType()):
            return t.MapType(t.StringType(), wire_type(kind.valueType))
        case t.MapType():
            entry = [
                t.StructField("key", wire_type(kind.keyType)),
                t.StructField("value", wire_type(kind.valueType)),
            ]
            return t.ArrayType(t.StructType(entry))
    return kind


def reader(schema: t.StructType) -> Callable[[str], dict[str, Any]]:
    """Return a function from a payload's text to its columns."""
    convert = {field.name: decoder(field.dataType) for field in schema}
    exact = _has_decimal(schema)  # the text of a number, not the nearest double

    def read(text: str) -> dict[str, Any]:
        found = json.loads(text, parse_float=str) if exact else json.loads(text)
        return {name: None if (value := found.get(name)) is None else convert[name](value) for name in convert}

    return read


def decoder(kind: t.DataType) -> Convert:
    """Return a function from what JSON holds of a value, not null, to the value."""
    match kind:
        case t.DoubleType():
            return float
        case t.FloatType():
            return lambda value: struct.unpack("f", struct.pack("f", float(value)))[0]
        case t.DecimalType():
            return Decimal
        case t.TimestampType():
            return lambda value: datetime.fromisoformat(value).astimezone(UTC)
        case t.TimestampNTZType():
            return datetime.fromisoformat
        case t.DateType():
            return date.fromisoformat
        case t.BinaryType():
            return base64.b64decode
        case t.ArrayType():
            element = _nullable(decoder(kind.elementType))
            return lambda values: tuple([element(value) for value in values])
        case t.MapType(keyType=t.StringType()):
            inner = _nullable(decoder(kind.valueType))
            return lambda values: Record({key: inner(value) for key, value in values.items()})
        case t.MapType():
            to_key, to_value = decoder(kind.keyType), _nullable(decoder(kind.valueType))
            return lambda entries: Record({to_key(e["key"]): to_value(e.get("value")) for e in entries})
        case t.StructType():
            fields = {field.name: _nullable(decoder(field.dataType)) for field in kind}
            return lambda values: Record({name: convert(values.get(name)) for name, convert in fields.items()})
    return lambda value: value


def _nullable(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _has_decimal(kind: t.DataType) -> bool:
    match kind:
        case t.StructType():
            return any(_has_decimal(field.dataType) for field in kind)
        case t.ArrayType():
            return _has_decimal(kind.elementType)
        case t.MapType():
            return _has_decimal(kind.keyType) or _has_decimal(kind.valueType)
    return isinstance(kind, t.DecimalType)


def encoder(kind: t.DataType, path: str) -> Convert:
    """Return a function from a value to what JSON holds of it, None to None.

    It never rounds, cuts or wraps around: what does not fit raises `InvalidArgument`, naming ``path``.
    """
    convert = _encoder(kind, path)

    def encode(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (TypeError, AttributeError, KeyError, ValueError, ArithmeticError) as error:
            if isinstance(error, InvalidArgument):
                raise
            message = (
                f"result: expected {path} to be of type {kind.simpleString()} but got {value!r}"
                f" (type={type(value).__name__}); declare the type that it has, or give schema="
            )
            raise InvalidArgument(message) from error

    return encode


def _encoder(kind: t.DataType, path: str) -> Convert:
    match kind:
        case t.StringType() | t.CharType() | t.VarcharType():
            return _text
        case t.BooleanType():
            return lambda value: _of(bool, value)
        case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
            bits = _BITS[type(kind)]
            return lambda value: _whole(value, bits)
        case t.DoubleType() | t.FloatType():
            return _double
        case t.DecimalType():
            return lambda value: _decimal(value, kind)
        case t.TimestampType():
            return _instant
        case t.TimestampNTZType():
            return lambda value: _of(datetime, value).replace(tzinfo=None).isoformat(timespec="microseconds")
        case t.DateType():
            return lambda value: _of(date, value).isoformat()
        case t.BinaryType():
            return lambda value: base64.b64encode(value).decode()
        case t.ArrayType():
            element = encoder(kind.elementType, f"{path}[]")
            return lambda values: [element(value) for value in _of(Sequence, values)]
        case t.MapType():
            to_key, to_value = encoder(kind.keyType, f"{path}.key"), encoder(kind.valueType, f"{path}.value")
            if isinstance(kind.keyType, t.StringType):
                return lambda values: {to_key(key): to_value(value) for key, value in values.items()}
            return lambda values: [{"key": to_key(key), "value": to_value(v)} for key, v in values.items()]
        case t.StructType():
            return _struct(kind, path)
    message = f"result: expected {path} to be of a type that can be carried but got {kind.simpleString()}"
    raise InvalidArgument(message)


def _struct(kind: t.StructType, path: str) -> Convert:
    fields = {field.name: encoder(field.dataType, f"{path}.{field.name}") for field in kind}

    def encode(value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping | Record):
            return {name: convert(value[name]) for name, convert in fields.items()}
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return {name: convert(v) for (name, convert), v in zip(fields.items(), value, strict=True)}
        return {name: convert(getattr(value, name)) for name, convert in fields.items()}

    return encode


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, str | bytes):
        raise TypeError
    return value


def _whole(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise TypeError
    return int(value)


def _double(value: Any) -> float | str:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    number = float(value)
    if number != number:  # noqa: PLR0124 - NaN
        return "NaN"
    return number if abs(number) != float("inf") else "Infinity" if number > 0 else "-Infinity"


def _decimal(value: Any, kind: t.DecimalType) -> str:
    number = Decimal(_of(Decimal, value) if not isinstance(value, int) else _whole(value, 128))
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or -exponent > kind.scale or len(digits) + exponent > kind.precision - kind.scale:
        raise TypeError
    return format(number, "f")


def _instant(value: Any) -> str:
    moment: datetime = _of(datetime, value)
    if moment.tzinfo is None:
        raise TypeError
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _text(value: Any) -> str:
    """Return a string as it is, the name of a member, and anything else as JSON text (a field of several types)."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, UUID):
        return str(value)
    return json.dumps(value)
