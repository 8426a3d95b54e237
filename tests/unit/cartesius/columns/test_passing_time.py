"""The clock moves while columns own the state, and what is due is known, as if the rows had been pushed one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import key_by, most_recently, tumbling, within

left, right = Reactive("left"), Reactive("right")
near = correlate(
    left=left,
    right=right,
    where=lambda left, right: left.k == right.k,
    yields=lambda left, right: (left.n, right.n),
    restrict=within(10, "left", "right"),
    name="near",
)
latest = correlate(
    left=left,
    right=right,
    yields=lambda left, right: {"k": left.k, "l": left.n, "r": right.n},
    restrict=key_by(left="k", right="k") | most_recently("left", "right"),
    name="latest",
)
ROW = st.tuples(st.sampled_from(["left", "right"]), st.integers(0, 2), st.integers(0, 99), st.integers(0, 14))


def batch_of(rows):
    named = {name: [(place, row) for place, row in enumerate(rows) if row[0] == name] for name in ("left", "right")}
    return {
        name: pa.table(
            {
                "k": [row[1] for _, row in mine],
                "n": [row[2] for _, row in mine],
                "at": [row[3] for _, row in mine],
                "order": [place for place, _ in mine],
            }
        )
        for name, mine in named.items()
        if mine
    }


@pytest.mark.parametrize("program", [near, latest], ids=lambda program: program.name)
@given(st.lists(st.tuples(st.lists(ROW, min_size=1, max_size=9), st.integers(0, 12), st.booleans()), max_size=5))
def test_it_passes_as_for_rows_that_were_pushed(program, steps):
    columns, pushed, time = Engine(program), Engine(program), 0
    for drawn, passing, looks in steps:
        rows = [(name, k, n, time + at) for name, k, n, at in drawn]
        expected = [
            event for name, k, n, at in rows for event in pushed.push(pushed.inputs[name], {"k": k, "n": n}, at=at)
        ]
        assert events_of(columns.push_many(batch_of(rows))) == expected
        time += passing
        assert columns.advance(time) == pushed.advance(time) == []
        assert (columns.next_deadline, columns.clock) == (pushed.next_deadline, pushed.clock)
        assert columns._compiled is not None
        assert columns._compiled.states is not None  # nothing was made objects for that
        assert columns.take_late() == pushed.take_late()
        if looks:
            assert columns.stats == pushed.stats


def test_where_the_clock_decides_something_it_is_decided():
    counted = correlate(left=left, yields=lambda left: left.n, restrict=tumbling(10), name="counted")
    columns, pushed = Engine(counted), Engine(counted)
    expected = [event for at in (1, 5, 12) for event in pushed.push(left, {"n": at}, at=at)]
    found = events_of(columns.push_many({"left": {"n": [1, 5, 12], "at": [1, 5, 12]}}))
    assert columns.next_deadline == pushed.next_deadline
    assert found + columns.advance(30) == expected + pushed.advance(30)
