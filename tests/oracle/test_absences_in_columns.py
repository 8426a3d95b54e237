"""Absence as batches of columns against pushing the rows one by one: random keys, times, cuts and clocks.

Rows are decided in the middle of a batch, between two, and by the clock alone; and any way may follow any other on the
same state.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import fifo, key_by, without

Row = tuple[Reactive, dict[str, Any]]


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    inputs = [Reactive(name, fields=("n", "k", "j")) for name in "ab"]
    restrict: Any = without(inputs[1], after="x", within=draw.randrange(7))
    if draw.random() < 0.8:
        restrict = key_by(x="k", b="k") | restrict
    if draw.random() < 0.2:
        restrict = key_by(x="j", b="j") | restrict
    if draw.random() < 0.1:
        restrict = fifo() | restrict
    yields = draw.choice([lambda x: x.n, lambda x: (x.n, x.k), lambda x: x.n / (x.n - 9)])
    return inputs, correlate(x=inputs[0], yields=yields, restrict=restrict, name="out")


def a_trace(draw: random.Random, inputs: list[Reactive]) -> list[Row]:
    now, stride = 0, draw.choice([0, 1, 1, 2])
    disorder, lasts = draw.random() < 0.3, draw.random() < 0.3
    keys: list[Any] = draw.choice([["p"], ["p", "q"], ["p", "q", "r", None]])
    seldom = draw.choice([0.2, 0.5])
    rows = []
    for number in range(30):
        now += draw.randrange(stride + 1)
        start = now - (draw.randrange(4) if disorder else 0)
        end = start + (draw.randrange(3) if lasts else 0)
        row = {"n": number % 9, "k": draw.choice(keys), "j": draw.randrange(2), "start": start, "end": end}
        rows.append((inputs[draw.random() < seldom], row))
    return rows


def shown(events: Any) -> list[Any]:
    return [(event.value, event.start, event.end, event.weight) for event in events]


def push(engine: Engine, row: Row) -> list[Any]:
    reactive, fields = row
    payload = {name: fields[name] for name in ("n", "k", "j")}
    return shown(engine.push(reactive, payload, at=(fields["start"], fields["end"])))


def run(seed: Any) -> bool:
    """Run one program in both ways; return whether columns computed it."""
    draw = random.Random(seed)
    inputs, output = a_program(draw)
    rows = a_trace(draw, inputs)
    lateness = draw.choice([None, 0, 0, 2])
    one, other = Engine(output, lateness=lateness), Engine(output, lateness=lateness)
    place = 0
    while place < len(rows):
        coming = rows[place : place + draw.choice([1, 3, 10, 30])]
        expected = [event for row in coming for event in push(one, row)]
        if len(coming) == 1 and draw.random() < 0.5:  # what one way has done the other goes on from
            found = push(other, coming[0])
        else:
            batch: dict[Reactive, dict[str, list[Any]]] = {}
            for number, (reactive, fields) in enumerate(coming):
                columns = batch.setdefault(reactive, {name: [] for name in (*fields, "order")})
                for name, value in {**fields, "order": number}.items():
                    columns[name].append(value)
            found = shown(events_of(other.push_many(batch)))
        assert found == expected
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


@given(st.integers(0, 2**32))
def test_batches_give_what_pushes_give(seed: int) -> None:
    run(seed)


def test_the_programs_drawn_are_computed_by_columns() -> None:
    assert sum(run(str(seed)) for seed in range(40)) > 25


def test_what_a_batch_has_decided_comes_at_the_event_that_moved_the_clock() -> None:
    a, b = Reactive("a"), Reactive("b")
    unpaid = correlate(x=a, yields=lambda x: x.k, restrict=key_by(x="k", b="k") | without(b, after="x", within=5))
    engine = Engine(unpaid, lateness=0)
    rows = {"k": ["p", "q", "r", "s"], "at": [0, 1, 9, 10], "order": [0, 1, 3, 4]}
    found = engine.push_many({a: rows, b: {"k": ["q"], "at": [4], "order": [2]}})
    assert found.column("value").to_pylist() == ["p"]
    assert "compiled: the kernel of absent events" in engine.explain()
    assert [event.value for event in engine.advance(16)] == ["r", "s"]
