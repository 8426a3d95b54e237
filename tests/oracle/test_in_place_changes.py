"""Chains of streams and tables in place against the reference tier: rows that events are made, changes that are events.

What is drawn covers what a change may find: rows that come, stay as they are, go and come again; keys that are equal
without being the same, or null; conditions and bodies that fail; events that come alone, of several inputs.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.core import direct_pushes
from restrictions import as_table, fifo, most_recently, retracting, within
from restrictions.basics.separation import momentarily
from restrictions.gates.row_gates import upserting
from restrictions.streams import filter_, interval_join, map_, merge, with_latest_from
from restrictions.tables import (
    changelog,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    table_of_latest,
    to_table,
    update_stream,
)
from tests.oracle.test_in_place import Both

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = [1, 1.0, True, 2, 2, 3, "a", None, float("nan"), (), (1,), (1, 2)]
KEYS: list[Any] = ["k", lambda row: row["k"], lambda row: row.j, lambda row: (row.j, row.k)]


def a_row(value: Any) -> dict[str, Any]:
    """A row of whatever has come; nothing raises but what is meant to."""
    fields = {name: getattr(value, name, None) for name in ("n", "k", "j")}
    return fields if fields["n"] != 4 else {**fields, "k": 1 // (fields["j"] or 0)}


def several(x: Any) -> Any:
    """None, one or two results."""
    for place in range((getattr(x, "n", 0) or 0) % 3):
        yield {**a_row(x), "j": place}


def of_streams(draw: random.Random, some: list[Reactive]) -> Reactive:
    one, other = (some * 2)[:2]
    made: list[Callable[[], Reactive]] = [
        lambda: merge(*some),
        lambda: merge(*some),
        lambda: map_(one, a_row),
        lambda: with_latest_from(one, other),
        lambda: filter_(one, lambda value: getattr(value, "n", 0) != 2),
        lambda: interval_join(one, other, -3, 2),
        lambda: map_(interval_join(one, other, -2, 3), lambda both: a_row(both[0])),
        lambda: correlate(x=one, restrict=draw.choice([momentarily("x"), within(4, "x")]))(several),
        lambda: correlate(x=one, yields=lambda x: x, restrict=draw.choice([momentarily("x"), within(4, "x")])),
        lambda: correlate(x=one, y=other, yields=lambda x, y: a_row(x or y), restrict=most_recently("x", "y")),
    ]
    return draw.choice(made)()


def rows_of(draw: random.Random, stream: Reactive) -> Reactive:
    if draw.random() < 0.15:
        return table_of_latest(stream)
    key = draw.choice(KEYS)
    if draw.random() < 0.7:
        return to_table(map_(stream, a_row) if draw.random() < 0.5 else stream, key=key)
    where: Any = draw.choice([None, lambda x: x.j != 1])
    yields: Any = draw.choice([lambda x: x, lambda x: x.n, lambda x: 2 // x.j])
    stack = retracting() | as_table("x") | upserting("x", key=key)
    made: Reactive = correlate(x=stream, where=where, yields=yields, restrict=stack)
    return made


def of_tables(draw: random.Random, some: list[Reactive]) -> Reactive:
    one, other = (some * 2)[:2]
    made: list[Callable[[], Reactive]] = [
        lambda: map_table(one, a_row),
        lambda: map_table(one, lambda row: row and 6 // (getattr(row, "j", None) or 1)),
        lambda: filter_table(one, lambda row: getattr(row, "j", 0) != 1),
        lambda: map_table(inner_join(one, other), lambda both: a_row(both[0])),
        lambda: left_join(one, other),
        lambda: outer_join(one, other),
        lambda: foreign_join(map_table(one, a_row), other, on="k"),
    ]
    return draw.choice(made)()


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    """Of two streams and two tables of the outside, or some of them, a chain of up to six."""
    streams = [Reactive(name) for name in "ab"[: draw.choice([1, 2])]]
    tables = [Reactive(name, table=True) for name in "tu"[: draw.choice([0, 1, 2])]]
    sources = [*streams, *tables]
    for _ in range(draw.randrange(1, 4)):
        if tables and draw.random() < 0.4:
            streams.insert(0, draw.choice([changelog, update_stream])(tables.pop(0)))
        kind = draw.randrange(3)
        if kind == 0 and streams:
            streams = [of_streams(draw, streams)]
        elif kind == 1 and streams:
            tables.insert(0, rows_of(draw, streams.pop(0)))
        elif tables:
            tables = [of_tables(draw, tables)]
    return sources, (tables or streams)[0]


def run(draw: random.Random) -> bool:
    """Run one program in both tiers; return whether functions of their own have done most of it."""
    sources, output = a_program(draw)
    if output in sources:
        return False
    both, now = Both(output, lateness=draw.choice([None, None, 0, 2])), 0
    inputs = [one for one in sources if one in both.engines[0].inputs.values()]
    is_plain = draw.random() < 0.5
    for place in range(20):
        now += draw.randrange(3)
        at = now if is_plain else draw.choice([None, now, now + draw.randrange(-2, 4), (now, now + draw.randrange(4))])
        source = draw.choice(inputs)
        k = draw.choice([1, 2] if is_plain else NUMBERS)
        row: Any = {"n": draw.randrange(5 if draw.random() < 0.1 else 4), "k": k, "j": draw.randrange(3)}
        row = row if draw.random() < 0.97 else draw.choice(["text", None])
        key = draw.choice([1, 2, 1] if is_plain else NUMBERS)
        change = Delete(key) if draw.random() < 0.25 else Update(key, row)
        both.call("push", source, change if source.table else row, at)
        if place == 10:
            both.swap()
    both.call("close")
    both.check()
    engine = both.engines[1]
    return set(inputs) <= engine._pushes._functions.keys() and sum(engine.stats.given_up.values()) < 10


@given(st.integers(0, 2**32))
def test_chains_of_streams_and_tables_agree_whatever_comes(seed: int) -> None:
    run(random.Random(seed))


def test_many_of_the_pushes_drawn_are_done_by_functions_of_their_own() -> None:
    assert sum(run(random.Random(f"{seed}")) for seed in range(60)) > 15


A, B = Reactive("a"), Reactive("b")
TABLE = Reactive("t", table=True)
LATEST = to_table(A, key="k")


@pytest.mark.parametrize(
    "output",
    [
        merge(A, B),
        map_(merge(A, B), lambda row: row.j),
        LATEST,
        table_of_latest(A),
        to_table(map_(merge(A, B), lambda row: {"k": row.k, "j": row.j}), key="k"),
        changelog(TABLE),
        update_stream(TABLE),
        map_(changelog(TABLE), str),
        changelog(LATEST),
        update_stream(LATEST),
        map_table(LATEST, lambda row: row.j),
        map_table(filter_table(map_table(TABLE, lambda row: row.j), lambda j: j > 2), str),
        inner_join(LATEST, to_table(B, key="k")),
        outer_join(LATEST, TABLE),
        changelog(inner_join(LATEST, TABLE)),
        to_table(update_stream(TABLE), key="j"),
    ],
    ids=lambda output: output.name,
)
def test_no_push_is_left_to_the_clauses_once_it_runs(output: Reactive) -> None:
    engine, draw, given_ = Engine(output), random.Random(1), 0
    for _ in range(400):
        source = draw.choice(list(engine.inputs.values()))
        row = {"k": draw.randrange(5), "j": draw.randrange(9)}
        given_ += len(engine.push(source, Update(draw.randrange(9), row) if source.table else row))
    assert given_ > 50
    assert "by direct calls of the clauses" not in engine.explain()
    assert sum(engine.stats.given_up.values()) <= len(engine.inputs)  # the first of each
    for reason in engine.stats.given_up:
        assert "clauses" not in reason


@pytest.mark.parametrize("is_late", [False, True])
def test_what_may_come_again_is_told_apart_in_functions_and_where_they_call_clauses(
    is_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)
    latest = correlate(x=A, yields=lambda x: x, restrict=retracting() | most_recently("x"))
    near = interval_join(latest, B, -9, 9, lateness=3 if is_late else None)
    both = Both(near if is_late else correlate(x=latest, y=B, yields=lambda x, y: (x.n, y.n), restrict=fifo()))
    for n in range(12):
        both.call("push", [A, B][n % 3 == 1], {"n": n % 4}, n)
    both.check()


NEAR = map_(interval_join(A, B, -5, 5), lambda both: {"k": both[0].k, "j": both[1].j})
NAMED = foreign_join(Reactive("fact", table=True), Reactive("named", table=True), on="j")


@pytest.mark.parametrize(
    "output",
    [
        NEAR,
        filter_(NEAR, lambda row: row["j"] > 1),
        with_latest_from(NEAR, Reactive("c")),
        map_(with_latest_from(NEAR, Reactive("c")), str),
        to_table(NEAR, key="k"),
        update_stream(to_table(NEAR, key=lambda row: (row["k"], row["j"]))),
        map_table(NAMED, lambda both: both[1].k),
        filter_table(map_table(NAMED, lambda both: both[1].k), lambda k: k > 1),
        changelog(NAMED),
        changelog(map_table(NAMED, str)),
        to_table(map_(update_stream(NAMED), lambda both: {"k": both[0].k, "j": both[1].k}), key="k"),
    ],
    ids=lambda output: output.name,
)
def test_several_results_go_on_in_one_function_where_they_do_not_meet(output: Reactive) -> None:
    both, draw = Both(output, lateness=0), random.Random(2)
    inputs = list(both.engines[0].inputs.values())
    for time in range(160):
        source = draw.choice(inputs)
        row = {"k": draw.randrange(9), "j": draw.randrange(3)}
        key = draw.randrange(3 if source.name == "named" else 9)
        change = Delete(key) if draw.random() < 0.2 else Update(key, row)
        both.call("push", source, change if source.table else row, time)
    both.check()
    assert sum(both.engines[1].stats.given_up.values()) == len(inputs)  # the first of each


def test_a_result_behind_another_has_the_number_of_its_step_also_where_deadlines_were_met_before_it() -> None:
    rows = to_table(correlate(x=A, yields=lambda x: x, restrict=within(4, "x")), key="j")
    both = Both(update_stream(rows), lateness=0)
    for time, n in [(0, 0), (1, 1), (2, 2), (20, 3), (30, 4)]:
        both.call("push", A, {"n": n, "j": n % 2}, time)
    both.check()


@pytest.mark.parametrize(
    "batches",
    [
        [[(1, 2)], [(1, 1), (1, 0)]],  # it was shown, and the last of several hides it: at the time of the first
        [[(1, 0)], [(1, 5), (2, 6)]],  # it was hidden, and is shown after another one: as rows that are new
    ],
    ids=repr,
)
def test_several_results_that_show_and_hide_rows_are_told_as_by_the_clauses(
    batches: list[list[tuple[int, int]]],
) -> None:
    @correlate(x=A, restrict=momentarily("x"))
    def made(x: Any) -> Any:
        for key, shown in x.rows:
            yield {"k": key, "n": shown}

    near = map_(interval_join(made, B, -9, 9), lambda both: both[0])
    stack = retracting() | as_table("x") | upserting("x", key="k")
    for rows in (made, near):
        both = Both(correlate(x=rows, where=lambda x: x.n > 0, yields=lambda x: x.n, restrict=stack))
        both.call("push", A, {"rows": []}, 0)
        if rows is near:
            both.call("push", B, {"n": 0}, 0)
        for time, batch in enumerate(batches):
            both.call("push", A, {"rows": batch}, time + 1)
        both.check()


def test_a_row_that_the_last_of_several_results_hides_goes_at_the_time_of_the_first() -> None:
    near = correlate(x=A, y=B, yields=lambda x, y: {"k": 1, "n": y.n}, restrict=within(9, "x", "y"))
    stack = retracting() | as_table("x") | upserting("x", key="k")
    both = Both(correlate(x=near, where=lambda x: x.n != 1, yields=lambda x: x.n, restrict=stack))
    for source, time, n in [(B, 0, 1), (A, 1, 7), (B, 3, 2), (A, 6, 8)]:
        both.call("push", source, {"n": n}, time)
    both.check()
