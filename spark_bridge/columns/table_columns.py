"""Columns of tables that sinks write into: what fields they can hold, and whether a table is of the program's fields.

Invariant: nothing is written that a reader would not get back as it was.
Source: PostgreSQL's and Delta Lake's rules of names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from spark_bridge.columns.payloads import has_type
from spark_bridge.columns.values import check_supported, nested

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_POSTGRESQL: Final[dict[type[t.DataType], str]] = {
    t.ByteType: "smallint",
    t.ShortType: "smallint",
    t.IntegerType: "integer",
    t.LongType: "bigint",
    t.FloatType: "real",
    t.DoubleType: "double precision",
    t.BooleanType: "boolean",
    t.StringType: "text",
    t.DateType: "date",
    t.TimestampType: "timestamptz",
    t.TimestampNTZType: "timestamp",
    t.BinaryType: "bytea",
}
"""PostgreSQL's types; a decimal is a numeric, and what is nested is jsonb."""

_LONGEST: Final = 63
"""How many bytes of a name PostgreSQL reads."""
_SYSTEM: Final = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
"""The columns that each of its tables has."""
_NOT_IN_DELTA: Final = " ,;{}()\n\t="
"""What names of Delta's columns cannot have."""


def check_columns(
    sink: str, table: str, there: Mapping[str, str], wanted: Mapping[str, str], quote: Callable[[str], str]
) -> None:
    """Raise unless a table has the columns that are wanted, of the same types, and no other.

    A value of another type would be rounded or cut in silence; a column that no field fills would keep what it has.

    Args:
        sink: What writes into it.
        table: The table, as SQL has it.
        there: Its columns, by name the type.
        wanted: Those of the fields.
        quote: Gives a name as SQL has it.

    Raises:
        InvalidArgument: It has others.
    """
    for name, kind in wanted.items():
        found = there.get(name)
        if found is None:
            add = f"ALTER TABLE {table} ADD COLUMN {quote(name)} {kind}"
            message = (
                f"{sink}: expected the table {table} to have a column {name!r} but it was made of other fields; add it"
                f" ({add}), or write into another table"
            )
            raise InvalidArgument(message)
        if found != kind:
            message = (
                f"{sink}: expected the column {name!r} of the table {table} to be of the field's type {kind} but it is"
                f" {found}, which could change values; change its type there, or write into another table"
            )
            raise InvalidArgument(message)
    for name in there:
        if name not in wanted:
            message = (
                f"{sink}: expected the program to yield all columns of the table {table} but there is no field"
                f" {name!r}, and rows would keep the value that they have; drop the column, or write into another table"
            )
            raise InvalidArgument(message)


def postgresql_type(kind: t.DataType) -> str:
    """Return the type of a column of PostgreSQL.

    >>> from pyspark.sql import types as t
    >>> postgresql_type(t.LongType()), postgresql_type(t.DecimalType(5, 2)), postgresql_type(t.ArrayType(t.LongType()))
    ('bigint', 'numeric(5, 2)', 'jsonb')
    """
    if isinstance(kind, t.DecimalType):
        return f"numeric({kind.precision}, {kind.scale})"
    return "text" if isinstance(kind, t.StringType) else _POSTGRESQL.get(type(kind), "jsonb")


def check_postgresql_fields(schema: t.StructType) -> None:
    """Raise if a table of PostgreSQL cannot have columns of these fields.

    Raises:
        InvalidArgument: One has a type that no column has, or the name of a column that each table has, or two are the
            same up to the 63rd byte.
    """
    check_supported(schema, "results", "to_postgresql")
    alike = _alike(schema.names, lambda name: name.encode()[:_LONGEST].decode(errors="ignore"))
    why = {name: f"which PostgreSQL cuts at {_LONGEST} bytes, as {other!r}" for name, other in alike.items()}
    _check_names(
        "to_postgresql", why | dict.fromkeys(_SYSTEM.intersection(schema.names), "which PostgreSQL has for itself")
    )


def check_delta_fields(schema: t.StructType) -> None:
    """Raise if a Delta table cannot have columns of these fields.

    Raises:
        InvalidArgument: One has a name or a type that no column has, or two are the same but for capitals, or the key
            cannot be looked up.
    """
    check_supported(schema, "results", "to_delta")
    why = {name: f"which Delta takes for {other!r}" for name, other in _alike(schema.names, str.lower).items()}
    names = (name for _, kind in nested(schema) if isinstance(kind, t.StructType) for name in kind.names)
    odd = (name for name in names if not set(_NOT_IN_DELTA).isdisjoint(name))
    _check_names("to_delta", why | dict.fromkeys(odd, f"as Delta's names have none of {_NOT_IN_DELTA!r}"))
    key = schema["key"].dataType
    if has_type(key, (t.MapType,)):
        message = (
            f"to_delta: expected keys that Spark can compare but got {key.simpleString()}; make the key of what is no"
            " map, or use to_postgresql"
        )
        raise InvalidArgument(message)


def _check_names(sink: str, why: Mapping[str, str]) -> None:
    for name, reason in why.items():
        message = f"{sink}: expected fields that can be columns but got {name!r}, {reason}; yield another name"
        raise InvalidArgument(message)


def _alike(names: list[str], known_as: Callable[[str], str]) -> dict[str, str]:
    """Return the names that are taken for another one, and for which."""
    first: dict[str, str] = {}
    return {name: first[known_as(name)] for name in names if first.setdefault(known_as(name), name) != name}
