"""Absence as batches of columns against pushing the rows one by one: random keys, times, cuts and clocks.

Rows are decided in the middle of a batch, between two, and by the clock alone; and any way may follow any other on the
same state.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fifo, key_by, without
from tests.oracle.columns_beside_rows import a_trace, agree


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    inputs = [Reactive(name, fields=("n", "k", "j")) for name in "ab"]
    restrict: Any = without(inputs[1], after="x", within=draw.randrange(7))
    if draw.random() < 0.8:
        restrict = key_by(x="k", b="k") | restrict
    if draw.random() < 0.3:
        other = key_by(x="j", b="j")
        restrict = draw.choice([other | restrict, restrict | other])
    if draw.random() < 0.1:
        restrict = fifo() | restrict
    yields = draw.choice([lambda x: x.n, lambda x: (x.n, x.k), lambda x: x.n / (x.n - 9)])
    return inputs, correlate(x=inputs[0], yields=yields, restrict=restrict, name="out")


def run(seed: Any) -> bool:
    """Run one program in both ways; return whether columns computed it."""
    draw = random.Random(seed)
    inputs, output = a_program(draw)
    return agree(draw, output, a_trace(draw, inputs, 0.3, 0.3))


@given(st.integers(0, 2**32))
def test_batches_give_what_pushes_give(seed: int) -> None:
    run(seed)


def test_the_programs_drawn_are_computed_by_columns() -> None:
    assert sum(run(str(seed)) for seed in range(40)) > 25


@pytest.mark.parametrize("key", ["k", "j"])
def test_rows_of_null_keys_come_in_the_order_in_which_they_were_waited_for(key) -> None:
    """Each has a copy of its own, though all of them equal nothing."""
    a, b = Reactive("a"), Reactive("b")
    keys = key_by(x="k", b="k") | key_by(x="j", b="j")
    unanswered = correlate(x=a, yields=lambda x: x.n, restrict=keys | without(b, after="x", within=2))
    other = {"k": "j", "j": "k"}[key]
    engine = Engine(unanswered, lateness=0)
    engine.push_many({a: {"n": [1, 2], key: [None, None], other: [0, 1], "at": [3, 3]}})
    table = engine.push_many({a: {"n": [3], "k": [5], "j": [5], "at": [9]}})
    assert "compiled" in engine.explain()
    assert table.column("value").to_pylist() == [1, 2]


def test_what_a_batch_has_decided_comes_at_the_event_that_moved_the_clock() -> None:
    a, b = Reactive("a"), Reactive("b")
    unpaid = correlate(x=a, yields=lambda x: x.k, restrict=key_by(x="k", b="k") | without(b, after="x", within=5))
    engine = Engine(unpaid, lateness=0)
    rows = {"k": ["p", "q", "r", "s"], "at": [0, 1, 9, 10], "order": [0, 1, 3, 4]}
    found = engine.push_many({a: rows, b: {"k": ["q"], "at": [4], "order": [2]}})
    assert found.column("value").to_pylist() == ["p"]
    assert "compiled: the kernel of absent events" in engine.explain()
    assert [event.value for event in engine.advance(16)] == ["r", "s"]
