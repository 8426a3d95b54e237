"""Random programs over inputs of declared orders, traces of them, and shuffles within the declared types.

What two runs must have in common is written from the meaning of the types (SOURCES E1, SEMANTICS 4), not from the
code: an input is a trace, a class of sequences under swaps of adjacent independent items; so is an output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, ordered, repeated, unordered
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument, OrderMismatch
from cartesius.storage.version_memories import NEWEST
from cartesius.testing import streams_equivalent
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    earliest,
    every_nth,
    fifo,
    first_match,
    in_event_time,
    in_sequence,
    key_by,
    lifo,
    momentarily,
    most_recently,
    only,
    optionally,
    ordered_by,
    randomly,
    retracting,
    separately,
    session,
    sliding,
    take,
    tumbling,
    versioned,
    within,
    without,
)
from restrictions.basics.completion import at_end
from restrictions.gates.folding import accumulating, buffering, distinctly, skipping
from restrictions.streams import filter_, group_by, map_, map_concat, scan
from restrictions.tables import changelog, count, filter_table, inner_join, left_join, map_table, reduce, to_table
from restrictions.windows import istream, on_close, rstream

LONG = 1000  # longer than any trace: nothing is late for a gate
LATEST = 12  # of the markers
MOMENTS = 40  # later than all that is drawn
TRIED = 24  # small programs of the same inputs
STRIDE = 7  # from one restriction that is tried to the next

STREAMS = [
    unordered(),
    unordered(distinct=("k",)),
    unordered(distinct=()),
    unordered(marked=False),
    ordered("k"),
    ordered("k", distinct=("k",)),
    ordered(),
    ordered(),  # twice: what is needed among two streams shows only where each has an order of its own
    ordered(marked=False),
    ordered("k", among="log"),
    ordered(among="log"),
]
TABLES = [
    unordered(),
    unordered(distinct=()),
    ordered(per_row=True),
    ordered("k"),
    ordered(),
    ordered(per_row=True, among="log"),
]


OF_ONE: list[Callable[[str], Any]] = [
    most_recently,
    lambda a: most_recently(a, n=2),
    earliest,
    momentarily,
    affinely,
    lambda a: at_most(2, a),
    lambda a: first_match(),
    lambda a: take(2),
    lambda a: take(2, a),
    lambda a: every_nth(2),
    lambda a: every_nth(2, a),
    lambda a: randomly(3),
    lambda a: ordered_by(lambda *values: repr(values)),
    lambda a: only(a, lambda value: value.v > 0),
    lambda a: lifo(),
    lambda a: key_by(**{a: "k"}) | as_table(a),
    lambda a: as_table(lambda value: repr(value)[:12]),
    lambda a: key_by(**{a: "k"}),
    lambda a: in_event_time(LONG),
    lambda a: tumbling(5),
    lambda a: sliding(6, 3),
    lambda a: tumbling(5, report=on_close),
    lambda a: session(3),
    lambda a: tumbling(5) | istream(),
    lambda a: tumbling(5, report=on_close) | istream(),
    lambda a: sliding(6, 3, tick=2),
    lambda a: sliding(6, 3, tick="time") | rstream(),
    lambda a: versioned(a, retention=LONG),
    lambda a: distinctly(a, key=lambda value: value.v),
    lambda a: skipping(a, lambda value: value.v < 1),
    lambda a: buffering(a, 2),
    lambda a: accumulating(a, lambda total, value: Record({"k": value.k, "v": 2 * total.v + value.v})),
    at_end,
    lambda a: separately(),
]
"""What may be drawn beside one slot."""
OF_TWO: list[Callable[[str, str], Any]] = [
    most_recently,
    affinely,
    aligning,
    lambda a, b: within(3, a, b),
    lambda a, b: retracting() | optionally(b),
    in_sequence,
    lambda a, b: without(b, after=a, within=3),
    at_end,
]
"""What may be drawn beside two."""


def _restrictions(a: str, b: str | None) -> Sequence[Callable[[], Any]]:
    """Return all that may be drawn beside a slot, or two."""
    if b is None:
        return [partial(make, a) for make in OF_ONE]
    each = [partial(make, one) for make in OF_ONE for one in (a, b)]
    return each + [partial(make, a, b) for make in OF_TWO] * 2


def _made(draw: Any, slots: dict[str, Any], number: int, first: Callable[[], Any] | None = None) -> Reactive:
    """Draw a correlation of slots.

    Most have one restriction that matters: if it needs an order, nothing else is there to need it, too, and to hide
    that nobody asked for it.
    """
    names = list(slots)
    a, b = names[0], names[1] if len(names) > 1 else None
    restrict: Any = fifo()
    if draw(st.integers(0, 3)) == 0:
        restrict = restrict | retracting()
    if draw(st.integers(0, 2)) == 0:
        restrict = restrict | key_by(**dict.fromkeys(names, "k"))
    restrict = restrict | (first or draw(st.sampled_from(_restrictions(a, b))))()
    if draw(st.integers(0, 3)) == 0:
        restrict = restrict | draw(st.sampled_from(_restrictions(a, b)))()
    if draw(st.integers(0, 4)) == 0:
        restrict = restrict | in_event_time(LONG)
    wheres: list[Any]
    yields: list[Any]
    if isinstance(slots[a], Reactive) and b is None:
        wheres = [None, lambda a: a.v > 0]
        yields = [lambda a: a, lambda a: {"k": a.k, "v": a.v + 1}, lambda a: {"k": a.v, "v": a.k}]
    elif b is None:
        wheres = [None]
        yields = [lambda a: a[0], lambda a: {"k": a[0].k, "v": a[1].v}]
    else:
        wheres = [None, lambda a, b: a.k == b.k, lambda a, b: a.v <= b.v]
        yields = [lambda a, b: (a, b), lambda a, b: {"k": a.k, "v": b.v}, lambda a, b: {"k": a.v, "v": b.k}]
    return correlate(
        slots=slots,
        where=draw(st.sampled_from(wheres)),
        yields=draw(st.sampled_from(yields)),
        restrict=restrict,
        name=f"made{number}",
    )


def _operated(draw: Any, source: Reactive, _number: int) -> Reactive:
    """Draw an operator."""
    streams = [
        lambda x: map_(x, lambda value: value),
        lambda x: filter_(x, lambda value: value.v >= 0),
        lambda x: scan(x, lambda _, value: value),
        lambda x: map_concat(x, lambda value: [value, value]),
        lambda x: group_by(x, lambda value: repr(value)[:9]),
        lambda x: to_table(x, key=lambda value: repr(value)[:9]),
        lambda x: reduce(to_table(x, key=repr), count),
        lambda x: cartesian(x, restrict=most_recently(x.name)),
    ]
    tables = [
        lambda x: map_table(x, lambda value: {"k": value.v, "v": value.k}),
        lambda x: filter_table(x, lambda value: value.v >= 0),
        lambda x: reduce(x, count),
        lambda x: reduce(x, count, by=lambda value: repr(value)[:9]),
        changelog,
        lambda x: inner_join(x, x),
        lambda x: left_join(x, x),
    ]
    operator = draw(st.sampled_from(tables if source.table else streams))
    made: Reactive = operator(source)
    return made


@st.composite
def programs(draw: Any) -> tuple[list[Reactive], list[Reactive], list[OrderMismatch]]:
    """Draw accepted programs of some inputs, these inputs, and what was reported on the way.

    To see a need that nobody states, a program must be refused for nothing else, and a trace must show it. So many
    small programs of the same inputs are tried, and what is accepted runs on the same traces; on one of them more is
    built.
    """
    x = Reactive("x", order=draw(st.sampled_from(STREAMS)))
    y = Reactive("y", order=draw(st.sampled_from(STREAMS)))
    t = Reactive("t", table=True, key="k", order=draw(st.sampled_from(TABLES)))
    shapes: list[dict[str, Any]] = [{"a": x, "b": y}, {"a": x, "b": t}, {"a": y, "b": x}, {"a": t, "b": x}]
    if not _is_list(x):  # else there is one sequence only of what x alone gives
        shapes += [{"a": x}, {"a": x, "b": x}, {"a": repeated(x, 2)}]
    if not _is_list(t):
        shapes += [{"a": t}]
    shape = draw(st.sampled_from(shapes))
    slots = [*shape, None][:2]
    pool, start = _restrictions(slots[0] or "", slots[1]), draw(st.integers(0, 100))
    tried = [pool[(start + STRIDE * n) % len(pool)] for n in range(TRIED)]  # so all have their turn equally often
    outputs, reports = _accepted([partial(_made, draw, shape, first=first) for first in tried])
    last = draw(st.sampled_from(outputs)) if outputs else cartesian(x)
    for stage in range(draw(st.sampled_from([2, 1, 0]))):
        more: dict[str, Any] = draw(st.sampled_from([{"a": last}, {"a": last, "b": x}]))
        found, refused = _accepted([partial(_operated, draw, last), partial(_made, draw, more)], TRIED * (stage + 1))
        outputs, reports = outputs + found, reports + refused
        last = found[-1] if found else last
    inputs = {one for output in outputs for one in Engine(output).inputs.values()}
    return outputs, sorted(inputs, key=lambda one: one.name), reports


def _accepted(
    makers: Sequence[Callable[[int], Reactive]], first: int = 0
) -> tuple[list[Reactive], list[OrderMismatch]]:
    """Return the correlations that may be made, and what is reported of the others."""
    found, reports = [], []
    for number, make in enumerate(makers, first):
        try:
            found.append(make(number))
        except OrderMismatch as error:
            reports.append(error)
        except InvalidArgument:
            continue
    return found, reports


def _is_list(one: Reactive) -> bool:
    return one.order is not None and one.order.keys == () and one.order.marked


@st.composite
def traces(draw: Any, inputs: list[Reactive]) -> list[Any]:
    """Draw items: (input, value, time), and times of markers, that keep what the inputs declare.

    What is not marked may be moved over any marker, so its times are later than all of those: it is never late.
    """
    items: list[Any] = []
    clock, taken = 0, set()
    for _ in range(draw(st.sampled_from([8, 10, 6, 3]))):
        if clock < LATEST and draw(st.integers(0, 4)) == 0:
            clock = min(clock + draw(st.integers(1, 6)), LATEST)
            items.append(clock)
            continue
        one = draw(st.sampled_from(inputs))
        assert one.order is not None
        key, value = draw(st.integers(0, 1)), draw(st.integers(0, 2))
        at = (clock if one.order.marked else LATEST) + draw(st.integers(0, 6))
        distinct = one.order.distinct
        if distinct is not None:
            agreeing = (key,) if distinct else ()
            while (one, agreeing, at) in taken:
                at += 1
            taken.add((one, agreeing, at))
        row: Any = {"k": key, "v": value}
        if one.table:
            row = Delete(key) if draw(st.integers(0, 3)) == 0 else Update(key, row)
        items.append((one, row, at))
    return items


def depend(one: Any, other: Any) -> bool:
    """Whether two items may not change places: E1's dependence, of what the inputs declare."""
    if isinstance(one, int) or isinstance(other, int):
        return all(item[0].order.marked for item in (one, other) if not isinstance(item, int))
    (first, value, _), (second, other_value, _) = one, other
    if first.order.keys is None or second.order.keys is None:
        return False
    if first is not second and (first.order.among is None or first.order.among != second.order.among):
        return False
    keys = zip(first.order.keys, second.order.keys, strict=True) if _are_as_many(first, second) else None
    return keys is not None and all(_field(value, a) == _field(other_value, b) for a, b in keys)


