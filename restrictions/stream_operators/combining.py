"""Operators that combine streams, each a correlation under restrictions: the four combinators of the paper, and others.

Source: ICFP 2018, doi:10.1145/3236762, Figures 1 and 2; ReactiveX; SEMANTICS 1.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import correlate
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Apply, Constant, Expression, Part, Tuple
from cartesius.expressions.nulls import first_there
from cartesius.expressions.tracing import of_payload
from cartesius.language.reactives import Reactive, check_reactive
from cartesius.language.restriction_base import Composition
from restrictions.basics.completion import at_end, completing_with, completing_without_value, never_completing
from restrictions.basics.recency import most_recently
from restrictions.basics.selection import fifo
from restrictions.basics.separation import momentarily, separately
from restrictions.basics.uses import affinely
from restrictions.gates.alignment import aligning
from restrictions.gates.signals import sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Restriction


def cartesian(*reactives: Reactive, restrict: Composition | Restriction | None = None) -> Reactive:
    """Combine every event of each reactive with every event of the others: the product that restrictions restrict.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(cartesian(left, right), [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(1, 'x'), (2, 'x'), (2, 'y'), (1, 'y')]

    Args:
        *reactives: One or more; each is a slot of its own name, and values are tuples in that order.
        restrict: Restrictions; by default what `restricting` injects.

    Completes when all inputs have. Memory is unbounded without a restriction.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 1.
    """
    return _product("cartesian", reactives, restrict)


def combine_latest(*reactives: Reactive) -> Reactive:
    """Combine the latest events: a result whenever one comes, once all have one.

    >>> from cartesius import Reactive, run
    >>> from restrictions import combine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(combine_latest(left, right), [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(1, 'x'), (2, 'x'), (2, 'y')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes as in RxPY: when all inputs have, or when an event comes while some input has no value and all others than
    the one that it came on have ended.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 2.
    """
    slots = slot_names("combine_latest", reactives)
    return _product("combine_latest", reactives, most_recently(*slots) | completing_without_value(*slots))


def zip_(*reactives: Reactive) -> Reactive:
    """Combine the first events of all, then the second, and so on; memory holds one row, gates what waits.

    >>> from cartesius import Reactive, run
    >>> from restrictions import zip_
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(zip_(left, right), [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(1, 'x'), (2, 'y')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes as soon as an input has ended with nothing waiting.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 2.
    """
    slots = slot_names("zip_", reactives)
    lock_step = most_recently(*slots) | aligning(*slots) if len(slots) > 1 else most_recently(*slots)
    return _product("zip_", reactives, lock_step)


def affine_latest(*reactives: Reactive) -> Reactive:
    """Combine the latest events, each event of the *first* reactive in at most one result.

    >>> from cartesius import Reactive, run
    >>> from restrictions import affine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(affine_latest(left, right), [(left, 1), (right, "x"), (left, 2), (right, "y")])]
    [(1, 'x'), (2, 'x')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes when all inputs have.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 2.
    """
    slots = slot_names("affine_latest", reactives)
    return _product("affine_latest", reactives, affinely(slots[0]) | most_recently(*slots))


def with_latest_from(*reactives: Reactive) -> Reactive:
    """Combine each event of the first with the latest of the others; it is dropped if one of them has none yet.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import with_latest_from
    >>> ship, tide = Reactive("ship"), Reactive("tide")
    >>> seen = with_latest_from(ship, tide)
    >>> [event.value for event in run(seen, [(ship, "EVA"), (tide, 2.5), (ship, "ORCA"), (tide, 2.7), (ship, "EVA")])]
    [('ORCA', 2.5), ('EVA', 2.7)]

    Args:
        *reactives: One or more: the one whose events make results, and those that are looked up; values are tuples in
            that order.

    Completes with the first. An event that comes in the same step on the first and on another meets the new one.

    Source:
        ReactiveX, withLatestFrom.
    """
    primary, *others = slot_names("with_latest_from", reactives)
    restrict = momentarily(primary) | fifo() | completing_with(primary)
    return _product("with_latest_from", reactives, restrict | most_recently(*others) if others else restrict)


def merge(*reactives: Reactive) -> Reactive:
    """Let the events of all through, as they come.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import merge
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(merge(left, right), [(left, 1), (right, "x"), (left, 2)])]
    [1, 'x', 2]

    Args:
        *reactives: One or more streams.

    Completes when all inputs have. Events of one step come in the order of the arguments.

    Raises:
        InvalidArgument: No reactive, or a table.

    Source:
        ReactiveX, merge; ICFP 2018, doi:10.1145/3236762, Table 2.
    """
    return union("merge", reactives)


def union(call: str, reactives: tuple[Reactive, ...]) -> Reactive:
    """Let the events of all through, under a name that shows the call."""
    names = slot_names(call, reactives)
    for reactive in reactives:
        check_stream(reactive, call, reactive.name)
    present = Apply(first_there, tuple(map(Part, names)), "coalesce")
    restrict = separately() | momentarily(*names) | fifo()
    return derived(call, reactives, dict(zip(names, reactives, strict=True)), present, restrict)


def fork_join(*reactives: Reactive) -> Reactive:
    """Combine the last events of all, when all have ended.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import fork_join
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(fork_join(left, right), [(left, 1), (right, "x"), (left, 2)], close=True)]
    [(2, 'x')]

    Args:
        *reactives: One or more; values are tuples in that order.

    Completes when all have ended; at once, without a result, when one ends that had no event.

    Source:
        ReactiveX, forkJoin.
    """
    names = slot_names("fork_join", reactives)
    return _product("fork_join", reactives, momentarily(*names) | at_end(*names))


def sample(stream: Reactive, trigger: Reactive) -> Reactive:
    """At each event of ``trigger``, let the latest of ``stream`` through, if there is one that was not let through yet.

    >>> from cartesius import Reactive, run
    >>> from restrictions.streams import sample
    >>> level, clock = Reactive("level"), Reactive("clock")
    >>> trace = [(level, 1), (level, 2), (clock, "t"), (clock, "t"), (level, 3), (clock, "t")]
    >>> [event.value for event in run(sample(level, clock), trace)]
    [2, 3]

    Args:
        stream: What is sampled.
        trigger: When.

    The end of the trigger is one more trigger, as in RxPY. Completes at the first trigger after the end of the stream,
    or with the trigger: then nothing can come, but RxPY goes on in silence.

    Source:
        ReactiveX, sample.
    """
    slots = {"x": check_stream(stream, "sample", "stream"), "trigger": check_stream(trigger, "sample", "trigger")}
    restrict = separately() | momentarily("x") | sampling("x", "trigger")
    return derived("sample", (stream, trigger), slots, Part("x"), restrict)


def never() -> Reactive:
    """Emit nothing, and never complete.

    >>> from cartesius import Engine
    >>> from restrictions.streams import never
    >>> engine = Engine(never())
    >>> engine.pull(), engine.done
    ([], False)

    Source:
        Thesis, Table 4.1.
    """
    return derived("never", (), {}, Constant(None), never_completing(), where=Constant(False))


def now(value: Any) -> Reactive:
    """Emit ``value`` once, before anything else, and complete: the product of no inputs has one combination.

    Its time is -inf: it has always been so.

    >>> from cartesius import run
    >>> from restrictions.streams import now
    >>> [event.value for event in run(now(3))]
    [3]

    Source:
        Thesis, Table 4.1.
    """
    return derived("now", (), {}, Constant(value), Composition(()))


def slot_names(call: str, reactives: tuple[Reactive, ...]) -> list[str]:
    """Return a slot's name for each reactive: its own, numbered if it is taken."""
    if not reactives:
        message = f"{call}: expected one or more reactives but got none; write {call}(left, right)"
        raise InvalidArgument(message)
    names: list[str] = []
    for place, reactive in enumerate(reactives):
        name = check_reactive(reactive, call, f"argument {place}").name
        number = 1
        while name in names:
            number += 1
            name = f"{reactive.name}_{number}"
        names.append(name)
    return names


def check_stream(value: object, call: str, argument: str) -> Reactive:
    """Return ``value`` if it is a stream; otherwise raise `InvalidArgument` in the name of ``call``."""
    reactive = check_reactive(value, call, argument)
    if reactive.table:
        message = f"{call}: expected a stream but {reactive.name!r} is a table; its rows are no events"
        raise InvalidArgument(message)
    return reactive


def call_of(function: Callable[[Any], Any], slot: str, argument: str) -> Expression:
    """Return a function of a slot's value as an expression: traced, or a call; ``argument`` names what has no name."""
    return of_payload(function, slot) or Apply(function, (Part(slot),), getattr(function, "__name__", argument))


def derived(
    call: str,
    reactives: tuple[Reactive, ...],
    slots: dict[str, Reactive],
    yields: Any,
    restrict: Composition | Restriction | None,
    where: Any = None,
) -> Reactive:
    """Correlate, under a name that shows the call."""
    name = f"{call}({', '.join(reactive.name for reactive in reactives)})"
    result = correlate(slots=slots, where=where, yields=yields, restrict=restrict, name=name)
    assert isinstance(result, Reactive)
    return result


def _product(call: str, reactives: tuple[Reactive, ...], restrict: Composition | Restriction | None) -> Reactive:
    slots = dict(zip(slot_names(call, reactives), reactives, strict=True))
    parts = tuple(map(Part, slots))
    single_table = len(parts) == 1 and reactives[0].table
    return derived(call, reactives, slots, parts[0] if single_table else Tuple(parts), restrict)
