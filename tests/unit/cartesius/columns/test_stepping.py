"""The loop over steps: whatever the stack, the results of pushing row by row in the reference tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, correlate
from cartesius.columns.batches import plans
from cartesius.columns.loops.stepping import stepping_stage
from cartesius.columns.results import events_of
from cartesius.errors import CartesiusError, QueueFull
from restrictions import aligning, at_most, earliest, key_by, most_recently, only, optionally, retracting, within
from tests.unit.cartesius.columns.stacks import (
    INPUTS,
    PAGE,
    THREE,
    TWO,
    WHERE_THREE,
    WHERE_TWO,
    X,
    Y,
    Z,
    as_table_of,
    program,
    replaced,
    ways,
)
from tests.unit.cartesius.columns.stream_traces import check, cuts, exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius import Reactive


def by_the_loop() -> Any:
    """Let no kernel stand in front of the loop over steps."""
    return mock.patch.object(plans, "KERNELS", (stepping_stage,))


@st.composite
def traces(draw: st.DrawFn, slots: int) -> list[tuple[Any, ...]]:
    """Draw traces: (number of the slot, id, value, time) each; times mostly ascend, and some are late or equal."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, slots - 1),
                st.sampled_from((1, 2, 0, None)),
                st.integers(0, 4),
                st.integers(0, 3),
                st.sampled_from((0, 0, 0, 1, 4)),
            ),
            max_size=22,
        )
    )
    found, now = [], 0
    for slot, key, value, passed, before in rows:
        now += passed
        found.append((slot, key, value, now - before))
    return found


@given(
    names=st.lists(st.sampled_from(sorted(TWO)), min_size=1, max_size=4, unique=True),
    where=st.sampled_from(WHERE_TWO),
    lateness=st.sampled_from((None, 0, 2, 30)),
    trace=traces(2),
    cut=cuts(),
)
def test_two_streams_under_any_stack(
    names: Sequence[str], where: Any, lateness: int | None, trace: list[Any], cut: list[Any]
) -> None:
    compare(program(TWO, names, where, 2), lateness, trace, cut)


@given(
    names=st.lists(st.sampled_from(sorted(THREE)), min_size=1, max_size=4, unique=True),
    where=st.sampled_from(WHERE_THREE),
    lateness=st.sampled_from((None, 0, 2, 30)),
    trace=traces(3),
    cut=cuts(),
)
def test_three_streams_under_any_stack(
    names: Sequence[str], where: Any, lateness: int | None, trace: list[Any], cut: list[Any]
) -> None:
    compare(program(THREE, names, where, 3), lateness, trace, cut)


def compare(output: Reactive | None, lateness: int | None, trace: list[Any], cut: list[Any]) -> None:
    options: dict[str, Any] = {} if lateness is None else {"lateness": lateness}
    with by_the_loop():
        try:
            engine = None if output is None else Engine(output, **options)
        except CartesiusError:
            return
        if engine is None or output is None or isinstance(plans.stage_of(engine._program.joins[0]), str):
            return
        check(lambda: output, INPUTS[: len(engine._program.joins[0].slots)], trace, cut, **options)


def test_the_page_says_which_stacks_are_compiled() -> None:
    """All stacks of up to three of the issue's restrictions, in every order: what is not compiled says why."""
    found = ways()
    remedy = "the stacks that are compiled have changed: run python -m tests.unit.cartesius.columns.stacks"
    page = PAGE.read_text(encoding="utf-8")
    assert page == replaced(page, as_table_of(found)), remedy
    streams = {names: reason for names, reason in found.items() if not {"tumbling", "sliding"} & set(names)}
    assert len(found) > 1800
    assert sum(reason == "" for reason in streams.values()) > 0.9 * len(streams)


def rows(*some: tuple[int, int, int]) -> dict[str, list[int]]:
    """Return (id, v, order) as columns; times are the order."""
    ids, values, orders = zip(*some, strict=True)
    return {"id": list(ids), "v": list(values), "order": list(orders), "at": list(orders)}


