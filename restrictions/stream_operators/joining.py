"""Operators that pair the events of two inputs by time or by key, each a correlation under restrictions.

Source: ReactiveX (join, group_join); Flink (interval join); Kafka Streams (stream-table join).
"""

from __future__ import annotations

import operator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Apply, Expression, Field, KeyOf, Part, Tuple
from restrictions.basics.completion import completing_with
from restrictions.basics.keys import having_key, key_by
from restrictions.basics.outer import optionally
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily, separately
from restrictions.basics.taking_back import retracting
from restrictions.stream_operators.combining import call_of, check_stream, derived
from restrictions.time.duration import apart, lasting
from restrictions.time.event_time import allowing_lateness
from restrictions.time.gathering import grouping
from restrictions.time.versioning import versioned

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Reactive, Restriction
    from cartesius.language.restriction_base import Composition

    Span = int | timedelta
    Key = str | Callable[[Any], Any] | None

BOTH = Tuple((Part("left"), Part("right")))


def join(left: Reactive, right: Reactive, left_duration: Span, right_duration: Span, *, key: Key = None) -> Reactive:
    """Pair events that are live together: each from its end for the duration of its side, inclusive.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import join
    >>> door, badge = Reactive("door"), Reactive("badge")
    >>> [
    ...     event.value
    ...     for event in run(join(door, badge, 5, 2), [(door, "opens", 0), (badge, "EVA", 5), (badge, "BO", 6)])
    ... ]
    [('opens', 'EVA')]

    Args:
        left: A stream.
        right: A stream.
        left_duration: Time units or a `timedelta`, ≥ 0.
        right_duration: Time units or a `timedelta`, ≥ 0.
        key: A field's name, or a function of the value, that must be equal in both; None pairs all.

    Whether two events match depends on their own times, not on the order of arrival; the clock frees memory. Completes
    when one side has ended and nothing of it is left in memory, or both have ended. Results of one event come oldest
    partner first.

    Raises:
        InvalidArgument: Something else than a stream, or a negative duration.

    Source:
        ReactiveX, join.
    """
    _check_durations("join", left_duration=left_duration, right_duration=right_duration)
    restrict = lasting("left", left_duration) | lasting("right", right_duration)
    return _pair("join", left, right, restrict, key)


def interval_join(
    left: Reactive,
    right: Reactive,
    lower: Span,
    upper: Span,
    *,
    key: Key = None,
    how: str = "inner",
    eager: bool = False,
    lateness: Span | None = None,
) -> Reactive:
    """Pair events with ``lower <= end of right - end of left <= upper``, both inclusive, in whatever order they come.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import interval_join
    >>> order, payment = Reactive("order"), Reactive("payment")
    >>> near = interval_join(order, payment, -1, 3)
    >>> [event.value for event in run(near, [(payment, "early", 9), (order, "A", 10), (payment, "late", 14)])]
    [('A', 'early')]
    >>> unpaid = interval_join(order, payment, -1, 3, how="left")
    >>> [event.value for event in run(unpaid, [(order, "A", 10), (payment, "late", 14)], close=True)]
    [('A', None)]

    Args:
        left: A stream.
        right: A stream.
        lower: Time units or a `timedelta`; may be negative.
        upper: Time units or a `timedelta`.
        key: A field's name, or a function of the value, that must be equal in both; None pairs all.
        how: ``"inner"``, ``"left"``, ``"right"`` or ``"full"``: of which side an event without a partner is given, too,
            with None; once, when the clock has passed all that could match it.
        eager: Whether it is given at once instead, and taken back when a partner comes.
        lateness: None, or how far behind the clock an event still counts, in time units or as a `timedelta`, ≥ 0: it
            finds its partners, which stay as long, and what has none is final that much later.

    The clock frees memory. An inner join completes as `join` does, the others when nothing can come any more.

    Raises:
        InvalidArgument: Something else than a stream, ``lower`` exceeds ``upper``, an unknown ``how``, or a negative
            lateness.

    Source:
        Flink, interval join; Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 4 (outer joins).
    """
    _check_bounds("interval_join", lower, upper)
    missing = {"inner": (), "left": ("right",), "right": ("left",), "full": ("left", "right")}
    if how not in tuple(missing):
        message = f"interval_join: expected how to be one of {', '.join(map(repr, missing))} but got how={how!r}"
        raise InvalidArgument(message)
    band: Composition | Restriction = apart("left", "right", lower, upper)
    if lateness is not None:
        _check_durations("interval_join", lateness=lateness)
        band = allowing_lateness(lateness, "left", "right") | band
    if how == "inner":
        return _pair("interval_join", left, right, band, key)
    restrict = optionally(*missing[how]) | fifo() | band
    if eager:
        restrict = retracting() | restrict
    if key is not None:
        restrict = key_by(left=key, right=key) | restrict
    slots = _streams("interval_join", left, right)
    return derived("interval_join", (left, right), slots, BOTH, restrict)


