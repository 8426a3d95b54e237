"""Random programs over inputs of declared orders, traces of them, and shuffles within the declared types.

What two runs must have in common is written from the meaning of the types (SOURCES E1, SEMANTICS 4), not from the
code: an input is a trace, a class of sequences under swaps of adjacent independent items; so is an output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, ordered, unordered
from cartesius.errors import InvalidArgument, OrderMismatch
from cartesius.records import Record
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
from restrictions.completion import at_end
from restrictions.folding import accumulating, buffering, distinctly, skipping
from restrictions.streams import filter_, group_by, map_, map_concat, scan
from restrictions.tables import changelog, count, filter_table, inner_join, left_join, map_table, reduce, to_table
from restrictions.windows import istream, on_close

LONG = 1000  # longer than any trace: nothing is late for a gate

STREAMS = [
    unordered(),
    unordered(distinct=("k",)),
    unordered(distinct=()),
    unordered(marked=False),
    ordered("k"),
    ordered("k", distinct=("k",)),
    ordered(),
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


def restrictions_of(a: str, b: str | None) -> list[Any]:
    """What may be drawn for one slot, or two."""
    both = (a,) if b is None else (a, b)
    found = [
        *[most_recently(s) for s in both],
        most_recently(*both),
        most_recently(a, n=2),
        earliest(a),
        momentarily(a),
        momentarily(*both),
        affinely(a),
        at_most(2, a),
        fifo(),
        lifo(),
        first_match(),
        take(2),
        take(2, a),
        every_nth(2),
        every_nth(2, a),
        randomly(3),
        ordered_by(lambda *values: repr(values)),
        only(a, lambda value: value.v > 0),
        retracting(),
        as_table(a),
        as_table(lambda value: repr(value)[:12]),
        key_by(**dict.fromkeys(both, "k")),
        key_by(**{a: "k"}),
        in_event_time(LONG),
        tumbling(5),
        sliding(6, 3),
        tumbling(5, report=on_close),
        session(3),
        istream(),
        versioned(a, retention=LONG),
        distinctly(a, key=lambda value: value.v),
        skipping(a, lambda value: value.v < 1),
        buffering(a, 2),
        accumulating(a, lambda total, value: {"k": value.k, "v": total.v + value.v}),
        at_end(*both),
        separately(),
    ]
    if b is not None:
        found += [
            aligning(a, b),
            within(3, a, b),
            optionally(b),
            in_sequence(a, b),
            key_by(**{b: "k"}),
            without(b, after=a, within=3),
            affinely(a, b),
            as_table(b),
        ]
    return found


def _made(draw: Any, slots: dict[str, Reactive], number: int) -> Reactive:
    """Draw a correlation of slots."""
    names = list(slots)
    a, b = names[0], names[1] if len(names) > 1 else None
    both = names[:2]
    parts: list[Any] = [fifo()]
    if draw(st.integers(0, 3)) == 0:
        parts.append(retracting())
    if draw(st.integers(0, 2)) == 0:
        parts.append(key_by(**dict.fromkeys(both, "k")))
    parts += draw(st.lists(st.sampled_from(restrictions_of(a, b)), min_size=1, max_size=2))
    if draw(st.integers(0, 3)) == 0:
        parts.append(in_event_time(LONG))
    restrict = parts[0]
    for part in parts[1:]:
        restrict = restrict | part
    wheres: list[Any]
    yields: list[Any]
    if b is None:
        wheres = [None, lambda a: a.v > 0]
        yields = [lambda a: a, lambda a: {"k": a.k, "v": a.v + 1}, lambda a: {"k": a.v, "v": a.k}]
    else:
        wheres = [None, lambda a, b: a.k == b.k, lambda a, b: a.v <= b.v]
        yields = [lambda a, b: {"k": a.k, "v": b.v}, lambda a, b: a, lambda a, b: {"k": a.v, "v": b.k}]
    return correlate(
        slots=slots,
        where=draw(st.sampled_from(wheres)),
        yields=draw(st.sampled_from(yields)),
        restrict=restrict,
        name=f"made{number}",
    )


def _operated(draw: Any, source: Reactive) -> Reactive:
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
def programs(draw: Any) -> tuple[Reactive, list[Reactive], list[OrderMismatch]]:
    """Draw an accepted program, its inputs, and what was reported on the way to it."""
    x = Reactive("x", order=draw(st.sampled_from(STREAMS)))
    y = Reactive("y", order=draw(st.sampled_from(STREAMS)))
    t = Reactive("t", table=True, key="k", order=draw(st.sampled_from(TABLES)))
    shapes = [{"a": x, "b": y}, {"a": x, "b": t}, {"a": x, "b": x}, {"a": t, "b": x}, {"a": x}, {"a": t}]
    output: Reactive | None = None
    reports = []
    for number in range(draw(st.sampled_from([2, 1, 3]))):
        for _ in range(6):
            try:
                if output is None:
                    made = _made(draw, draw(st.sampled_from(shapes)), number)
                elif draw(st.booleans()):
                    made = _operated(draw, output)
                else:
                    made = _made(draw, draw(st.sampled_from([{"a": output}, {"a": output, "b": x}])), number)
            except OrderMismatch as error:
                reports.append(error)
            except InvalidArgument:
                continue
            else:
                output = made
                break
    if output is None:
        output = cartesian(x)
    return output, list(Engine(output).inputs.values()), reports


@st.composite
def traces(draw: Any, inputs: list[Reactive]) -> list[Any]:
    """Draw items: (input, value, time), and times of markers, that keep what the inputs declare."""
    may_mark = all(one.order is not None and one.order.marked for one in inputs)
    items: list[Any] = []
    clock, taken = 0, set()
    for _ in range(draw(st.sampled_from(range(8, 0, -1)))):
        if may_mark and draw(st.integers(0, 3)) == 0:
            clock += draw(st.integers(1, 6))
            items.append(clock)
            continue
        one = draw(st.sampled_from(inputs))
        key, value = draw(st.integers(0, 1)), draw(st.integers(0, 2))
        at = clock + draw(st.integers(0, 6))
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
    rest, found = list(items), []
    while rest:
        free = [i for i, item in enumerate(rest) if not any(depend(item, before) for before in rest[:i])]
        found.append(rest.pop(draw(st.sampled_from(free))))
    return found


def outputs(output: Reactive, items: list[Any]) -> list[list[Any]]:
    """What comes out, marker by marker."""
    engine = Engine(output)
    segments: list[list[Any]] = [[]]
    for item in items:
        if isinstance(item, int):
            segments[-1] += engine.advance(item)
            segments.append([])
        else:
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


def _standing(output: Reactive, segments: list[list[Any]]) -> Any:
    """What stands after all that was given and taken back."""
    events = [event for segment in segments for event in segment]
    if output.table:
        rows: dict[Any, str] = {}
        for event in events:
            if isinstance(event.value, Update):
                rows[event.value.key] = repr(event.value.value)
            else:
                rows.pop(event.value.key, None)
        return rows
    total: Counter[Any] = Counter()
    for event in events:
        total[repr(event.value), event.start, event.end] += event.weight
    return {key: weight for key, weight in total.items() if weight}