def test_a_filter_behind_a_gate_drops_one_part_of_a_release() -> None:
    pairs = correlate(
        x=X,
        y=Y,
        yields=lambda x, y: (x.v, y.v),
        restrict=only("x", lambda x: x.v > 1) | aligning("x", "y") | most_recently("x", "y"),
    )
    engine = Engine(pairs)
    found = engine.push_many({X: rows((0, 2, 0), (0, 1, 1), (0, 3, 4)), Y: rows((0, 5, 2), (0, 6, 3), (0, 7, 5))})
    # Of the second release x is dropped: y meets the x that is there.
    assert [event.value for event in events_of(found)] == [(2, 5), (2, 6), (3, 7)]
    assert engine._why_row_by_row == ""


def test_the_oldest_of_a_key_and_the_newest_of_all() -> None:
    pairs = correlate(
        x=X,
        y=Y,
        yields=lambda x, y: (x.v, y.v),
        restrict=most_recently("x", n=2) | key_by(x="id", y="id") | earliest("x"),
    )
    engine = Engine(pairs)
    engine.push_many({X: rows((1, 10, 0), (1, 11, 1), (2, 20, 2), (3, 30, 3))})
    found = engine.push_many({Y: rows((1, 1, 4), (2, 2, 5), (3, 3, 6))})
    assert [event.value for event in events_of(found)] == [(20, 2), (30, 3)]


def test_a_queue_that_is_full_refuses_the_row_that_finds_it_so() -> None:
    engine = Engine(correlate(x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=aligning("x", "y", limit=2)))
    engine.push_many({X: rows((0, 1, 0), (0, 2, 2)), Y: rows((0, 3, 1))})
    assert engine._why_row_by_row == ""
    with pytest.raises(QueueFull) as caught:
        engine.push_many({X: rows((0, 4, 3), (0, 5, 4))})
    assert engine.stats.events == 4
    assert engine.stats.waiting == 2
    assert "row 1 of 2" in caught.value.__notes__[-1]


def test_nothing_waits_for_what_is_used_up() -> None:
    near = correlate(x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=within(5, "x", "y") | at_most(1, "x", "y"))
    compiled, reference = Engine(near), Engine(near, tier="reference")
    compiled.push_many({X: rows((0, 1, 0), (0, 2, 2)), Y: rows((0, 3, 1))})
    for slot, value, at in ((X, 1, 0), (Y, 3, 1), (X, 2, 2)):
        reference.push(slot, {"id": 0, "v": value}, at=at)
    assert compiled.stats.retained == 1
    assert compiled.next_deadline == reference.next_deadline == 8


def test_what_the_clock_has_let_leave_is_not_missed() -> None:
    """A partner that has left by the clock is still the partner: no row without it comes when another one goes."""
    rows_of_both = correlate(
        x=X,
        y=Y,
        where=lambda x, y: x.id == y.id,
        yields=lambda x, y: (x, y),
        restrict=within(2, "x", "y") | optionally("y") | retracting() | most_recently("y"),
    )
    trace = [(0, 1, 1, 1), (1, 1, 2, 0), (0, 1, 3, 3), (1, 2, 4, 3), (1, 1, 5, 9)]
    with by_the_loop():
        check(lambda: rows_of_both, (X, Y), trace, lateness=0)


def test_three_slots_in_a_chain_are_found_by_their_indexes() -> None:
    """What comes to the last slot is joined by way of the second, so the cost does not grow with the first."""
    chain = correlate(
        x=X,
        y=Y,
        z=Z,
        where=lambda x, y, z: (x.id == y.id) & (y.v == z.v),
        yields=lambda x, y, z: (x.v, y.v, z.id),
        restrict=at_most(3, "z"),
    )
    n = 400
    batch: Any = {
        X: {"id": list(range(n)), "v": list(range(n)), "order": list(range(n))},
        Y: {"id": list(range(n)), "v": list(range(n)), "order": list(range(n, 2 * n))},
        Z: {"id": list(range(n)), "v": list(range(n)), "order": list(range(2 * n, 3 * n))},
    }
    with by_the_loop():
        engine = Engine(chain)
        found = events_of(engine.push_many(batch))
        assert engine.stats.tuples == n
        assert exactly(found)[-1][1] == (n - 1, n - 1, n - 1)
        assert "found.sort(reverse=True)" in engine.source()


def test_the_source_shows_the_loop_and_the_pattern() -> None:
    engine = Engine(
        correlate(x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=within(5, "x", "y") | most_recently("x", "y"))
    )
    source = engine.source()
    assert "# kernel step" in source
    assert "restrict within(5, 'x', 'y') | most_recently('x', 'y')" in source
    assert "if e0[r] - s0[r] <= w0" in source
