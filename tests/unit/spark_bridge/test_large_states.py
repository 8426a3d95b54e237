"""A call with few rows on a large memory: the state stays in columns, and the results are those of an engine alone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.batches.running import Attempt
from cartesius.columns.batches.single_rows import is_large
from restrictions import key_by, most_recently
from spark_bridge.running import buckets
from tests.unit.spark_bridge.bucket_rows import Row, results, run
from tests.unit.spark_bridge.test_bucket_states import buckets_of

KEYS = 700  # more than make a memory large
left, right = Reactive("left"), Reactive("right")
judged = correlate(
    left=left,
    right=right,
    where=lambda left, right: left.n == right.n,
    yields=lambda left, right: {"k": left.k, "r": right.k},
    restrict=key_by(left="k") | most_recently("left") | key_by(right="n") | most_recently("right"),
    name="judged",
)


def filling():
    return [Row(0, time, 0, {"k": f"key {time}", "n": time % 50}) for time in range(KEYS)]


def few(seed, time, count):
    draw = random.Random(seed)
    return [
        Row(0, time + number, draw.randrange(2), {"k": f"key {draw.randrange(2 * KEYS)}", "n": draw.randrange(60)})
        for number in range(count)
    ]


def alone(calls):
    """What an engine gives that is pushed one row at a time, without buckets, columns or states."""
    engine = Engine(judged, tier="in_place")
    for rows in calls:
        yield [
            (dict(event.value), event.start, event.end)
            for row in rows
            for event in engine.push((left, right)[row.source], dict(row.columns), at=row.time)
        ]


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 40)), min_size=1, max_size=5), st.booleans())
def test_calls_of_any_size_give_what_an_engine_gives(sizes, keeps):
    calls = [filling(), *(few(seed, 1000 * (n + 1), count) for n, (seed, count) in enumerate(sizes))]
    program, state = buckets_of(judged, query="q" * keeps), None
    for rows, expected in zip(calls, alone(calls), strict=True):
        outcome = run(program, 0, state, rows)
        state = outcome.state
        assert [(value, start, end) for _, _, _, value, start, end in results(outcome)] == expected


@pytest.mark.parametrize("filled_by", [KEYS, 20])
def test_a_row_does_not_make_objects_of_a_large_memory(filled_by):
    """Nor do states that have grown by few rows at a time stay objects."""
    program, state = buckets_of(judged), None
    for first in range(0, KEYS, filled_by):
        state = run(program, 0, state, filling()[first : first + filled_by]).state
    opened = program.states.open(0, run(program, 0, state, few(1, 1000, 1)).state)
    assert opened.engine._compiled.states is not None
    assert is_large(opened.engine)
    assert opened.engine.stats.retained >= KEYS  # asking for that makes objects
    assert is_large(opened.engine)


def test_what_cannot_be_a_batch_is_not_tried_again_for_a_few_rows(monkeypatch):
    tried = []

    def refuse(engine, *_):
        engine._why_row_by_row = "its values are of several types"
        tried.append(engine)
        return Attempt()

    monkeypatch.setattr(buckets, "attempt", refuse)
    program = buckets_of(judged, query="refused")
    state = run(program, 0, None, filling()).state
    for time in (1000, 2000):
        state = run(program, 0, state, few(1, time, 1)).state
    assert len(tried) == 1


def test_small_memories_take_few_rows_one_by_one(monkeypatch):
    program = buckets_of(judged)
    monkeypatch.setattr(buckets, "attempt", lambda *_: 1 / 0)
    run(program, 0, None, few(1, 0, 20))  # it is not asked for
