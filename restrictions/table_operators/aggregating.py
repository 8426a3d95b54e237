"""Aggregates of a stream, by key and window: tables that what is late corrects.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, Table 1 and Figure 7; SEMANTICS 3.2 and 3.7.
"""

from __future__ import annotations

from functools import reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.correlations.freed_windows import retaining
from cartesius.data.records import path_of
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Expression, Field, Part, Tuple, WindowOf
from cartesius.language.patterns import may_come_again
from cartesius.language.reactives import check_reactive
from cartesius.language.restriction_base import Composition, parts_of
from cartesius.plan import facts
from cartesius.plan.nodes import Assigned, Let, Regular, Single
from restrictions.basics.keys import having_key, key_by
from restrictions.basics.separation import momentarily
from restrictions.basics.taking_back import retracting
from restrictions.stream_operators.combining import call_of, check_stream, derived
from restrictions.table_operators.aggregation import totalling_by
from restrictions.table_operators.groups import check_group
from restrictions.table_operators.tabling import key_function
from restrictions.windowing.sessions import session

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Duration, Reactive, Restriction
    from restrictions.table_operators.groups import Group, Monoid

Restrict: TypeAlias = "Composition | Restriction"


def aggregate(
    stream: Reactive,
    group: Group | Monoid,
    *,
    restrict: Restrict,
    by: str | Callable[[Any], Any] | None = None,
    retention: Duration | None = None,
) -> Reactive:
    """Total the events of a stream in windows: a table whose rows are the totals, by window, or by key and window.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import tumbling
    >>> from restrictions.tables import aggregate, count
    >>> click = Reactive("click")
    >>> counts = aggregate(click, count, by=str.lower, restrict=tumbling(10, lateness=5))
    >>> engine = Engine(counts)
    >>> for region, at in (("EU", 1), ("eu", 3), ("US", 12)):
    ...     _ = engine.push(click, region, at=at)
    >>> engine.query(counts, at=3)
    {('eu', Window(start=0, end=10)): 2}
    >>> engine.advance(12), [event.value for event in engine.push(click, "EU", at=2)]
    ([], [Update(key=('eu', Window(start=0, end=10)), value=3)])

    A row changes with each event, also one that is late within the lateness of the windows; with ``report=on_close``
    it comes when the window closes, and is corrected by what is late; with ``report=final`` it comes once, when
    nothing can change it any more. A window that is freed is forgotten, its rows stand: what was emitted is
    true, nothing is deleted, and `query` does not know them any more. So it is with what is made of them downstream:
    joins of such tables by their keys forget a window once all of them have freed it.

    Behind a `key_by` each key has windows of its own, and reports them by itself: if the totals are not by that key,
    the row of a window comes once a key, each time with what all keys have added so far.

    Args:
        stream: A stream.
        group: What is totalled: `count`, `sum_`, `mean`, `min_`, `max_`, ``sum_.of("field")``, or a `Group` or
            `Monoid` of one's own.
        restrict: Windows, and further restrictions of the slot ``x``.
        by: A field's name, or a function of the value: the key of its total, beside the window. Each key has sessions
            of its own, unless ``restrict`` has a `key_by`. An event of which it is null comes out of ``engine.late``;
            who wants a group of nulls writes ``coalesce(x.f, …)``.
        retention: For how long closed windows are kept, for `query`, and in joins with what is in no window: time units
            or a `timedelta`, ≥ 0. None: until they are freed.

    Raises:
        InvalidArgument: No stream, no group, no windows, a negative retention, or ``by`` neither a name nor a function.

    Law:
        A row is the total of the events of its window and key, whatever the order of arrival.

    Source:
        Sax et al., BIRTE 2018, Table 1 (groupBy + windowBy → aggregate) and Figure 7.
    """
    check_stream(check_reactive(stream, "aggregate", "stream"), "aggregate", "stream")
    key = None if by is None else key_function("aggregate", by)
    keyed = WindowOf() if key is None else Tuple((_key(key), WindowOf()))
    check_group("aggregate", group)
    rest = [retracting(), totalling_by(group.after(itemgetter(0)), itemgetter(1))]
    parts = parts_of(restrict)
    if not any(facts.opens_windows(part) for part in parts):
        message = (
            f"aggregate: expected windows, such as tumbling(…), but got restrict={restrict!r}; to total a table without"
            " windows there is reduce"
        )
        raise InvalidArgument(message)
    is_in_sessions = any(isinstance(part, session) for part in parts)
    if by is not None and is_in_sessions and not any(facts.key_space(part) for part in parts):
        parts = (key_by(x=by), *parts)  # what is of another key goes on with no session of this one
    if not may_come_again(stream) and all(map(_lets_expire, parts)):
        rest.append(momentarily("x"))  # nothing is taken back, so that the total is all that is needed
    if retention is not None:
        rest.append(retaining(retention))
    if by is not None:
        rest.append(having_key(x=by))
    restrictions = Composition((*parts, *rest))
    return derived("aggregate", (stream,), {"x": stream}, Tuple((Part("x"), keyed)), restrictions)


def _lets_expire(part: Restriction) -> bool:
    """Whether nothing is taken back beside it: it opens windows that let what is in them expire, or is a filter."""
    (node, *others) = part.nodes
    return not others and (
        isinstance(node, Let) or (isinstance(node, Regular | Single | Assigned) and not node.displaces)
    )


def _key(by: Callable[[Any], Any]) -> Expression:
    """Return a function of the value as an expression: a field's name, or what traces, is known to the faster tiers."""
    part: Expression = Part("x")
    return call_of(by, "x", "by") if (path := path_of(by)) is None else reduce(Field, path, part)
