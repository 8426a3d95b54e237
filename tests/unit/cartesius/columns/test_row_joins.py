"""Tables by a function of the result, compiled: batches give what one event after the other gives in the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from restrictions import as_table, earliest, fifo, key_by, most_recently, only, optionally, retracting
from tests.unit.cartesius.columns.stream_traces import check, cuts, traces

if TYPE_CHECKING:
    from collections.abc import Callable

A, B, C = (Reactive(name) for name in "abc")
STACKS: dict[str, Any] = {
    "latest": most_recently("x", "y"),
    "latest of a key": key_by(x="id", y="id") | most_recently("x", "y"),
    "the two newest": most_recently("x", "y", n=2),
    "the two newest, oldest first": fifo() | most_recently("x", n=2) | most_recently("y", n=3),
    "the earliest beside the latest": key_by(x="id", y="id") | earliest("x") | most_recently("y"),
    "of one slot": most_recently("x"),
    "filtered": only("x", lambda x: x.v > 1) | most_recently("x", "y", n=2),
    "left": key_by(x="id", y="id") | most_recently("x", "y") | optionally("y"),
    "full": key_by(x="id", y="id") | most_recently("x", "y", n=1) | optionally("x", "y"),
}


def weight(value: Any) -> int:
    """Return an int that depends on all that is in a value; not traced."""
    return 0 if value is None else int(value.v) + sum(map(ord, str(value.id)))


KEYS: dict[str, Callable[[Any], Any]] = {
    "traced": lambda row: row[0] % 2,
    "another type": lambda row: str(row[0]),
    "all of one": lambda row: "one",
    "not traced": lambda row: sum(row) % 3 if row else 0,
}
WHERE: list[Any] = [None, lambda x, y: x.v <= y.v, lambda x, y: x.v == y.v]


@given(
    program=st.sampled_from(sorted(STACKS)),
    key=st.sampled_from(sorted(KEYS)),
    where=st.sampled_from(WHERE),
    trace=traces(2, last=6),
    cut=cuts(),
)
@example(  # the rows before are kept without a key, and what comes later meets none of them
    program="full",
    key="all of one",
    where=None,
    trace=[(0, None, 0, 0), (0, 0, 0, 0), (0, None, 0, 0), (0, 0, 0, 0)],
    cut=[("many", 3)],
)
def test_of_the_results_that_stand_under_a_key_the_first_is_the_row(
    program: str, key: str, where: Any, trace: list[Any], cut: list[Any]
) -> None:
    may_miss = program in ("left", "full")

    def table() -> Reactive:
        return correlate(
            x=A,
            y=B,
            where=None if may_miss else where,
            yields=(lambda x, y: (weight(x), weight(y))) if may_miss else (lambda x, y: (x.v, y.v)),
            restrict=STACKS[program] | retracting() | as_table(KEYS[key]),
        )

    check(table, (A, B), trace, cut)


@settings(max_examples=settings().max_examples // 2)
@given(trace=traces(3, most=16, last=6), cut=cuts())
def test_rows_of_three_streams(trace: list[Any], cut: list[Any]) -> None:
    def table() -> Reactive:
        return correlate(
            x=A, y=B, z=C, where=lambda x, y, z: x.v == y.v, yields=lambda x, y, z: {"v": x.v + z.v, "id": z.id},
            restrict=most_recently("x", "z", n=2) | retracting() | as_table(lambda row: row["v"]),
        )  # fmt: skip

    check(table, (A, B, C), trace, cut)


def test_what_takes_the_place_of_a_row_is_what_stands_behind_it() -> None:
    table = correlate(
        x=A, y=B, yields=lambda x, y: (x, y),
        restrict=most_recently("x", "y", n=2) | retracting() | as_table(lambda row: row[0] % 2),
    )  # fmt: skip
    engine = Engine(table)
    batch = {A: {"value": [1, 3, 4, 6], "order": [0, 2, 3, 4]}, B: {"value": ["b"], "order": [1]}}
    assert [(event.value, event.start, event.end) for event in events_of(engine.push_many(batch))] == [
        (Update(1, (1, "b")), 1, 2),
        (Update(1, (3, "b")), 2, 3),
        (Update(0, (4, "b")), 2, 4),
        (Delete(1), 5, 5),
        (Update(0, (6, "b")), 2, 5),
    ]
    assert engine.query(table) == {0: (6, "b")}


@pytest.mark.parametrize(
    ("by", "reason"), [(lambda row: row[1], "the key of a row is null"), (lambda row: row[0] / 2, "")]
)
def test_a_key_that_is_none_is_left_to_the_objects_and_a_float_is_one(by: Any, reason: str) -> None:
    table = correlate(x=A, yields=lambda x: (x.v, x.id), restrict=most_recently("x") | retracting() | as_table(by))
    engine, reference = Engine(table), Engine(table, tier="reference")
    rows = [(1, None), (2, 5)]
    found = events_of(engine.push_many({A: {"v": [v for v, _ in rows], "id": [one for _, one in rows]}}))
    assert found == [event for v, one in rows for event in reference.push(A, {"v": v, "id": one})]
    assert engine._why_row_by_row == reason
