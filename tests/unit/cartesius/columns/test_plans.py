"""Why a batch is pushed row by row: one reason that concerns the program, and none of kernels of another kind."""

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import (
    aligning,
    as_table,
    key_by,
    momentarily,
    most_recently,
    optionally,
    retracting,
    tumbling,
    within,
    without,
)
from restrictions.streams import interval_join, map_
from restrictions.tables import count, map_table, reduce

LEFT, RIGHT = Reactive("left"), Reactive("right")
ROWS, OTHERS = Reactive("rows", table=True), Reactive("others", table=True)
TOGETHER = "there is no kernel for its restrictions together"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            correlate(
                x=LEFT,
                y=RIGHT,
                yields=lambda x: x,
                restrict=within(5, "x", "y") | optionally("y") | most_recently("x"),
            ),
            "parts are missing for certain only after some time, and something says what stays, or they are rows",
        ),
        (
            correlate(x=LEFT, y=RIGHT, yields=lambda x: x, restrict=aligning("x", "y") | tumbling(5)),
            "what aligns is common to all windows",
        ),
        (
            correlate(x=LEFT, y=LEFT, yields=lambda x: x, restrict=aligning("x", "y", limit=3)),
            "two slots have one source",
        ),
        (
            correlate(x=ROWS, y=OTHERS, yields=lambda x: x, restrict=as_table("x") | retracting()),
            "its rows have several candidates",
        ),
        (
            correlate(x=ROWS, yields=lambda x: x, restrict=key_by(x=lambda x: x) | as_table("x") | retracting()),
            TOGETHER,
        ),
    ],
    ids=str,
)
def test_the_reason_is_one_that_concerns_the_program(output, reason):
    assert line_of(Engine(output)) == f"  push_many     row by row, as {reason}"


def line_of(engine):
    (line,) = [line for line in engine.explain().splitlines() if line.startswith("  push_many")]
    return line


def test_if_the_last_batch_went_row_by_row_it_says_why():
    engine = Engine(correlate(x=LEFT, yields=lambda x: x * x, restrict=most_recently("x")))
    compiled = "  push_many     compiled: the kernel of versions"
    engine.push_many({LEFT: {"value": [2**40]}})
    assert line_of(engine).startswith(f"{compiled}; the last batch went row by row, as ")
    assert "64 bits" in line_of(engine)
    engine.push_many({LEFT: {"value": [2]}})
    assert line_of(engine) == compiled
    subscription = engine.subscribe(engine.outputs[0], print)
    engine.push_many({LEFT: {"value": []}})
    assert line_of(engine).startswith(f"{compiled}; the last batch went row by row, as somebody listens")
    subscription.cancel()
    engine.push_many({LEFT: {"value": []}})
    assert line_of(engine) == compiled


@pytest.mark.parametrize(
    "waiting",
    [
        interval_join(LEFT, RIGHT, 0, 3, key="k", how="left"),
        correlate(x=LEFT, yields=lambda x: (x, None), restrict=without(RIGHT, after="x", within=3)),
    ],
    ids=str,
)
def test_what_deadlines_give_goes_on_from_objects_and_all_else_is_compiled(waiting):
    then, beside = map_(waiting, lambda pair: (pair[1], pair[0])), map_(LEFT, lambda x: x.k)
    engine, reference = Engine(then, beside, lateness=0), Engine(then, beside, lateness=0, tier="reference")
    lines = [line for line in engine.explain().splitlines() if line.startswith("  push_many")]
    assert sorted(line.split()[1] for line in lines) == ["compiled:", "row", "row"]
    assert sum(line.endswith("what is due comes in steps of its own") for line in lines) == 1
    at = [1, 2, 3, 9]
    found = events_of(engine.push_many({LEFT: {"k": at, "at": at}}))
    expected = [event for time in at for event in reference.push(LEFT, {"k": time}, at=time)]
    assert engine._why_row_by_row == ""
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert len(found) == 7


def test_a_row_of_a_freed_window_that_comes_again_counts_again_as_by_push():
    def program():
        keyed = as_table(lambda row: "one") | retracting()
        latest = correlate(x=LEFT, yields=lambda x: (x.n,), restrict=tumbling(8) | keyed | momentarily("x"))
        return reduce(map_table(latest, lambda row: row), count)

    reference, engine = Engine(program(), lateness=0, tier="reference"), Engine(program(), lateness=0)
    expected = [event.value for n, at in ((1, 1), (2, 2), (3, 9)) for event in reference.push(LEFT, {"n": n}, at=at)]
    batch = {LEFT: {"n": [1, 2, 3], "at": [1, 2, 9]}}
    assert [event.value for event in events_of(engine.push_many(batch))] == expected == [1, 1, 2]