def _are_as_many(one: Any, other: Any) -> bool:
    return len(one.order.keys) == len(other.order.keys)


def _field(value: Any, key: str) -> Any:
    if isinstance(value, Update | Delete):
        return value.key
    return value[key] if isinstance(value, Mapping | Record) else getattr(value, key)


@st.composite
def shuffled(draw: Any, items: list[Any]) -> list[Any]:
    """Draw another sequence of the same trace: each item after those before it that it depends on."""
    return _reordered(items, lambda free: draw(st.sampled_from(free)))


def turned(items: list[Any]) -> list[Any]:
    """Return the sequence of the same trace in which everything comes as early as it may that came late."""
    return _reordered(items, max)


def _reordered(items: list[Any], choose: Callable[[list[int]], int]) -> list[Any]:
    rest, found = list(items), []
    while rest:
        free = [i for i, item in enumerate(rest) if not any(depend(item, before) for before in rest[:i])]
        found.append(rest.pop(choose(free)))
    return found


def outputs(output: Reactive, items: list[Any]) -> list[list[Any]]:
    """What comes out, marker by marker."""
    engine = Engine(output)
    inputs = engine.inputs.values()
    segments: list[list[Any]] = [[]]
    for item in items:
        if isinstance(item, int):
            segments[-1] += engine.advance(item)
            segments.append([])
        elif item[0] in inputs:
            segments[-1] += engine.push(item[0], item[1], at=item[2])
    segments[-1] += engine.close()
    return segments


