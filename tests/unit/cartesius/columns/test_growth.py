"""What the compiled tier holds: few bytes a retained event beside the columns of the payload."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.columns.batches.running import compiled_of
from restrictions import affinely, key_by, most_recently, within, zip_
from restrictions.tables import inner_join, to_table

LEFT, RIGHT = Reactive("left"), Reactive("right")
MOST = 64
PAYLOAD = 16
"""Bytes of the two fields of an event."""


def of_streams(restrict):
    return correlate(
        left=LEFT, right=RIGHT, where=lambda left, right: left.v != right.v,
        yields=lambda left, right: (left.v, right.v), restrict=restrict,
    )  # fmt: skip


KEYED = key_by(left="k", right="k")
PROGRAMS = {
    "latest": lambda: of_streams(KEYED | most_recently("left", "right")),
    "within": lambda: of_streams(KEYED | within(10**9, "left", "right")),
    "affinely": lambda: of_streams(KEYED | affinely("left", "right")),
    "zip": lambda: zip_(LEFT, RIGHT),
    "tables": lambda: inner_join(to_table(LEFT, key="k"), to_table(RIGHT, key="k")),
}


def batch(n, first):
    """Events of distinct keys, all of one input but one: they meet nothing, and stay."""
    keys = np.arange(first, first + n)
    return {
        LEFT: {"k": keys, "v": keys + 1, "at": keys, "order": keys},
        RIGHT: {"k": [-1 - first], "v": [0], "at": [first], "order": [-1]},
    }


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()


def grown_by(program, n):
    """The engine after ``n`` events that stay, and how much memory is held for them."""
    engine: Any = Engine(PROGRAMS[program]())
    engine.push_many(batch(10, 0))
    tracemalloc.start()
    try:
        before = held()
        engine.push_many(batch(n, 10))
        grown = held() - before
    finally:
        tracemalloc.stop()
    assert compiled_of(engine).states is not None
    return engine, grown


def test_a_million_retained_events_take_few_bytes_each_beside_their_payload():
    n = 1_000_000
    engine, grown = grown_by("latest", n)
    assert compiled_of(engine).nbytes <= MOST * (n + 12)
    assert grown <= (MOST + PAYLOAD) * n + 100_000  # that, and nothing else


@pytest.mark.parametrize("program", PROGRAMS)
def test_whatever_keeps_them(program):
    n = 20_000
    engine, grown = grown_by(program, n)
    nbytes = compiled_of(engine).nbytes
    kept = engine.stats.retained + engine.stats.waiting
    assert kept >= n
    assert nbytes <= MOST * kept
    assert grown <= (MOST + PAYLOAD) * kept + 100_000


def test_what_is_displaced_is_forgotten():
    engine: Any = Engine(PROGRAMS["latest"]())
    keys = np.arange(100_000) % 10
    for first in range(3):
        tracemalloc.start()
        before = held()
        engine.push_many({LEFT: {"k": keys, "v": keys}, RIGHT: {"k": [], "v": []}})
        grown = held() - before
        tracemalloc.stop()
        assert compiled_of(engine).nbytes <= MOST * 10
        assert grown < 100_000, first
