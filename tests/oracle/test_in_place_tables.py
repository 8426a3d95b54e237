"""Joins of tables in place against the reference tier: the same changes, the same state, failures alike.

The traces have rows that come, change, change into what they are, name another partner and go; keys that are equal
without being the same, or equal nothing; rows that no body can make anything of; and moves of the clock.
"""

from __future__ import annotations

import random
from typing import Any

import greenlet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from restrictions import as_table, most_recently, optionally, retracting
from restrictions.tables import filter_table, foreign_join, inner_join, left_join, map_table, outer_join
from tests.oracle.test_in_place import Both, told

T, U = Reactive("t", table=True), Reactive("u", table=True)
ROWS = Reactive("rows", table=True, key="n")
LEFT = retracting() | as_table("x") | optionally("y")


def x_by_y(yields: Any, restrict: Any, where: Any = lambda x, key_y: x.k == key_y) -> Reactive:
    """Rows of ``x`` that name one of ``y``."""
    made: Reactive = correlate(x=T, y=U, where=where, yields=yields, restrict=restrict)
    return made


def y_by_x(yields: Any, restrict: Any) -> Reactive:
    """Rows of ``y`` that name one of ``x``."""
    return x_by_y(yields, restrict, lambda y, key_x: key_x == y.k)


def judged(x: Any, y: Any) -> Any:
    """A body that nobody can see through, and that fails now and then."""
    return None if y is None else [x.j, 12 // (x.j + y.j + 1)] if x.n % 9 else y.missing


JOINS: dict[str, Reactive] = {
    "inner": inner_join(T, U),
    "left": left_join(T, U),
    "outer": outer_join(T, U),
    "foreign": foreign_join(T, U, on="k"),
    "foreign, left": foreign_join(T, U, on="k", how="left"),
    "foreign, by function": foreign_join(T, U, on=lambda row: [row.k, [], None][row.j % 3], how="left"),
    "foreign, from rows with their key": foreign_join(ROWS, T, on="k"),
    "foreign, to rows with their key": foreign_join(T, ROWS, on="k", how="left"),
    "judged": x_by_y(judged, LEFT),
    "judged, where both are": x_by_y(judged, as_table("x") | retracting()),
    "made anew": x_by_y(lambda x, y: {"j": x.j, "y": y, "f": float("nan")}, LEFT),
    "keyed by the second": y_by_x(lambda x, y: (x, 7, y), retracting() | as_table("y")),
    "optional first": y_by_x(lambda x, y: y, retracting() | optionally("x") | as_table("y")),
    "mapped": map_table(T, lambda row: row.j),
    "mapped, untraced": map_table(ROWS, lambda row: [row.j] if row.n % 9 else row.missing),
    "filtered": filter_table(T, lambda row: row.j < row.n % 3),
    "filtered and joined": inner_join(filter_table(T, lambda row: row.j), U),
    "mapped and filtered": filter_table(map_table(T, lambda row: row.j), bool),
    "mapped and joined with what it names": foreign_join(map_table(T, lambda row: row), U, on="k", how="left"),
    "one part alone": x_by_y(lambda x, y: y, LEFT),
    "by values": x_by_y(lambda x, y: (x, y), LEFT, lambda x, y: x.k == y.n),
    "by values, where both are": x_by_y(judged, retracting() | as_table("x"), lambda x, y: x.k == y.n % 20),
    "by the key of the first": x_by_y(lambda x, y: (y, x.j), LEFT, lambda y, key_x: key_x == y.k),
    "outer, the second first": x_by_y(
        lambda x, y: (y, x),
        as_table(("y", "x")) | optionally("y") | optionally("x") | retracting(),
        lambda key_x, key_y: key_x == key_y,
    ),
}
AS_WRITTEN: dict[str, tuple[Reactive, str]] = {
    "outer, by value": (
        x_by_y(lambda x, y: (x, y), retracting() | as_table(("x", "y")) | optionally("x", "y")),
        "found by its key",
    ),
    "another condition": (
        x_by_y(lambda x, y: x, LEFT, lambda x, y, key_y: (x.k == key_y) & (x.j < y.j)),
        "equalities alone",
    ),
    "key of the value": (
        x_by_y(lambda x, y: x, retracting() | as_table(lambda value: value.n)),
        "not the rows of a join of tables",
    ),
    "not taken back": (x_by_y(lambda x, y: x, as_table("x")), "not the rows of a join of tables"),
    "latest": (inner_join(T, U, restrict=most_recently("left")), "runs as written"),
    "with itself": (inner_join(T, T), "comes to several slots of"),
    "one table, that keeps its rows": (
        correlate(x=T, yields=lambda x: x.j, restrict=retracting() | as_table("x")),
        "not the rows of one table",
    ),
}

KEYS = [0, 1, 2, 3, 1, 2, True, 1.0, "a", (1, 2), None, float("nan"), 10**30]
UNHASHABLE = ("unhashable",)  # what stands in an index for what cannot be hashed
TROUBLES = ["text", Update([], 1), Update(1, "text"), Delete({}), {"n": 1}, Update(UNHASHABLE, 2), Delete(UNHASHABLE)]


def a_change(draw: random.Random, table: Reactive) -> Any:
    row = {"n": draw.randrange(19), "k": draw.choice([*KEYS, [1]]), "j": draw.randrange(3)}
    key = draw.choice(KEYS) if draw.random() < 0.3 else draw.randrange(4)
    if draw.random() < 0.03:
        return draw.choice(TROUBLES)
    if draw.random() < 0.25:
        return Delete(key)
    row["k"] = row["k"] if draw.random() < 0.3 else draw.randrange(4)
    return row if table is ROWS and draw.random() < 0.8 else Update(key, row)


def a_time(draw: random.Random, place: int) -> Any:
    return draw.choice(
        [None, None, place // 3 + draw.randrange(9), (place // 3, place // 3 + draw.randrange(9)), "now"]
    )


@pytest.mark.parametrize("lateness", [None, 4])
@pytest.mark.parametrize("name", JOINS)
def test_joins_of_two_tables_agree(name: str, lateness: int | None) -> None:
    draw = random.Random(f"{name} {lateness}")
    both = Both(JOINS[name], lateness=lateness)
    inputs = list(both.engines[0].inputs.values())
    for place in range(90):
        table = draw.choice(inputs)
        both.call("push", table, a_change(draw, table), a_time(draw, place))
        if draw.random() < 0.04:
            both.swap()
        if draw.random() < 0.05:
            both.call("advance", place // 3)
    both.check()
    assert repr(both.engines[0].query(JOINS[name])) == repr(both.engines[1].query(JOINS[name]))
    both.call("close")
    both.check()


@given(st.sampled_from(sorted(JOINS)), st.randoms(use_true_random=False))
def test_whatever_comes_between_the_changes(name: str, draw: random.Random) -> None:
    output = JOINS[name]
    both, last = Both(output), None
    inputs = list(both.engines[0].inputs.values())
    for place in range(14):
        table = draw.choice(inputs)
        call = draw.choice(["push"] * 12 + ["again"] * 2 + ["swap", "advance", "query", "end"])
        if call == "swap":
            both.swap()
        elif call == "advance":
            both.call(call, draw.randrange(5))
        elif call == "query":
            found = [repr(engine.query(output)) for engine in both.engines]
            assert found[0] == found[1]
        elif call == "end":
            both.call(call, table)
        elif call == "again" and last is not None:
            both.call("push", *last, None)
        else:
            last = table, a_change(draw, table)
            both.call("push", *last, a_time(draw, place))
    both.check()


def columns(table: Reactive, changes: list[Any]) -> dict[str, Any]:
    return {
        "key": [change.key for change in changes],
        "deleted": [isinstance(change, Delete) for change in changes],
        **{field: [0 if isinstance(c, Delete) else c.value[field] for c in changes] for field in "nkj"},
        "order": list(range(len(changes))),
    }


@pytest.mark.parametrize("name", ["inner", "left", "outer", "foreign", "foreign, left"])
def test_pushes_and_batches_share_one_state(name: str) -> None:
    draw = random.Random(name)
    reference, engine = Engine(JOINS[name], tier="reference"), Engine(JOINS[name])
    for _ in range(12):
        table = draw.choice([T, U])
        changes: list[Any] = []
        for _ in range(draw.randrange(1, 6)):
            row = {"n": draw.randrange(3), "k": draw.randrange(4), "j": draw.randrange(2)}
            key = draw.randrange(4)
            changes.append(Delete(key) if draw.random() < 0.2 else Update(key, row))
        expected = [event for change in changes for event in reference.push(table, change)]
        if draw.random() < 0.5:
            found = events_of(engine.push_many({table: columns(table, changes)}))
        else:
            found = [event for change in changes for event in engine.push(table, change)]
        assert list(map(repr, found)) == list(map(repr, expected))
    assert engine.stats == reference.stats
    assert repr(engine.query(JOINS[name])) == repr(reference.query(JOINS[name]))


@pytest.mark.parametrize("name", sorted(JOINS.keys() - {"by the key of the first"}))  # there several may name one row
def test_a_push_is_one_function(name: str) -> None:
    """What a trace without null keys and errors asks of an engine is done by the functions alone, without a switch."""
    draw = random.Random(name)
    engine = Engine(JOINS[name])
    tables = list(engine.inputs.values())
    for table in tables:
        engine.push(table, Update(1, {"n": 1, "k": 2, "j": 0}))
    switched: list[str] = []
    before = greenlet.settrace(lambda event, _: switched.append(event) if event == "switch" else None)
    try:
        for _ in range(30):
            table, row = draw.choice(tables), {"n": 1 + draw.randrange(8), "k": draw.randrange(4), "j": 0}
            change = Delete(row["n"]) if draw.random() < 0.2 else Update(row["n"], row)
            assert engine._direct[table](change, None) is not None
            engine._journal.is_open = False  # as Engine.push does
    finally:
        greenlet.settrace(before)
    assert switched == []
    with_inputs = {join for table in tables for join, _ in engine._program.bound[table]}
    told = engine.explain()
    assert told.count("in place: a push is one function of its own") == len(with_inputs)
    assert told.count("in place: within the function of a push into") == len(engine._program.joins) - len(with_inputs)
    assert engine.source().count("def push(value, at):") == len(tables)


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_what_is_not_covered_calls_clauses_or_runs_as_written_and_says_why(name: str) -> None:
    output, reason = AS_WRITTEN[name]
    both = Both(output)
    assert reason in both.engines[1].source()
    draw = random.Random(name)
    for _ in range(20):
        table = draw.choice(list(both.engines[0].inputs.values()))
        both.call("push", table, Update(draw.randrange(3), {"n": 1, "k": draw.randrange(3), "j": draw.randrange(3)}))
    both.check()


def test_constants_and_names_of_a_user_are_no_text() -> None:
    secret = "a') + exec('x"
    output = foreign_join(Reactive(secret, table=True), U, on=secret)
    source = Engine(output).source()
    assert all(line.lstrip().startswith("#") for line in source.splitlines() if "exec(" in line)


def test_a_body_that_uses_its_engine_is_refused_as_ever() -> None:
    def nosy(x: Any, y: Any) -> Any:
        return engine.push(U, Update(9, 9)) if x.j else (x, y)

    output = x_by_y(nosy, LEFT)
    engine = Engine(output)
    engine.push(T, Update(1, {"k": 1, "j": 0}))
    before = engine.query(output), engine.stats
    with pytest.raises(ValueError, match="pure"):
        engine.push(T, Update(2, {"k": 1, "j": 1}))
    assert (engine.query(output), engine.stats) == before
    assert told(engine.push(T, Update(2, {"k": 1, "j": 0})))