def group_join(left: Reactive, right: Reactive, left_duration: Span, right_duration: Span) -> Reactive:
    """Give each event of ``left``, when its duration is over, with the list of what was live in ``right`` meanwhile.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions.streams import group_join
    >>> train, passenger = Reactive("train"), Reactive("passenger")
    >>> engine = Engine(group_join(train, passenger, 10, 0))
    >>> engine.push(train, "IC 5", at=0), engine.push(passenger, "EVA", at=3), engine.push(passenger, "BO", at=10)
    ([], [], [])
    >>> [event.value for event in engine.advance(11)]
    [('IC 5', ['EVA', 'BO'])]

    Args:
        left: A stream.
        right: A stream.
        left_duration: Time units or a `timedelta`, ≥ 0.
        right_duration: Time units or a `timedelta`, ≥ 0.

    Where ReactiveX gives a stream of streams at once, this gives a list at the end. Completes when ``left`` has ended
    and no group is open, as there.

    Raises:
        InvalidArgument: Something else than a stream, or a negative duration.

    Source:
        ReactiveX, groupJoin.
    """
    slots = _streams("group_join", left, right)
    _check_durations("group_join", left_duration=left_duration, right_duration=right_duration)
    gate = grouping("left", "right", left_duration, right_duration)
    restrict = separately() | momentarily("left") | fifo() | gate
    return derived("group_join", (left, right), slots, Part("left"), restrict)


def stream_table_join(
    stream: Reactive,
    table: Reactive,
    *,
    on: str | Callable[[Any], Any],
    how: str = "inner",
    retention: Span | None = None,
) -> Reactive:
    """Give each event of ``stream`` with the row of ``table`` that its key names.

    That is the row that is there when the event comes, and later rows change nothing. With ``retention`` it is the
    version of the row at the event's own time, in whatever order they come: a late row corrects the result.

    >>> from cartesius import Reactive, Update, run
    >>> from restrictions.streams import stream_table_join
    >>> report, ship = Reactive("report"), Reactive("ship", table=True)
    >>> named = stream_table_join(report, ship, on="mmsi", how="left")
    >>> trace = [(report, {"mmsi": 7}), (ship, Update(7, "EVA")), (report, {"mmsi": 7})]
    >>> [event.value[1] for event in run(named, trace)]
    [None, 'EVA']

    Args:
        stream: A stream.
        table: A table.
        on: The key of the row: a field's name, or a function of the event's value.
        how: ``"inner"``, or ``"left"``: None where there is no row.
        retention: None, or how far behind the clock events and rows still count, in time units or as a `timedelta`.

    Completes with the stream. A row that comes in the same step as the event is found. A null key names no row: the
    event has None, or, with ``"inner"``, comes out of ``engine.late``.

    >>> versions = stream_table_join(report, ship, on="mmsi", retention=10)
    >>> trace = [(ship, Update(7, "EVA"), 2), (report, {"mmsi": 7}, 6), (ship, Update(7, "EVA II"), 5)]
    >>> [(event.value[1], event.weight) for event in run(versions, trace)]
    [('EVA', 1), ('EVA', -1), ('EVA II', 1)]

    Raises:
        InvalidArgument: No stream, no table, or an unknown ``how``.

    Source:
        Kafka Streams, stream-table join; Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 4.
    """
    call = "stream_table_join"
    check_stream(stream, call, "stream")
    if not getattr(table, "table", False):
        message = f"{call}: expected a table but got table={table!r}; make one, or declare it: Reactive(…, table=True)"
        raise InvalidArgument(message)
    if how not in ("inner", "left"):
        message = f"{call}: expected how to be 'inner' or 'left' but got how={how!r}"
        raise InvalidArgument(message)
    restrict: Composition = fifo() | completing_with("stream")
    if retention is not None:
        restrict = retracting() | versioned("table", retention=retention) | restrict
    else:
        restrict = momentarily("stream") | restrict
    where = matching_key(call, on, "stream", "table")
    restrict = having_key(stream=on) | restrict if how == "inner" else optionally("table") | retracting() | restrict
    slots = {"stream": stream, "table": table}
    yields = Tuple((Part("stream"), Part("table")))
    return derived(call, (stream, table), slots, yields, restrict, where=where)


def matching_key(call: str, on: Any, slot: str, table: str) -> Expression:
    """Return the condition that ``on`` of ``slot`` is the key of ``table``, as an expression where it traces."""
    if isinstance(on, str):
        return Apply(operator.eq, (Field(Part(slot), on), KeyOf(table)), "==")
    if not callable(on):
        message = f"{call}: expected a field's name or a function but got on={on!r} (type={type(on).__name__})"
        raise InvalidArgument(message)
    # One that runs as written still makes an index.
    return Apply(operator.eq, (call_of(on, slot, "on"), KeyOf(table)), "==")


def _pair(call: str, left: Reactive, right: Reactive, restrict: Composition | Restriction, key: Key) -> Reactive:
    slots = _streams(call, left, right)
    keyed = restrict if key is None else key_by(left=key, right=key) | restrict
    return derived(call, (left, right), slots, BOTH, keyed | fifo() | completing_with("left", "right"))


def _streams(call: str, left: Reactive, right: Reactive) -> dict[str, Reactive]:
    return {"left": check_stream(left, call, "left"), "right": check_stream(right, call, "right")}


def _check_durations(call: str, **durations: Any) -> None:
    _check_spans(call, **durations)
    for argument, duration in durations.items():
        if duration < duration * 0:
            message = f"{call}: expected a duration ≥ 0 but got {argument}={duration!r}"
            raise InvalidArgument(message)


def _check_spans(call: str, **spans: Any) -> None:
    for argument, span in spans.items():
        if not isinstance(span, int | timedelta) or isinstance(span, bool):
            message = (
                f"{call}: expected a duration, an int of time units or a timedelta, but got {argument}={span!r}"
                f" (type={type(span).__name__})"
            )
            raise InvalidArgument(message)


def _check_bounds(call: str, lower: Any, upper: Any) -> None:
    _check_spans(call, lower=lower, upper=upper)
    if type(lower) is type(upper) and lower > upper:
        message = f"{call}: expected lower ≤ upper but got lower={lower!r}, upper={upper!r}; swap them"
        raise InvalidArgument(message)
