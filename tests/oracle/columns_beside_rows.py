"""One program fed in two ways: row by row, and by batches of columns between which rows are pushed and clocks moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Engine
from cartesius.columns.results import events_of

if TYPE_CHECKING:
    import random

    from cartesius import Reactive

Row = tuple["Reactive", dict[str, Any]]
"""An input, and an event of it: its fields, and ``start`` and ``end``."""
TIMES = ("start", "end")


def a_trace(draw: random.Random, inputs: list[Reactive], disordered: float, lasting: float) -> list[Row]:
    """Rows that come in order of time but for some, and most of which are points."""
    now, stride = 0, draw.choice([0, 1, 1, 2])
    disorder, lasts = draw.random() < disordered, draw.random() < lasting
    keys: list[Any] = draw.choice([["p"], ["p", "q"], ["p", "q", "r", None]])
    seldom = draw.choice([0.3, 0.5])  # of the first input
    rows = []
    for number in range(30):
        now += draw.randrange(stride + 1)
        start = now - (draw.randrange(4) if disorder else 0)
        end = start + (draw.randrange(3) if lasts else 0)
        row = {"n": number % 9, "k": draw.choice(keys), "j": draw.randrange(2), "start": start, "end": end}
        rows.append((inputs[0] if draw.random() < seldom else draw.choice(inputs[1:]), row))
    return rows


def shown(events: Any) -> list[Any]:
    """What both ways must agree on; an identity no table has."""
    return [(event.value, event.start, event.end, event.weight) for event in events]


def push(engine: Engine, row: Row) -> list[Any]:
    """Push one row."""
    reactive, fields = row
    payload = {name: value for name, value in fields.items() if name not in TIMES}
    return shown(engine.push(reactive, payload, at=(fields["start"], fields["end"])))


def push_many(engine: Engine, rows: list[Row]) -> list[Any]:
    """Push rows as one batch."""
    batch: dict[Reactive, dict[str, list[Any]]] = {}
    for number, (reactive, fields) in enumerate(rows):
        columns = batch.setdefault(reactive, {name: [] for name in (*fields, "order")})
        for name, value in {**fields, "order": number}.items():
            columns[name].append(value)
    return shown(events_of(engine.push_many(batch)))


def agree(draw: random.Random, output: Reactive, rows: list[Row]) -> bool:
    """Feed one program in both ways, and compare; return whether columns computed it."""
    lateness = draw.choice([None, 0, 0, 2])
    one, other = Engine(output, lateness=lateness), Engine(output, lateness=lateness)
    place = 0
    while place < len(rows):
        coming = rows[place : place + draw.choice([1, 3, 10, 30])]
        expected = [event for row in coming for event in push(one, row)]
        is_pushed = len(coming) == 1 and draw.random() < 0.5  # what one way has done the other goes on from
        assert (push(other, coming[0]) if is_pushed else push_many(other, coming)) == expected
        place += len(coming)
        if draw.random() < 0.3:
            time = coming[-1][1]["end"] + draw.randrange(6)
            assert one.next_deadline == other.next_deadline
            assert shown(one.advance(time)) == shown(other.advance(time))
        if draw.random() < 0.2:
            other = Engine.restore(other.snapshot(), output, lateness=lateness)
    is_computed = "compiled" in other.explain()
    assert (one.stats.tuples, one.stats.slots) == (other.stats.tuples, other.stats.slots)
    assert [event.end for event, *_ in one.late] == [event.end for event, *_ in other.late]
    assert shown(one.close()) == shown(other.close())
    return is_computed
