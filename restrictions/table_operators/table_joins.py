"""Joins of keyed tables, each a correlation under restrictions.

Rows are pairs. The key of a row finds its partner without an index of its own, and a foreign key has one, so that the
work is proportional to the rows that change, on whichever side.

Source: thesis, Table 4.2; SEMANTICS 2.5 and 2.6.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from cartesius.correlations.freed_windows import retaining
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Apply, Expression, KeyOf
from cartesius.language.restriction_base import Composition, parts_of
from restrictions.basics.keys import having_key
from restrictions.basics.outer import optionally
from restrictions.basics.taking_back import as_table, retracting
from restrictions.stream_operators.combining import derived
from restrictions.stream_operators.joining import BOTH, matching_key
from restrictions.table_operators.tabling import check_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Duration, Reactive, Restriction
    from restrictions.table_operators.tabling import Restrict

_SAME_KEY = Apply(operator.eq, (KeyOf("left"), KeyOf("right")), "==")


def inner_join(
    left: Reactive, right: Reactive, *, restrict: Restrict = None, retention: Duration | None = None
) -> Reactive:
    """Join the rows of equal keys: a row where both tables have one, a pair.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import inner_join
    >>> ship, pilot = Reactive("ship", table=True), Reactive("pilot", table=True)
    >>> [event.value for event in run(inner_join(ship, pilot), [(ship, Update(7, "EVA")), (pilot, Update(7, "Bo"))])]
    [Update(key=7, value=('EVA', 'Bo'))]

    Args:
        left: A table.
        right: A table.
        restrict: Further restrictions of the slots ``left`` and ``right``, such as `versioned`.
        retention: For how long rows of closed windows stay, time units or a `timedelta`, where a table is totalled in
            windows; None: until all that they may meet is freed.

    A null key matches nothing.

    Raises:
        InvalidArgument: Something else than a table.

    Source:
        Thesis, Table 4.2; SEMANTICS 2.5.
    """
    return _join("inner_join", left, right, _SAME_KEY, (as_table("left"),), restrict, retention)


def left_join(
    left: Reactive, right: Reactive, *, restrict: Restrict = None, retention: Duration | None = None
) -> Reactive:
    """Join the rows of equal keys: a row where ``left`` has one, with None where ``right`` has none.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import left_join
    >>> ship, pilot = Reactive("ship", table=True), Reactive("pilot", table=True)
    >>> [event.value for event in run(left_join(ship, pilot), [(pilot, Update(7, "Bo")), (ship, Update(8, "EVA"))])]
    [Update(key=8, value=('EVA', None))]

    Args:
        left: A table.
        right: A table.
        restrict: Further restrictions of the slots ``left`` and ``right``, such as `versioned`.
        retention: For how long rows of closed windows stay, time units or a `timedelta`, where a table is totalled in
            windows; None: until all that they may meet is freed.

    A null key matches nothing.

    Raises:
        InvalidArgument: Something else than a table.

    Source:
        SEMANTICS 2.5.
    """
    return _join("left_join", left, right, _SAME_KEY, (as_table("left"), optionally("right")), restrict, retention)


def outer_join(
    left: Reactive, right: Reactive, *, restrict: Restrict = None, retention: Duration | None = None
) -> Reactive:
    """Join the rows of equal keys: a row where either table has one, with None for what the other has not.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import outer_join
    >>> ship, pilot = Reactive("ship", table=True), Reactive("pilot", table=True)
    >>> [event.value for event in run(outer_join(ship, pilot), [(pilot, Update(7, "Bo")), (ship, Update(7, "EVA"))])]
    [Update(key=7, value=(None, 'Bo')), Update(key=7, value=('EVA', 'Bo'))]

    Args:
        left: A table.
        right: A table.
        restrict: Further restrictions of the slots ``left`` and ``right``, such as `versioned`.
        retention: For how long rows of closed windows stay, time units or a `timedelta`, where a table is totalled in
            windows; None: until all that they may meet is freed.

    A null key matches nothing: of two rows of the key None that of ``left`` is shown.

    Raises:
        InvalidArgument: Something else than a table.

    Source:
        Thesis, Table 4.2; SEMANTICS 2.5.
    """
    layers = (as_table(("left", "right")), optionally("left", "right"))
    return _join("outer_join", left, right, _SAME_KEY, layers, restrict, retention)


def foreign_join(
    left: Reactive,
    right: Reactive,
    *,
    on: str | Callable[[Any], Any],
    how: str = "inner",
    restrict: Restrict = None,
    retention: Duration | None = None,
) -> Reactive:
    """Join each row of ``left`` with the row of ``right`` that it names: a pair for each row of ``left``.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.tables import foreign_join
    >>> ship, berth = Reactive("ship", table=True), Reactive("berth", table=True)
    >>> moored = foreign_join(ship, berth, on="berth")
    >>> trace = [(ship, Update(7, {"berth": "A"})), (berth, Update("A", 15)), (berth, Update("A", 16))]
    >>> [(event.value.key, event.value.value[1]) for event in run(moored, trace)]
    [(7, 15), (7, 16)]

    Args:
        left: A table.
        right: A table.
        on: The key in ``right``: a field's name, or a function of the value of a row of ``left``.
        how: ``"inner"``, or ``"left"``: None where ``right`` has no such row.
        restrict: Further restrictions of the slots ``left`` and ``right``, such as `versioned`.
        retention: For how long rows of closed windows stay, time units or a `timedelta`, where a table is totalled in
            windows; None: until all that they may meet is freed.

    A row that comes to name one that is not there is deleted, or, with ``"left"``, has None. A null key names nothing:
    the row has None until its key changes, or, with ``"inner"``, comes out of ``engine.late``.

    Raises:
        InvalidArgument: Something else than a table, ``on`` neither a name nor a function, or an unknown ``how``.

    Source:
        Thesis, Table 4.2; SEMANTICS 2.5.
    """
    if how not in ("inner", "left"):
        message = f"foreign_join: expected how to be 'inner' or 'left' but got how={how!r}"
        raise InvalidArgument(message)
    where = matching_key("foreign_join", on, "left", "right")
    of_how = having_key(left=on) if how == "inner" else optionally("right")
    return _join("foreign_join", left, right, where, (as_table("left"), of_how), restrict, retention)


def _join(
    call: str,
    left: Reactive,
    right: Reactive,
    where: Expression,
    layers: tuple[Restriction, ...],
    restrict: Restrict,
    retention: Duration | None,
) -> Reactive:
    for table in (left, right):
        check_table(call, table)
    kept = () if retention is None else (retaining(retention),)
    composed = Composition((retracting(), *layers, *parts_of(restrict), *kept))
    return derived(call, (left, right), {"left": left, "right": right}, BOTH, composed, where=where)
