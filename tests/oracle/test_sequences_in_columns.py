"""Sequences as batches of columns against pushing the rows one by one: random programs, times, cuts and clocks.

Times ascend, mostly: then the kernel computes what is next; where they do not, or events last, it must leave a batch to
the rows, and any way may follow any other on the same state.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fifo, in_sequence, key_by, only, within
from restrictions.time.duration import lasting
from tests.oracle.columns_beside_rows import a_trace, agree

NAMES = "xyz"
BODIES: dict[int, Any] = {2: lambda x, y: (x.n, y.n), 3: lambda x, y, z: (x.n, y.n, z.n)}
WHERE: dict[int, Any] = {2: lambda x, y: x.n <= y.n, 3: lambda x, y, z: x.n <= z.n}


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    names = NAMES[: draw.choice([2, 2, 3])]
    inputs = [Reactive(name, fields=("n", "k", "j")) for name in "abc"[: len(names)]]
    contiguity = draw.choice(["relaxed", "relaxed", "strict", "any"])
    order = names if draw.random() < 0.85 else draw.sample(names, len(names))
    restrict: Any = in_sequence(*order, contiguity=contiguity)
    if draw.random() < 0.8:
        restrict = key_by(**dict.fromkeys(names, "k")) | restrict
    if draw.random() < 0.9:
        restrict = restrict | within(draw.randrange(1, 8), *names)
    for other in (fifo(), only("x", lambda x: x.n > 1), lasting("x", 4), in_sequence("x", "y", contiguity="any")):
        if draw.random() < 0.08:
            restrict = other | restrict
    where = WHERE[len(names)] if draw.random() < 0.2 else None
    slots = dict(zip(names, inputs, strict=True))
    return inputs, correlate(slots=slots, where=where, yields=BODIES[len(names)], restrict=restrict, name="out")


def run(seed: Any) -> bool:
    """Run one program in both ways; return whether columns computed it."""
    draw = random.Random(seed)
    inputs, output = a_program(draw)
    return agree(draw, output, a_trace(draw, inputs, 0.15, 0.15))


@given(st.integers(0, 2**32))
def test_batches_give_what_pushes_give(seed: int) -> None:
    run(seed)


def test_many_programs_drawn_are_computed_by_columns() -> None:
    assert sum(run(str(seed)) for seed in range(40)) > 15


@pytest.mark.parametrize("contiguity", ["relaxed", "strict", "any"])
def test_a_sequence_goes_on_from_batch_to_batch(contiguity: str) -> None:
    a, b = Reactive("a"), Reactive("b")
    stack = key_by(x="k", y="k") | in_sequence("x", "y", contiguity=contiguity) | within(9, "x", "y")
    engine = Engine(correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=stack), lateness=0)
    first = {a: {"n": [1, 2], "k": ["p", "p"], "at": [1, 2], "order": [0, 1]}}
    assert len(engine.push_many(first)) == 0
    second = {b: {"n": [3, 4], "k": ["p", "p"], "at": [3, 4], "order": [0, 1]}}
    values = [tuple(value.values()) for value in engine.push_many(second).column("value").to_pylist()]
    assert (
        values
        == {
            "relaxed": [(2, 3), (1, 3)],
            "strict": [(2, 3)],
            "any": [(2, 3), (1, 3), (2, 4), (1, 4)],
        }[contiguity]
    )
    assert "compiled: the kernel of parts in sequence" in engine.explain()
