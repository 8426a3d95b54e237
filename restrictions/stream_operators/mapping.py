"""Operators that map or fold one stream, each a correlation of one slot under a restriction.

Where a function is given, its parameter names the slot, so that it can be traced. Several events of one step are kept
apart and in order.

Source: thesis, Tables 4.1 and L27 to L34; ReactiveX; SEMANTICS 2.7.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius import correlate
from cartesius.effects.operations import MISSING
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Part
from cartesius.expressions.tracing import parameters_of
from restrictions.basics.checks import check_count
from restrictions.basics.keys import key_by
from restrictions.basics.recency import most_recently
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily
from restrictions.basics.taking_back import as_table
from restrictions.gates.folding import accumulating, buffering
from restrictions.stream_operators.combining import check_stream, derived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cartesius import Reactive, Restriction
    from cartesius.language.restriction_base import Composition


def map_(stream: Reactive, function: Callable[[Any], Any]) -> Reactive:
    """Replace each value by ``function`` of it. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import map_
    >>> level = Reactive("level")
    >>> [event.value for event in run(map_(level, lambda metres: metres * 100), [(level, 2), (level, 3)])]
    [200, 300]

    Args:
        stream: A stream.
        function: A pure function of the value.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``function`` no function.

    Source:
        Thesis, Table 4.1.
    """
    slot, body = _over(stream, "map_", function)
    return derived("map_", (stream,), {slot: stream}, body, momentarily(slot) | fifo())


def filter_(stream: Reactive, predicate: Callable[[Any], Any]) -> Reactive:
    """Let the events through whose value satisfies ``predicate``. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import filter_
    >>> level = Reactive("level")
    >>> [event.value for event in run(filter_(level, lambda metres: metres > 2), [(level, 2), (level, 3)])]
    [3]

    Args:
        stream: A stream.
        predicate: A pure function of the value.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``predicate`` no function.

    Source:
        Thesis, Table 4.1.
    """
    slot, body = _over(stream, "filter_", predicate)
    return derived("filter_", (stream,), {slot: stream}, Part(slot), momentarily(slot) | fifo(), where=body)


def map_concat(stream: Reactive, function: Callable[[Any], Iterable[Any]]) -> Reactive:
    """Replace each value by the items of ``function`` of it, in order, in one step. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import map_concat
    >>> line = Reactive("line")
    >>> [event.value for event in run(map_concat(line, str.split), [(line, "all hands"), (line, ""), (line, "ahoy")])]
    ['all', 'hands', 'ahoy']

    Args:
        stream: A stream.
        function: A pure function from the value to an iterable.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``function`` no function.

    Source:
        Thesis, Table 4.1.
    """
    _over(stream, "map_concat", function)

    def concatenate(value: Any) -> Iterator[Any]:
        yield from function(value)

    name = f"map_concat({stream.name})"
    made = correlate(slots={"value": stream}, restrict=momentarily("value") | fifo(), name=name)(concatenate)
    return made


def scan(stream: Reactive, combine: Callable[[Any, Any], Any], *, initial: Any = MISSING) -> Reactive:
    """Emit the fold of all values so far, at each event. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import scan
    >>> level = Reactive("level")
    >>> [event.value for event in run(scan(level, max, initial=2), [(level, 1), (level, 3), (level, 2)])]
    [2, 3, 3]

    Args:
        stream: A stream.
        combine: A pure function of the fold so far and a value.
        initial: The fold before the first value; without it, the first value comes out as it is. Nothing comes out
            before the first event.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``combine`` no function.

    Source:
        Thesis, L28, as ReactiveX has it.
    """
    check_stream(stream, "scan", "stream")
    check_callable("scan", "combine", combine, 2)
    return gated("scan", stream, accumulating("x", combine, initial=() if initial is MISSING else (initial,)))


def rolling(stream: Reactive, n: int) -> Reactive:
    """Emit, at each event, the list of the last values, at most ``n``. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import rolling
    >>> level = Reactive("level")
    >>> [event.value for event in run(rolling(level, 2), [(level, 1), (level, 2), (level, 3)])]
    [[1], [1, 2], [2, 3]]

    Args:
        stream: A stream.
        n: How many: an int ≥ 1, dimensionless.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``n`` no int ≥ 1.

    Source:
        Thesis, L31; it drops the oldest (SEMANTICS 2.7).
    """
    check_stream(stream, "rolling", "stream")
    check_count("rolling", n)
    return gated("rolling", stream, accumulating("x", partial(_append, n), initial=((),)), yields=_listed)


def buffer(stream: Reactive, n: int) -> Reactive:
    """Emit lists of ``n`` values; what is left over comes when the stream ends, and completes it.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import buffer
    >>> level = Reactive("level")
    >>> [event.value for event in run(buffer(level, 2), [(level, 1), (level, 2), (level, 3)], close=True)]
    [[1, 2], [3]]

    Args:
        stream: A stream.
        n: How many: an int ≥ 1, dimensionless.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``n`` no int ≥ 1.

    Source:
        ReactiveX, buffer by count.
    """
    check_stream(stream, "buffer", "stream")
    check_count("buffer", n)
    return gated("buffer", stream, buffering("x", n))


def group_by(
    stream: Reactive,
    key: str | Callable[[Any], Any],
    *,
    combine: Callable[[Any, Any], Any] | None = None,
    initial: Any = MISSING,
) -> Reactive:
    """Make a table of the stream: a row a key, the fold of its values. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import group_by
    >>> ship = Reactive("ship")
    >>> totals = group_by(ship, "flag", combine=lambda total, ship: total + ship.length, initial=0)
    >>> trace = [(ship, {"flag": "NL", "length": 90}), (ship, {"flag": "DK", "length": 300})]
    >>> [event.value for event in run(totals, trace + [(ship, {"flag": "NL", "length": 10})])]
    [Update(key='NL', value=90), Update(key='DK', value=300), Update(key='NL', value=100)]

    Args:
        stream: A stream.
        key: A field's name, or a function of the value.
        combine: A pure function of the fold so far and a value; None gathers all values in a list, without a bound.
        initial: The fold before a key's first value; without it, the first value is the first fold.

    Returns:
        A table, where ReactiveX gives a stream of streams: query it, join it, or restrict it.

    Raises:
        InvalidArgument: ``stream`` is no stream, or a function is missing.

    Source:
        Thesis, L32 and L33.
    """
    check_stream(stream, "group_by", "stream")
    if not isinstance(key, str) and not callable(key):
        message = f"group_by: expected a field's name or a function but got key={key!r} (type={type(key).__name__})"
        raise InvalidArgument(message)
    if combine is None and initial is not MISSING:
        message = (
            f"group_by: expected combine beside initial={initial!r} but got none; all values are gathered in a list"
        )
        raise InvalidArgument(message)
    fold: Composition | Restriction
    if combine is None:
        fold = accumulating("x", _gather, initial=((),))
    else:
        check_callable("group_by", "combine", combine, 2)
        fold = accumulating("x", combine, initial=() if initial is MISSING else (initial,))
    restrict = key_by(x=key) | fold | most_recently("x") | fifo() | as_table("x")
    yields = _listed if combine is None else Part("x")
    return derived("group_by", (stream,), {"x": stream}, yields, restrict)


def _over(stream: Reactive, call: str, function: Callable[[Any], Any]) -> tuple[str, Callable[..., Any]]:
    """Return a slot's name and a function with a parameter of that name: the function itself, if it has just one."""
    check_stream(stream, call, "stream")
    check_callable(call, "function", function)
    parameters = parameters_of(function)
    code = getattr(function, "__code__", None)
    if (
        parameters
        and len(parameters) == 1
        and code is not None
        and code.co_argcount == 1
        and not code.co_posonlyargcount
    ):
        return parameters[0], function

    def call_it(value: Any) -> Any:  # a builtin cannot be called by the name of its parameter
        return function(value)

    return "value", call_it


def gated(call: str, stream: Reactive, gate: Restriction, *, yields: Any = None) -> Reactive:
    """Derive a stream from what a gate on slot ``x`` lets through, in order."""
    body = Part("x") if yields is None else yields
    return derived(call, (stream,), {"x": stream}, body, momentarily("x") | fifo() | gate)


def check_callable(call: str, argument: str, function: object, takes: int = 1) -> None:
    """Raise `InvalidArgument` in the name of ``call`` unless ``function`` can be called with so many values."""
    if not callable(function):
        message = f"{call}: expected a function but got {argument}={function!r} (type={type(function).__name__})"
        raise InvalidArgument(message)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of one in C nobody knows
    try:
        signature.bind(*[None] * takes)
    except TypeError as error:
        values = "one value" if takes == 1 else f"{takes} values"
        shown = getattr(function, "__qualname__", repr(function))
        message = f"{call}: expected a function of {values} as {argument} but got {shown}{signature}: {error}"
        raise InvalidArgument(message) from None


def _append(n: int, window: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    return (*window, value)[-n:]


def _gather(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    return (*values, value)


def _listed(x: tuple[Any, ...]) -> list[Any]:
    return list(x)
