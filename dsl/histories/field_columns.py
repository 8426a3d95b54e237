"""Columns of a history: which Arrow type may hold a field of a kind, and what of a column is a value.

Invariant: what comes out has one type a kind (`stored`), the rows in the order in which they came.

Source: `dsl.declarations.sources`, for what a field holds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.errors import InvalidArgument
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TRUTH, is_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Declaration

TIME: Final = "time"
"""The column of the event time."""
MOMENT: Final = pa.timestamp("us", "UTC")
"""What it is when it is read."""
PAIR: Final = pa.list_(pa.float64())
"""What a position is: latitude and longitude."""
_FIRST, _LAST = (pa.scalar(each.replace(tzinfo=UTC), MOMENT).cast(pa.int64()) for each in (datetime.min, datetime.max))


@attrs.frozen
class Wrong:
    """A row that cannot be read, by its place in a table, and why."""

    place: int
    why: str


def expected(kind: Kind) -> str:
    """Return what a column of a field must be, in words.

    >>> from dsl.units import metres
    >>> expected(metres.measure), expected(POSITION)
    ('numbers', 'pairs of numbers, latitude and longitude')
    """
    if kind == POSITION:
        return "pairs of numbers, latitude and longitude"
    if kind == INSTANT:
        return "timestamps, or ints of microseconds since the epoch"
    return "truth values" if kind == TRUTH else "texts" if is_text(kind) else "numbers"


def may_hold(kind: Kind, found: pa.DataType) -> bool:
    """Return whether a column of that type may hold a field of the kind."""
    types = pa.types
    if types.is_null(found):
        return True
    if types.is_dictionary(found):
        return is_text(kind) and may_hold(kind, found.value_type)
    if kind == POSITION:
        pair = found.fields if types.is_struct(found) else [found.value_field] if _is_list(found) else []
        return len(pair) in ((2,) if types.is_struct(found) else (1,)) and all(_is_number(each.type) for each in pair)
    if kind == INSTANT:
        return bool(types.is_timestamp(found) or types.is_integer(found))
    if kind == TRUTH:
        return bool(types.is_boolean(found))
    if is_text(kind):
        return bool(types.is_string(found) or types.is_large_string(found) or types.is_string_view(found))
    return _is_number(found)


def stored(kind: Kind, found: pa.DataType | None = None) -> pa.DataType:
    """Return what a column of a field is when it is read; of plain numbers whole ones stay whole."""
    if kind == POSITION:
        return PAIR
    if kind == INSTANT:
        return pa.int64()
    if kind == TRUTH:
        return pa.bool_()
    if is_text(kind):
        return pa.string()
    is_whole = kind == NUMBER and (found is None or pa.types.is_integer(found))
    return pa.int64() if is_whole else pa.float64()


def moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return event times as timestamps in UTC; ints are microseconds since the epoch, timestamps without zone UTC.

    Raises:
        pa.ArrowInvalid: They are no whole microseconds, or leave 64 bits.
    """
    if pa.types.is_timestamp(column.type) and column.type.tz is None:
        return column.cast(pa.timestamp("us")).cast(pa.int64()).cast(MOMENT)
    return column.cast(MOMENT)


def read_columns(source: Declaration, table: pa.Table) -> tuple[pa.Table, list[Wrong]]:
    """Return the rows of a source that can be read, and those that cannot: without time or key, or half a position.

    Args:
        source: The declaration.
        table: Its columns, which `may_hold` has allowed. What is optional may be left out, and is null then; so is a
            number that is none (NaN).
    """
    columns: dict[str, Any] = {TIME: moments(table.column(TIME))}
    wrong: dict[int, str] = _nulls(columns[TIME], "expected a time but got none") | _far(columns[TIME])
    for name, kind in source.fields:
        if name not in table.column_names:
            columns[name] = pa.nulls(table.num_rows, stored(kind))
            continue
        column, said = _values(kind, table.column(name))
        columns[name] = column
        wrong |= {place: f"{name}: {why}" for place, why in said.items() if place not in wrong}
    if source.key is not None:
        wrong |= _nulls(columns[source.key], f"{source.key}: expected a key but got none")
    found = pa.table(columns)
    if wrong:
        kept = pa.array([place not in wrong for place in range(table.num_rows)], pa.bool_())
        found = found.filter(kept)
    return found, [Wrong(place, why) for place, why in sorted(wrong.items())]


