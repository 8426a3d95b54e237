"""Operators on one table, each a correlation under restrictions.

Those that only look at one row at a time keep none (`transiently`).

Source: thesis, Tables 4.1 and 4.2, L18 to L37; SEMANTICS 2.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Part
from cartesius.language.reactives import check_reactive
from cartesius.language.restriction_base import Composition, parts_of
from restrictions.basics.keys import having_key
from restrictions.basics.taking_back import as_table, retracting
from restrictions.gates.row_gates import transiently, updating
from restrictions.stream_operators.combining import call_of, derived
from restrictions.stream_operators.mapping import check_callable
from restrictions.table_operators.aggregation import totalling, totalling_by
from restrictions.table_operators.groups import check_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Reactive, Restriction
    from restrictions.table_operators.groups import Group, Monoid

    Restrict = Composition | Restriction | None


def map_table(table: Reactive, function: Callable[[Any], Any], *, restrict: Restrict = None) -> Reactive:
    """Replace the value of each row by ``function`` of it. It keeps nothing, and the keys.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import map_table
    >>> ship = Reactive("ship", table=True)
    >>> [event.value for event in run(map_table(ship, lambda metres: metres * 100), [(ship, Update("EVA", 9))])]
    [Update(key='EVA', value=900)]

    Args:
        table: A table.
        function: A pure function of the value.
        restrict: Further restrictions of the slot ``x``, such as `versioned`: then it keeps what they keep.

    Raises:
        InvalidArgument: ``table`` is no table, or ``function`` no function.

    Law:
        ``map_table(map_table(t, f), g) == map_table(t, g after f)``.

    Source:
        Thesis, L18.
    """
    body = _of_value("map_table", table, "function", function)
    return derived("map_table", (table,), {"x": table}, body, _passing(restrict))


def filter_table(table: Reactive, predicate: Callable[[Any], Any], *, restrict: Restrict = None) -> Reactive:
    """Keep the rows whose value satisfies ``predicate``; one that stops doing so is deleted. It keeps nothing.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import filter_table
    >>> n = Reactive("n", table=True)
    >>> [event.value for event in run(filter_table(n, lambda n: n % 2 == 1), [(n, Update("k", v)) for v in (1, 2, 3)])]
    [Update(key='k', value=1), Delete(key='k'), Update(key='k', value=3)]

    Args:
        table: A table.
        predicate: A pure function of the value.
        restrict: Further restrictions of the slot ``x``, such as `versioned`: then it keeps what they keep.

    Raises:
        InvalidArgument: ``table`` is no table, or ``predicate`` no function.

    Law:
        ``filter_table(filter_table(t, p), q) == filter_table(t, p and q)``.

    Source:
        Thesis, Table 4.2 and Figure 4.3; SEMANTICS 2.4.
    """
    where = _of_value("filter_table", table, "predicate", predicate)
    return derived("filter_table", (table,), {"x": table}, Part("x"), _passing(restrict), where=where)


def reduce(
    table: Reactive, group: Group | Monoid, *, by: str | Callable[[Any], Any] | None = None, restrict: Restrict = None
) -> Reactive:
    """Total the rows of a table, kept up as they change: a stream of the total, or, with ``by``, a table of totals.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import count, reduce, sum_
    >>> wind = Reactive("wind", table=True)
    >>> trace = [(wind, Update("N", 9)), (wind, Update("S", 8)), (wind, Update("N", 1))]
    >>> [event.value for event in run(reduce(wind, sum_), trace)]
    [9, 17, 9]
    >>> [event.value for event in run(reduce(wind, count, by=lambda knots: knots > 8), trace)]
    [Update(key=True, value=1), Update(key=False, value=1), Delete(key=True), Update(key=False, value=2)]

    Args:
        table: A table.
        group: What is totalled: `count`, `sum_`, `mean`, `min_`, `max_`, ``sum_.of("field")``, or a `Group` or `Monoid`
            of one's own.
        by: A field's name, or a function of the value: the key of its total. An update that changes it moves the row,
            without a moment in between; a total whose last row leaves is deleted. A row of which it is null is in no
            group, and comes out of ``engine.late``; who wants a group of nulls writes ``coalesce(x.f, …)``.
        restrict: Further restrictions of the slot ``x``, such as `versioned`.

    Raises:
        InvalidArgument: ``table`` is no table, ``group`` no group, or ``by`` neither a name nor a function.

    Law:
        Each total is that of the present rows, whatever came before: sums are exact.

    Source:
        Thesis, L23 and L25; SEMANTICS 2.7.
    """
    check_table("reduce", table)
    check_group("reduce", group)
    total: Composition | Restriction = totalling(group)
    if by is not None:
        total = totalling_by(group, key_function("reduce", by)) | having_key(x=by)
    extra = transiently("x") if restrict is None else restrict
    return derived("reduce", (table,), {"x": table}, Part("x"), retracting() | total | extra)


def combine_updates(table: Reactive, initial: Any, combine: Callable[[Any, Any], Any]) -> Reactive:
    """Fold the updates of each row: a table of the folds. A deletion drops the row and its fold.

    >>> from cartesius import Delete, Reactive, Update, run
    >>> from restrictions.tables import combine_updates
    >>> ship = Reactive("ship", table=True)
    >>> seen = combine_updates(ship, 0, lambda times, _: times + 1)
    >>> trace = [(ship, Update("EVA", 9)), (ship, Update("EVA", 8)), (ship, Delete("EVA")), (ship, Update("EVA", 9))]
    >>> [event.value for event in run(seen, trace)]
    [Update(key='EVA', value=1), Update(key='EVA', value=2), Delete(key='EVA'), Update(key='EVA', value=1)]

    Args:
        table: A table.
        initial: The fold before the first update of a key.
        combine: A pure function of the fold so far and a value.

    Every update that comes is folded, also one to an equal value; a table that is derived gives none.

    Raises:
        InvalidArgument: ``table`` is no table, or ``combine`` no function.

    Source:
        Thesis, Table 4.2 and L37; SEMANTICS 2.7.
    """
    check_table("combine_updates", table)
    check_callable("combine_updates", "combine", combine, 2)
    layers = rows_of("x", updating("x", initial, combine), None)
    return derived("combine_updates", (table,), {"x": table}, Part("x"), layers)


def rows_of(slot: str, gate: Restriction, restrict: Restrict) -> Composition:
    """Return the restrictions of a table of the rows that a gate lets through."""
    return Composition((*(retracting() | as_table(slot)).restrictions, *parts_of(restrict), gate))


def _passing(restrict: Restrict) -> Composition:
    """Keep no rows, unless other restrictions are wanted."""
    extra = (transiently("x"),) if restrict is None else parts_of(restrict)
    return Composition((retracting(), as_table("x"), *extra))


def _of_value(call: str, table: Reactive, argument: str, function: Callable[[Any], Any]) -> Any:
    """Return a function of the row as an expression, traced if it can be."""
    check_table(call, table)
    check_callable(call, argument, function)
    return call_of(function, "x", "function")


def key_function(call: str, by: Any) -> Callable[[Any], Any]:
    """Return the function that a field's name, or a function, means."""
    if isinstance(by, str):
        return attrgetter(by)
    if not callable(by):
        message = f"{call}: expected a field's name or a function but got by={by!r} (type={type(by).__name__})"
        raise InvalidArgument(message)
    check_callable(call, "by", by)
    function: Callable[[Any], Any] = by
    return function


def check_table(call: str, table: object) -> None:
    """Raise `InvalidArgument` in the name of ``call`` unless ``table`` is one."""
    if not check_reactive(table, call, "table").table:
        message = f"{call}: expected a table but got {table!r}; make one of a stream: to_table(…, key=…)"
        raise InvalidArgument(message)