def is_same(output: Reactive, ones: list[list[Any]], others: list[list[Any]]) -> bool:
    """Whether two runs are one by the type of the output."""
    order = output.order
    assert order is not None
    if not order.marked:
        ones, others = [list(chain(*ones))], [list(chain(*others))]
    if order.corrected:
        return [_standing(output, ones[: n + 1]) == _standing(output, others[: n + 1]) for n in range(len(ones))] == [
            True
        ] * len(ones)

    def dependent(a: Any, b: Any) -> bool:
        if order.keys is None:
            return False
        return all(_field(a.value, key) == _field(b.value, key) for key in order.keys)

    return all(streams_equivalent(a, b, dependent=dependent) for a, b in zip(ones, others, strict=True))


def _rows_at(events: list[Any], at: float) -> dict[Any, str]:
    """The rows of a table at a time: each change holds for its span; without one, from its step on, at all times."""
    rows: dict[Any, str] = {}
    for event in events:
        if event.span is not None and not event.span[0] <= at < event.span[1]:
            continue
        if isinstance(event.value, Update):
            rows[event.value.key] = repr(event.value.value)
        else:
            rows.pop(event.value.key, None)
    return rows


def _standing(output: Reactive, segments: list[list[Any]]) -> Any:
    """What stands after all that was given and taken back."""
    events = [event for segment in segments for event in segment]
    if output.table:
        return [_rows_at(events, at) for at in (*range(MOMENTS), NEWEST)]
    total: Counter[Any] = Counter()
    for event in events:
        total[repr(event.value), event.start, event.end] += event.weight
    return {key: weight for key, weight in total.items() if weight}