def joined(source: str, tables: Sequence[pa.Table]) -> pa.Table:
    """Return the tables of a source one after the other; whole numbers become decimals where others are.

    Raises:
        InvalidArgument: No decimal is one of the whole numbers.
    """
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowInvalid as error:
        raise too_large(source, error) from None


def too_large(where: str, error: pa.ArrowInvalid) -> InvalidArgument:
    """Return the refusal of a column that has whole numbers which no decimal is, and decimals."""
    expected_ = "whole numbers of at most 2**53 in a column that has decimals as well"
    return InvalidArgument(f"{where}: expected {expected_} but got {error}; write them all as whole ones")


def schema_of(source: Declaration) -> Mapping[str, pa.DataType]:
    """Return the columns of a source that is read, with the time first."""
    return {TIME: MOMENT, **{name: stored(kind) for name, kind in source.fields}}


def times_of(table: pa.Table) -> NDArray[np.int64]:
    """Return the event times of rows that are read, in microseconds since the epoch."""
    found: NDArray[np.int64] = table.column(TIME).cast(pa.int64()).to_numpy()
    return found


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows that are read as the mappings that an engine takes, without their times: positions are pairs."""
    columns = {}
    for name in table.column_names:
        if name != TIME:
            column = table.column(name)
            values = column.to_pylist()
            columns[name] = [value and tuple(value) for value in values] if column.type == PAIR else values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def timed_rows(table: pa.Table) -> list[tuple[dict[str, Any], int]]:
    """Return those mappings, each with its time."""
    return list(zip(rows_of(table), times_of(table).tolist(), strict=True))


def _values(kind: Kind, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, dict[int, str]]:
    """Return a column as it is stored, and by place what of it is no value."""
    types, found = pa.types, column.type
    if types.is_null(found):
        return column.cast(stored(kind)), {}
    if kind == INSTANT and types.is_timestamp(found):
        return moments(column).cast(pa.int64()), {}
    if kind == POSITION:
        if types.is_struct(found):
            column = pa.chunked_array([_pairs(chunk) for chunk in column.chunks], PAIR)
        column = column.cast(PAIR)
        bad = pc.fill_null(pc.not_equal(pc.list_value_length(column), 2), fill_value=False)
        return column, {
            int(place): f"expected latitude and longitude but got {column[int(place)].as_py()}"
            for place in pc.indices_nonzero(bad).to_pylist()
        }
    column = column.cast(stored(kind, found))
    if types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column, {}


def _pairs(chunk: pa.StructArray) -> pa.ListArray:
    """Return structs of two numbers as lists."""
    rows = [None if row is None else list(row.values()) for row in chunk.to_pylist()]
    return pa.array(rows, PAIR)


def _nulls(column: pa.ChunkedArray, why: str) -> dict[int, str]:
    if not column.null_count:
        return {}
    return dict.fromkeys(pc.indices_nonzero(pc.is_null(column)).to_pylist(), why)


def _far(times: pa.ChunkedArray) -> dict[int, str]:
    """Return what is no time of a calendar: mostly other units, such as nanoseconds."""
    since = times.cast(pa.int64())
    far = pc.fill_null(pc.or_(pc.less(since, _FIRST), pc.greater(since, _LAST)), fill_value=False)
    return {
        place: f"expected microseconds since the epoch, of the years 1 to 9999, but got {since[place].as_py()}"
        for place in pc.indices_nonzero(far).to_pylist()
    }


def _is_list(found: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found))


def _is_number(found: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(found) or types.is_floating(found) or types.is_decimal(found))
