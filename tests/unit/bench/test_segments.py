"""The prototypes of states in pieces give what the library's states give, and write what they are there to show."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest

from bench import spark_segments
from bench.spark_segments import ByKey, Log, Whole
from spark_bridge.state.engine_cache import ENGINES
from tests.unit.spark_bridge.bucket_rows import Row, results, run
from tests.unit.spark_bridge.test_bucket_states import buckets_of
from tests.unit.spark_bridge.test_large_states import judged

KEYS = 600
DESIGNS = {
    "whole": Whole,
    "segments": lambda states: ByKey(states, {"left": "n", "right": "n"}, 12),
    "log": Log,
}


class Parts(dict[int, bytes]):
    """A map, and how many bytes were written to it."""

    written = 0

    def put(self, place, part):
        self.written += len(part)
        self[place] = part

    def remove(self, place):
        del self[place]


def calls():
    draw = random.Random(1)
    yield [Row(0, n, 0, {"k": f"key {n}", "n": n % 50}) for n in range(KEYS)] + [
        Row(0, n, 1, {"k": "", "n": n}) for n in range(40)
    ]
    for time in range(1000, 1008):
        some = draw.sample(range(KEYS), 40 if time % 2 else 0)
        yield [Row(0, time, 0, {"k": f"key {k}", "n": k % 50}) for k in some] + [
            Row(0, time, 1, {"k": "", "n": time % 40})
        ]


@pytest.fixture(scope="module")
def expected():
    program, state, found = buckets_of(judged, query="q"), None, []
    for rows in calls():
        outcome = run(program, 0, state, rows)
        state = outcome.state
        found.append(results(outcome))
    return found


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("design", DESIGNS)
def test_they_give_what_the_library_gives(design, keeps, expected):
    program, parts = buckets_of(judged, query="q"), cast("Any", Parts())
    program.states = DESIGNS[design](program.states)
    for rows, wanted in zip(calls(), expected, strict=True):
        if not keeps:  # as in another worker
            spark_segments._KEPT.clear()
            ENGINES.clear()
        assert results(run(program, 0, parts, rows)) == wanted


def written(design):
    """Return how many bytes the last two calls have written: one with a broadcast row alone, one with others."""
    program, parts, found = buckets_of(judged, query=design), cast("Any", Parts()), []
    program.states = DESIGNS[design](program.states)
    for rows in calls():
        before = parts.written
        run(program, 0, parts, rows)
        found.append(parts.written - before)
    return found[-2], found[-1]


def test_a_log_writes_what_changes_and_segments_what_is_near():
    whole, segments, log = map(written, DESIGNS)
    assert segments[0] < whole[0] / 2  # one row, one segment
    assert segments[1] > whole[1] * 0.9  # few rows in each segment: all of them
    assert max(log) < min(whole) / 2
