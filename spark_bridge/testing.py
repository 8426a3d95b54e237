"""Tools for tests of what runs on Spark: the equivalence of two DataFrames, and of two running queries.

A row is a `Record` of its columns, so that a relation reads ``row.key``. By default those of one output and key depend
on each other if they are changes of a table, and no others: so results of the bridge are compared as those of an engine
are.

Invariant: rows are matched online, in the driver, which holds those that have not met their equal.
Source: SEMANTICS 4; DiffStream (SOURCES E4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.data.records import Record
from cartesius.equivalence.equalities import Equality, form_of
from cartesius.equivalence.equivalences import streams_equivalent
from cartesius.errors import InvalidArgument
from cartesius.results.unchanged_values import is_equal
from cartesius.testing import Dependence, Monitor, assert_streams_equivalent, same_key
from spark_bridge.transport.envelope import column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, Row

    from cartesius.equivalence.matching import Equivalence, Relation
    from spark_bridge.running.queries import Sink

__all__ = ["assert_frames_equivalent", "frames_equivalent", "row_monitor", "to_monitor"]

_CHANGES = ("update", "delete")


def frames_equivalent(
    one: DataFrame,
    other: DataFrame,
    dependent: Relation = None,
    equal: Relation = None,
    *,
    order_by: str | list[str] | None = None,
) -> Equivalence:
    """Decide whether the rows of two DataFrames are the same up to swaps of adjacent independent ones.

    >>> from cartesius.testing import same_key
    >>> from spark_bridge.testing import frames_equivalent
    >>> bool(frames_equivalent(in_32_buckets.results, in_7_buckets.results))  # doctest: +SKIP
    True
    >>> frames_equivalent(theirs, ours, same_key("taxi"), order_by="position").reason  # doctest: +SKIP
    "item 7 of stream 2 (Record({'taxi': 1, …})) has no equal left in stream 1"

    Args:
        one: Rows, in a batch.
        other: Rows with the same columns, in any order of the columns.
        dependent: Whether two rows may not be swapped, as for `streams_equivalent`. By default changes of one row of a
            table (columns ``output``, ``change`` and ``key``) may not, others may.
        equal: Whether two rows are the same. By default those of equal values, type-exactly, NaN equal to itself.
        order_by: Columns that say what the order of rows is, and nothing else: they are not compared, as two jobs
            number what they give each in its own way. None: the rows are taken in the order in which Spark gives them,
            which is that of emission for each key of a batch that the bridge has made. Rows that come far apart wait in
            the driver for each other: if nothing depends on the order, sort both frames by all of their columns.

    Raises:
        InvalidArgument: A streaming frame, other columns, or two of one name; or nothing is left to compare.
    """
    one_rows, other_rows = _pair(one, other, order_by, "frames_equivalent")
    return streams_equivalent(one_rows, other_rows, dependent or _same_row(), equal or _SAME_VALUES)


def assert_frames_equivalent(
    one: DataFrame,
    other: DataFrame,
    dependent: Relation = None,
    equal: Relation = None,
    *,
    order_by: str | list[str] | None = None,
) -> None:
    """Assert what `frames_equivalent` decides; all rows come to the driver.

    >>> from spark_bridge.testing import assert_frames_equivalent
    >>> assert_frames_equivalent(frames.results, expected)  # doctest: +SKIP

    Args:
        one: As for `frames_equivalent`.
        other: Likewise.
        dependent: Likewise.
        equal: Likewise.
        order_by: Likewise.

    Raises:
        AssertionError: They are not equivalent; as `cartesius.testing.assert_streams_equivalent` says it.
        InvalidArgument: As for `frames_equivalent`.
    """
    __tracebackhide__ = True
    one_rows, other_rows = _pair(one, other, order_by, "assert_frames_equivalent")
    assert_streams_equivalent(one_rows, other_rows, dependent or _same_row(), equal or _SAME_VALUES)


def row_monitor(dependent: Relation = None, equal: Relation = None, **options: Any) -> Monitor:
    """Return a monitor of rows, for `to_monitor`; arguments are those of `cartesius.testing.Monitor`.

    >>> from spark_bridge.testing import row_monitor
    >>> row_monitor(limit=1_000).unmatched
    (0, 0)

    Args:
        dependent: As for `frames_equivalent`.
        equal: Likewise.
        **options: ``limit``, ``on_difference``, ``samples``.
    """
    return Monitor(dependent or _same_row(), equal or _SAME_VALUES, **options)


def to_monitor(monitor: Monitor, stream: int) -> Sink:
    """Return a sink for one of two queries that a monitor compares while they run, at a pace of their own.

    >>> from spark_bridge.testing import row_monitor, to_monitor
    >>> monitor = row_monitor(on_difference=lambda answer: print(answer.reason))
    >>> def write(batch, number):
    ...     batch.write.mode("append").parquet("out/verdicts")
    ...     to_monitor_first(batch, number)
    >>> to_monitor_first = to_monitor(monitor, 1)
    >>> frames.start(results=write, checkpoint="out/checkpoint")  # doctest: +SKIP
    >>> second.start(results=to_monitor(monitor, 2), checkpoint="out/second")  # doctest: +SKIP

    A second implementation need be no query: ``monitor.take(2, rows)`` takes what anything gives.

    The rows come to the driver. A micro-batch that comes again is taken once. The monitor lives as long as the driver:
    after a restart, begin with both queries anew.

    Args:
        monitor: What compares; for rows, of `row_monitor`.
        stream: Which of the two it is: 1 or 2.

    Raises:
        InvalidArgument: There is no such stream.
    """
    if stream not in (1, 2):
        message = f"to_monitor: expected stream 1 or 2 but got {stream=!r}"
        raise InvalidArgument(message)
    newest = -1

    def take(batch: DataFrame, number: int) -> None:
        nonlocal newest
        if number > newest:
            rows = [_record(row) for row in batch.collect()]  # all of them before any is taken: this may fail
            newest = number
            monitor.take(stream, rows)

    return take


def _pair(
    one: DataFrame, other: DataFrame, order_by: str | list[str] | None, where: str
) -> tuple[Iterator[Record], Iterator[Record]]:
    if one.isStreaming or other.isStreaming:
        message = f"{where}: expected batches but got a stream; use to_monitor as the sink of both queries"
        raise InvalidArgument(message)
    if sorted(one.columns) != sorted(other.columns):
        message = f"{where}: expected the columns {one.columns} in both but got {other.columns}; select them"
        raise InvalidArgument(message)
    if len(set(one.columns)) < len(one.columns):
        message = f"{where}: expected columns of different names but got {one.columns}; rename or drop some"
        raise InvalidArgument(message)
    names = [] if order_by is None else [order_by] if isinstance(order_by, str) else list(order_by)
    if not set(one.columns) - set(names):
        message = (
            f"{where}: expected columns to compare beside those of order_by= but got {one.columns}; to sort by what is"
            " compared, write frame.orderBy(…) for both"
        )
        raise InvalidArgument(message)
    if names:
        one, other = (frame.orderBy(*map(column, names)).drop(*names) for frame in (one, other))
    return _rows(one), _rows(other)


def _rows(frame: DataFrame) -> Iterator[Record]:
    return map(_record, frame.toLocalIterator())


def _record(row: Row) -> Record:
    return Record(row.asDict(recursive=True))


def _same_row() -> Dependence:
    """Return the dependence of changes of one row of a table, where rows have the columns of the bridge's results."""

    def key_of(row: Any) -> Any:
        is_change = "change" in row and row["change"] in _CHANGES
        return (row["output"], row["key"]) if is_change else None

    return same_key(key_of)


_SAME_VALUES = Equality(is_equal, form_of)
