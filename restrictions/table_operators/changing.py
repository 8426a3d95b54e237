"""Operators between streams and tables, each a correlation under restrictions.

A table is `upserting | retracting | as_table`, which is ``key_by | most_recently | retracting | as_table``.

Source: thesis, Tables 4.1 and 4.2, L27; SEMANTICS 2.1 to 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Update
from cartesius.expressions.expressions import Apply, Expression, Field, Part
from cartesius.language.reactives import UNDECLARED
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily
from restrictions.gates.row_gates import announcing, upserting
from restrictions.stream_operators.combining import check_stream, derived
from restrictions.table_operators.tabling import check_table, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Reactive
    from restrictions.table_operators.tabling import Restrict


def to_table(
    stream: Reactive, *, key: str | Callable[[Any], Any] | Any = UNDECLARED, restrict: Restrict = None
) -> Reactive:
    """Make a table of a stream of changes, or, with a key, of plain values: the latest of each key.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions.tables import to_table
    >>> report = Reactive("report")
    >>> ships = to_table(report, key="name")
    >>> engine = Engine(ships)
    >>> for draught in (9, 9, 8):
    ...     print(engine.push(report, {"name": "EVA", "draught": draught}))  # doctest: +ELLIPSIS
    [Event(value=Update(key='EVA', value=Record({'name': 'EVA', 'draught': 9})), ...)]
    []
    [Event(value=Update(key='EVA', value=Record({'name': 'EVA', 'draught': 8})), ...)]

    Args:
        stream: A stream, of `Update` and `Delete` if there is no ``key``.
        key: A field's name, or a function of the value.
        restrict: Further restrictions of the slot ``x``, such as `versioned`.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``key`` neither a name nor a function; when an event comes, no
            change.

    Law:
        ``to_table(changelog(t)) == t``, of the newest rows; ``changelog(to_table(xs))`` is ``xs`` without what changes
        nothing.

    Source:
        Thesis, Table 4.2; SEMANTICS 2.3.
    """
    check_stream(stream, "to_table", "stream")
    layers = rows_of("x", upserting("x", key=key), restrict)
    return derived("to_table", (stream,), {"x": stream}, Part("x"), layers)


def changelog(table: Reactive) -> Reactive:
    """Make a stream of the changes of a table: `Update` and `Delete`. It keeps nothing.

    >>> from cartesius import Delete, Reactive, Update, run
    >>> from restrictions.tables import changelog
    >>> ship = Reactive("ship", table=True)
    >>> [event.value for event in run(changelog(ship), [(ship, Update("EVA", 9)), (ship, Update("EVA", 9))])]
    [Update(key='EVA', value=9)]

    Args:
        table: A table.

    What changes nothing is left out: a deletion of what never was, an update to an equal value.

    Raises:
        InvalidArgument: ``table`` is no table.

    Source:
        Thesis, Table 4.1.
    """
    return _changes("changelog", table, Part("x"))


def update_stream(table: Reactive) -> Reactive:
    """Make a stream of the values of the updates of a table, whatever their key; `table_of_latest` is its inverse.

    >>> from cartesius import Delete, Reactive, Update, run
    >>> from restrictions.tables import update_stream
    >>> wind = Reactive("wind", table=True)
    >>> [event.value for event in run(update_stream(wind), [(wind, Update("N", 9)), (wind, Delete("N"))])]
    [9]

    Args:
        table: A table.

    Raises:
        InvalidArgument: ``table`` is no table.

    Source:
        Thesis, L27.
    """
    is_update = Apply(_is_update, (Part("x"),), "is_update")
    return _changes("update_stream", table, Field(Part("x"), "value"), where=is_update)


def table_of_latest(stream: Reactive) -> Reactive:
    """Make a table of one row, the latest value of a stream, under the one key ``()``.

    >>> from cartesius import Reactive, run
    >>> from restrictions.tables import table_of_latest
    >>> level = Reactive("level")
    >>> [event.value for event in run(table_of_latest(level), [(level, 2), (level, 3)])]
    [Update(key=(), value=2), Update(key=(), value=3)]

    Args:
        stream: A stream.

    A value that equals the one before changes nothing. So ``update_stream(table_of_latest(xs))`` is `xs` without
    repetitions, and what the thesis derives from it (`scan`, `zip_`, `skip_while`, `rolling`) stands in `streams` by
    itself.

    Raises:
        InvalidArgument: ``stream`` is no stream.

    Source:
        Thesis, L27.
    """
    check_stream(stream, "table_of_latest", "stream")
    layers = rows_of("x", upserting("x", key=_the_one_key), None)
    return derived("table_of_latest", (stream,), {"x": stream}, Part("x"), layers)


def _changes(call: str, table: Reactive, yields: Expression, where: Expression | None = None) -> Reactive:
    check_table(call, table)
    return derived(call, (table,), {"x": table}, yields, momentarily("x") | fifo() | announcing("x"), where=where)


def _the_one_key(_: object) -> tuple[()]:
    return ()


def _is_update(change: object) -> bool:
    return isinstance(change, Update)
