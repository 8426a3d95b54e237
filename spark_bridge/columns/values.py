"""Values across the border: Spark's types as Arrow's, and what Python has for them made into Arrow arrays, exactly.

Rows travel as Arrow columns of Spark's own types, and never through pandas: so a chunk with a null changes no type (a
nullable long does not become a double), and 2**53 + 1 stays what it is. Python's values become an array here: nothing
is rounded, cut or wrapped around, what does not fit is refused by name.

Invariant: `to_arrow` of what `payloads` reads from an array gives that array back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from enum import Enum
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from uuid import UUID

import pyarrow as pa
from pyspark.sql import types as t

from cartesius.data.records import Record
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Convert: TypeAlias = Callable[[Any], Any]

_BITS: Final = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
_PLAIN: Final[dict[type[t.DataType], pa.DataType]] = {
    t.ByteType: pa.int8(),
    t.ShortType: pa.int16(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.BooleanType: pa.bool_(),
    t.StringType: pa.string(),
    t.BinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.TimestampType: pa.timestamp("us", "UTC"),
    t.TimestampNTZType: pa.timestamp("us"),
}
_LARGEST_SINGLE: Final = float.fromhex("0x1.fffffep+127")
_EXACT: Final = Context(prec=1_000)  # without zeros at the end, which need no place
_LIMIT = 3  # of the places named in a message


def nested(kind: t.DataType, path: str = "") -> Iterator[tuple[str, t.DataType]]:
    """Iterate over a type and those in it, outermost first, each with its place, which begins with ``path``.

    >>> [place for place, _ in nested(t.ArrayType(t.MapType(t.StringType(), t.LongType())), "x")]
    ['x', 'x[]', 'x[].key', 'x[].value']
    """
    yield path, kind
    inner: list[tuple[str, t.DataType]] = []
    match kind:
        case t.StructType():
            inner = [(f"{path}.{field.name}", field.dataType) for field in kind]
        case t.ArrayType():
            inner = [(f"{path}[]", kind.elementType)]
        case t.MapType():
            inner = [(f"{path}.key", kind.keyType), (f"{path}.value", kind.valueType)]
    for place, one in inner:
        yield from nested(one, place)


def check_supported(kind: t.DataType, path: str, call: str) -> None:
    """Raise `InvalidArgument` if ``kind`` has a type that cannot be carried."""
    unknown = []
    for place, one in nested(kind, path):
        if isinstance(one, t.StructType):
            twice = [name for name, amount in Counter(one.names).items() if amount > 1]
            if twice:
                message = (
                    f"{call}: expected records of fields of different names but {place}.{twice[0]} is there twice;"
                    " rename one"
                )
                raise InvalidArgument(message)
        elif isinstance(one, t.StringType):
            if one != t.StringType():  # of a collation, by which texts are equal that are not in Python
                unknown.append(f"{place}: {one.simpleString()}")
        elif type(one) not in _PLAIN and not isinstance(one, t.ArrayType | t.MapType | t.DecimalType):
            unknown.append(f"{place}: {one.simpleString()}")
    if unknown:
        shown = "; ".join(unknown[:_LIMIT])
        message = f"{call}: expected columns of types that can be carried exactly but got {shown}; cast or drop them"
        raise InvalidArgument(message)


def nullable(kind: t.DataType) -> Any:
    """Return a type in which all may be null: types that differ in that alone are one.

    >>> nullable(t.ArrayType(t.LongType(), containsNull=False))
    ArrayType(LongType(), True)
    """
    match kind:
        case t.StructType():
            return t.StructType([t.StructField(one.name, nullable(one.dataType), True, one.metadata) for one in kind])
        case t.ArrayType():
            return t.ArrayType(nullable(kind.elementType))
        case t.MapType():
            return t.MapType(nullable(kind.keyType), nullable(kind.valueType))
    return kind


def arrow_type(kind: t.DataType) -> pa.DataType:
    """Return the Arrow type that Spark has for one of its types; timestamps are in UTC.

    >>> print(arrow_type(t.ArrayType(t.TimestampType())))
    list<element: timestamp[us, tz=UTC]>
    """
    match kind:
        case t.StructType():
            return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in kind])
        case t.ArrayType():
            return pa.list_(pa.field("element", arrow_type(kind.elementType)))
        case t.MapType():
            return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
        case t.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
    return _PLAIN[type(kind)]


def to_arrow(values: Sequence[Any], kind: t.DataType, path: str) -> pa.Array:
    """Return Python's values as an array of a type of Spark's.

    Args:
        values: What it is to hold; None is null.
        kind: Its type.
        path: What the values are, for the message.

    Raises:
        InvalidArgument: One of them does not fit; it is never rounded, cut or wrapped around.
    """
    convert = encoder(kind, path)
    try:
        return pa.array([convert(value) for value in values], arrow_type(kind))
    except (pa.ArrowInvalid, UnicodeError) as error:  # a half of a character, a map's key that is null
        message = f"result: expected {path} to be of type {kind.simpleString()} but {error}; yield it otherwise"
        raise InvalidArgument(message) from error


def encoder(kind: t.DataType, path: str) -> Convert:
    """Return a function from a value to what Arrow makes the like of, None to None.

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
        case t.StringType():
            return _text
        case t.BooleanType():
            return lambda value: _of(bool, value)
        case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
            bits = _BITS[type(kind)]
            return lambda value: _whole(value, bits)
        case t.DoubleType():
            return _double
        case t.FloatType():
            return _single
        case t.DecimalType():
            return lambda value: _decimal(value, kind)
        case t.TimestampType():
            return _instant
        case t.TimestampNTZType():
            return _local
        case t.DateType():
            return _day
        case t.BinaryType():
            return lambda value: bytes(memoryview(value))
        case t.ArrayType():
            element = encoder(kind.elementType, f"{path}[]")
            return lambda values: [element(value) for value in _of(Sequence, values)]
        case t.MapType():
            to_key, to_value = encoder(kind.keyType, f"{path}.key"), encoder(kind.valueType, f"{path}.value")
            return lambda values: [(to_key(key), to_value(value)) for key, value in values.items()]
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


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    made = float(value)  # raises OverflowError where it is too large
    if isinstance(value, Integral) and made != value:
        raise TypeError
    return made


