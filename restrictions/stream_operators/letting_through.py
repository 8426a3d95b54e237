"""Operators that let some events of a stream through, by what came before, each a correlation under a gate.

Source: thesis, L30; ReactiveX; SEMANTICS 1.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.expressions.expressions import Part
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily, separately
from restrictions.gates.folding import distinctly, skipping
from restrictions.gates.signals import after, until
from restrictions.stream_operators.combining import check_stream, derived, slot_names
from restrictions.stream_operators.mapping import check_callable, gated

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Reactive, Restriction


def skip_while(stream: Reactive, predicate: Callable[[Any], Any]) -> Reactive:
    """Drop the events up to the first that fails ``predicate``. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import skip_while
    >>> level = Reactive("level")
    >>> [event.value for event in run(skip_while(level, lambda n: n < 2), [(level, 1), (level, 2), (level, 1)])]
    [2, 1]

    Args:
        stream: A stream.
        predicate: A pure function of the value.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``predicate`` no function.

    Source:
        Thesis, L30; ReactiveX, skipWhile.
    """
    check_stream(stream, "skip_while", "stream")
    check_callable("skip_while", "predicate", predicate)
    return gated("skip_while", stream, skipping("x", predicate))


def skip_until(stream: Reactive, other: Reactive) -> Reactive:
    """Drop the events before the first of ``other``.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import skip_until
    >>> level, go = Reactive("level"), Reactive("go")
    >>> [event.value for event in run(skip_until(level, go), [(level, 1), (go, None), (level, 2)])]
    [2]

    Args:
        stream: A stream.
        other: A stream, of whose events only the first matters.

    Completes when the stream ends after that; never, if it ends before, or ``other`` ends without an event.

    Source:
        ReactiveX, skipUntil.
    """
    return _signalled("skip_until", stream, other, after("x", "signal"))


def take_until(stream: Reactive, other: Reactive) -> Reactive:
    """Let the events through until the first of ``other``, then complete.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import take_until
    >>> level, stop = Reactive("level"), Reactive("stop")
    >>> [event.value for event in run(take_until(level, stop), [(level, 1), (stop, None), (level, 2)])]
    [1]

    Args:
        stream: A stream.
        other: A stream, of whose events only the first matters; that it ends has no effect.

    Completes at the first event of ``other``, or with the stream.

    Source:
        ReactiveX, takeUntil.
    """
    return _signalled("take_until", stream, other, until("x", "signal"))


def distinct_until_changed(stream: Reactive, *, key: Callable[[Any], Any] | None = None) -> Reactive:
    """Drop an event whose value, or its key, equals that of the one before. Completes with the stream.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import distinct_until_changed
    >>> level = Reactive("level")
    >>> [event.value for event in run(distinct_until_changed(level), [(level, 1), (level, 1), (level, 2)])]
    [1, 2]

    Args:
        stream: A stream.
        key: A pure function of the value; None compares the values, by ``==``, but NaN is equal to NaN.

    Raises:
        InvalidArgument: ``stream`` is no stream, or ``key`` no function.

    Source:
        ReactiveX, distinctUntilChanged.
    """
    check_stream(stream, "distinct_until_changed", "stream")
    if key is not None:
        check_callable("distinct_until_changed", "key", key)
    return gated("distinct_until_changed", stream, distinctly("x", key=key))


def _signalled(call: str, stream: Reactive, other: Reactive, gate: Restriction) -> Reactive:
    for argument, reactive in (("stream", stream), ("other", other)):
        check_stream(reactive, call, argument)
    slot_names(call, (stream, other))
    restrict = separately() | momentarily("x") | fifo() | gate
    return derived(call, (stream, other), {"x": stream, "signal": other}, Part("x"), restrict)