def _single(value: Any) -> float:
    made = _double(value)
    if isfinite(made) and abs(made) > _LARGEST_SINGLE:  # it would be infinite; of its digits a float keeps seven
        raise TypeError
    return made


def _decimal(value: Any, kind: t.DecimalType) -> Decimal:
    number = _EXACT.normalize(_of(Decimal, value) if not isinstance(value, int) else Decimal(_whole(value, 128)))
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or -exponent > kind.scale or len(digits) + exponent > kind.precision - kind.scale:
        raise TypeError
    return number


def _instant(value: Any) -> datetime:
    moment: datetime = _of(datetime, value)
    if moment.tzinfo is None:
        raise TypeError
    return moment.astimezone(UTC)


def _local(value: Any) -> datetime:
    moment: datetime = _of(datetime, value)
    if moment.tzinfo is not None:
        raise TypeError
    return moment


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        raise TypeError
    day: date = _of(date, value)
    return day


def _text(value: Any) -> str:
    """Return a string as it is, the name of a member, and anything else as JSON text (a field of several types)."""
    if type(value) is int or (type(value) is float and isfinite(value)):
        return repr(value)  # as JSON has it, but sooner
    if isinstance(value, str) and not isinstance(value, Enum):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, UUID | Decimal):
        return str(value)
    return json.dumps(value, default=_digits)


def _digits(value: Any) -> str:
    """Return a decimal inside a value as text: JSON has numbers, but who reads them may round them."""
    return str(_of(Decimal, value))
