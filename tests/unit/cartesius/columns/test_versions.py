"""Versions, compiled: the temporal overlap join gives what pushing row by row in the reference tier gives."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from cartesius.columns.streams import versions
from restrictions import (
    as_table,
    cartesian,
    combine_latest,
    earliest,
    fifo,
    key_by,
    most_recently,
    only,
    optionally,
    retracting,
)
from restrictions.basics.separation import momentarily
from restrictions.streams import with_latest_from
from tests.unit.cartesius.columns.stream_traces import batch_of, check, cuts, exactly, push, traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.language.restriction_base import Composition

NAN = float("nan")
A, B, C = INPUTS = tuple(map(Reactive, "abc"))


def odd(value: Any) -> bool:
    return bool(value.v % 2)


def nearly(x: Any, y: Any) -> Any:
    return [x, y] if x.v <= y.v else None  # a jump: it does not trace


def latest(*slots: str) -> Composition:
    """The latest of each id."""
    return key_by(**dict.fromkeys(slots, "id")) | most_recently(*slots)


def pair(restrict: Any = None, where: Any = None, yields: Any = None) -> Reactive:
    """Correlate x and y."""
    yields = yields or (lambda x, y: (x, y))
    reactive: Reactive = correlate(x=A, y=B, where=where, yields=yields, restrict=restrict)
    return reactive


def triple(restrict: Any, where: Any = None) -> Reactive:
    """Correlate x, y and z."""
    reactive: Reactive = correlate(x=A, y=B, z=C, where=where, yields=lambda x, y, z: (x, y, z), restrict=restrict)
    return reactive


def same(x: Any, y: Any) -> Any:
    return x.id == y.id


def chain(x: Any, y: Any, z: Any) -> Any:
    return (x.v == y.id) & (y.v == z.id)


foreign = key_by(x="id") | key_by(y="id") | most_recently("x", "y")
links = foreign | key_by(z="id") | most_recently("z")

PAIRS: dict[str, tuple[Any, ...]] = {
    "the latest of all": (most_recently("x", "y"),),
    "the latest of each key": (latest("x", "y"), None, lambda x, y, key_x: (key_x, x.v, y.v, y)),
    "a condition": (latest("x", "y"), lambda x, y: x.v < y.v),
    "an equality beside the key": (latest("x", "y"), lambda x, y: x.v == y.v),
    "an equality alone": (most_recently("x", "y"), same),
    "a body that does not trace": (latest("x", "y"), nearly, nearly),
    "oldest first": (most_recently("x", n=2) | most_recently("y") | fifo(),),
    "a foreign key": (foreign, lambda x, y: x.v == y.id),
    "keyed with unkeyed": (key_by(x="id") | most_recently("x", "y"),),
    "the two latest": (key_by(x="id", y="id") | most_recently("x", "y", n=2),),
    "one side without bound": (most_recently("x"), same),
    "nothing restricted": (fifo(), same),
    "the earliest": (key_by(x="id", y="id") | earliest("x") | most_recently("y"),),
    "the two earliest of all": (earliest("x", n=2) | most_recently("y", n=2),),
    "filtered": (latest("x", "y") | only("x", odd) | only("y", lambda y: y.v < 3),),
    "two keys": (key_by(x="id", y="id") | key_by(x="v") | most_recently("x") | most_recently("y", n=2),),
    "keys after the memory": (most_recently("x", "y") | key_by(x="id", y="id"),),
    "a function as the key": (key_by(x=lambda x: (x.id, x.v), y=lambda e: (e.id, 1)) | most_recently("x", "y"),),
}


@given(program=st.sampled_from(sorted(PAIRS)), is_taken_back=st.booleans(), trace=traces(2), cut=cuts())
def test_versions_that_overlap_are_results(program: str, is_taken_back: bool, trace: list[Any], cut: list[Any]) -> None:
    restrict, *body = PAIRS[program]
    check(lambda: pair(restrict | retracting() if is_taken_back else restrict, *body), (A, B), trace, cut)


OTHERS: dict[str, tuple[int, Callable[[], Reactive]]] = {
    "the latest of three": (3, lambda: combine_latest(A, B, C)),
    "three of each key": (3, lambda: triple(latest("x", "y", "z") | retracting())),
    "a chain": (3, lambda: triple(links, chain)),
    "a chain, taken back": (3, lambda: triple(links | retracting(), chain)),
    "events and the latest": (2, lambda: with_latest_from(A, B)),
    "events and the latest of their key": (
        2,
        lambda: pair(key_by(x="id", y="id") | most_recently("y") | momentarily("x"), lambda x, y: x.v != y.v),
    ),
    "events and all of their key": (2, lambda: pair(momentarily("x") | retracting(), same)),
    "one slot": (1, lambda: correlate(x=A, where=lambda x: x.v > 1, yields=lambda x: x.v, restrict=latest("x"))),
    "a self-join": (
        1,
        lambda: correlate(x=A, y=A, where=same, yields=lambda x, y: (x, y), restrict=most_recently("x")),
    ),
    "a self-join of the latest, taken back": (
        1,
        lambda: correlate(x=A, y=A, yields=lambda x, y: (x, y), restrict=latest("x", "y") | retracting()),
    ),
    "a self-join by two keys": (
        1,
        lambda: correlate(
            x=A,
            y=A,
            yields=lambda x, y: (x, y),
            restrict=key_by(x="id", y="v") | most_recently("x", "y") | retracting(),
        ),
    ),
    "of results": (3, lambda: cartesian(combine_latest(A, B), C, restrict=most_recently("combine_latest(a, b)"))),
}


@given(program=st.sampled_from(sorted(OTHERS)), data=st.data(), cut=cuts())
def test_other_joins_of_versions(program: str, data: Any, cut: list[Any]) -> None:
    n, make = OTHERS[program]
    check(make, INPUTS[:n], data.draw(traces(n)), cut)


# -- parts that may be missing, and results that are rows --------------------------------------------------------------

OUTER: dict[str, tuple[Any, ...]] = {
    "left, keyed alike": (latest("x", "y"), ("y",)),
    "right, keyed alike": (latest("x", "y"), ("x",)),
    "full, keyed alike": (latest("x", "y"), ("x", "y")),
    "of the latest": (most_recently("x", "y"), ("x", "y")),
    "with a condition on one": (latest("x", "y"), ("y",), lambda x, y: y.v > 1),
    "full with conditions on each": (latest("x", "y"), ("x", "y"), lambda x, y: (y.v > 1) & (x.v < 3)),
    "with a condition on both": (latest("x", "y"), ("y",), lambda x, y: x.v <= y.v),
    "full with a condition on both": (latest("x", "y"), ("x", "y"), lambda x, y: x.v != y.v),
    "left by a foreign key": (foreign, ("y",), lambda x, y: x.v == y.id),
    "right by a foreign key": (foreign, ("x",), lambda x, y: x.v == y.id),
    "full by a foreign key": (foreign, ("x", "y"), lambda x, y: (x.v == y.id) & (y.v != 2)),
    "of the two latest": (key_by(x="id", y="id") | most_recently("x", "y", n=2), ("x", "y")),
    "of all": (fifo(), ("x", "y"), same),
    "of the earliest": (key_by(x="id", y="id") | earliest("x") | most_recently("y") | only("y", odd), ("x",)),
}


def either(x: Any, y: Any) -> Any:
    return (x, y)


@given(program=st.sampled_from(sorted(OUTER)), trace=traces(2), cut=cuts())
def test_what_meets_nothing_is_a_result_with_a_part_missing(program: str, trace: list[Any], cut: list[Any]) -> None:
    restrict, missing, *where = OUTER[program]
    check(lambda: pair(restrict | optionally(*missing) | retracting(), *where), (A, B), trace, cut)


TREES: dict[str, Callable[[], Reactive]] = {
    "a star": lambda: triple(latest("x", "y", "z") | optionally("y", "z") | retracting()),
    "a star of which one must be there": lambda: triple(latest("x", "y", "z") | optionally("y") | retracting()),
    "a chain": lambda: triple(links | optionally("y", "z") | retracting(), chain),
    "a chain of which the end must be there": lambda: triple(links | optionally("y") | retracting(), chain),
    "a chain with its middle as the root": lambda: triple(links | optionally("x", "z") | retracting(), chain),
    "a chain with conditions": lambda: triple(
        links | optionally("y", "z") | retracting(),
        lambda x, y, z: (x.v == y.id) & (y.v == z.id) & (x.id != y.v) & (z.v > 0),
    ),
    "not connected": lambda: triple(most_recently("x", "y", "z") | optionally("x", "y", "z") | retracting()),
}


@given(program=st.sampled_from(sorted(TREES)), trace=traces(3), cut=cuts())
def test_parts_of_a_tree_may_be_missing(program: str, trace: list[Any], cut: list[Any]) -> None:
    check(TREES[program], INPUTS, trace, cut)


TABLES: dict[str, tuple[Any, ...]] = {
    "keyed alike": (latest("x", "y"), "x"),
    "keyed alike, with a condition": (latest("x", "y"), "y", lambda x, y: x.v != y.v),
    "by a foreign key": (foreign, "x", lambda x, y: x.v == y.id),
    "left": (latest("x", "y") | optionally("y"), "x"),
    "left by a foreign key": (foreign | optionally("y"), "x", lambda x, y: (x.v == y.id) & (y.v > 0)),
    "full": (latest("x", "y") | optionally("x", "y"), ("x", "y")),
    "of what is keyed after the memory": (most_recently("x", "y") | key_by(x="id"), "x"),
    "of the earliest": (key_by(x="id", y="id") | earliest("x") | most_recently("y"), "x"),
}


@given(program=st.sampled_from(sorted(TABLES)), shows_both=st.booleans(), trace=traces(2, last=6), cut=cuts())
def test_results_are_rows_of_a_table(program: str, shows_both: bool, trace: list[Any], cut: list[Any]) -> None:
    restrict, key, *where = TABLES[program]
    has_all = not any(word in program for word in ("left", "full"))
    if program == "full":  # of what has no key there would be two rows at a time, which is refused
        trace = [(slot, key or 0, value, at) for slot, key, value, at in trace]
    yields = either if shows_both or not has_all else (lambda x, y: x.v)
    (condition,) = where or [None]
    check(lambda: pair(restrict | retracting() | as_table(key), condition, yields), (A, B), trace, cut)


@pytest.mark.parametrize(("nobody", "other"), [(None, 0), (None, 1), (NAN, 1.0), (None, None), (NAN, NAN)])
def test_what_has_no_key_meets_nothing_beside_another_equality(nobody: Any, other: Any) -> None:
    """Where all rows that have a key have the same one, it is still not that of the others."""
    stack = key_by(x="id", y="id") | most_recently("x", "y", n=2)
    output = pair(stack, lambda x, y: x.v == y.v)
    engine, reference = Engine(output), Engine(output, tier="reference")
    expected = []
    rows: dict[Any, Any] = {reactive: {"id": [], "v": [], "order": []} for reactive in (A, B)}
    for order, (slot, key) in enumerate([(A, nobody), (B, nobody), (B, other), (A, other), (B, nobody), (A, nobody)]):
        for name, value in zip(("id", "v", "order"), (key, 7, order), strict=True):
            rows[slot][name].append(value)
        expected += reference.push(slot, {"id": key, "v": 7})
    found = events_of(engine.push_many(rows))
    assert engine._why_row_by_row == ""
    assert [(event.start, event.end) for event in found] == [(event.start, event.end) for event in expected]
    assert [(event.start, event.end) for event in found] == ([(3, 4)] if other in (0, 1) else [])


# -- how it is done ----------------------------------------------------------------------------------------------------


def test_a_batch_with_many_combinations_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MOST", 3)
    trace = [(n % 2, n % 2, n % 3, n) for n in range(12)]
    taken_back = most_recently("x", "y", n=3) | retracting()
    for restrict in (fifo(), taken_back, taken_back | optionally("y")):
        check(partial(pair, restrict, same), (A, B), trace, [("many", 5)])


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda: pair(momentarily("x") | optionally("y") | retracting()), "a slot keeps nothing"),
        (
            lambda: pair(latest("x", "y") | retracting() | as_table("x") | as_table("y")),
            "two restrictions make a table",
        ),
        (lambda: triple(most_recently("x", "y", n=2) | optionally("z") | retracting()), "no condition connects"),
        (
            lambda: pair(optionally("x", "y") | retracting(), lambda x, y: (x.v == y.v) & (1 > 2)),  # noqa: PLR0133 - a condition on no slot is what is tested
            "a condition is on no slot",
        ),
        (
            lambda: cartesian(pair(most_recently("x", "y") | retracting()), C, restrict=most_recently("c")),
            "what comes to it may be taken back",
        ),
    ],
)
def test_what_the_kernel_does_not_know_is_pushed_row_by_row(program: Callable[[], Reactive], reason: str) -> None:
    output = program()
    engine, reference = Engine(output), Engine(output, tier="reference")
    inputs = [reactive for reactive in INPUTS if reactive in engine.inputs.values()]
    trace = [(n % len(inputs), n % 2, n % 3, n) for n in range(9)]
    found = events_of(engine.push_many(batch_of(inputs, trace)))
    assert engine._compiled is not None
    assert reason in engine._compiled.reason
    assert exactly(found) == exactly(push(reference, inputs, trace))


MANY = most_recently("y") | key_by(x="id") | retracting() | as_table("x")


def test_what_it_finds_out_too_late_is_pushed_row_by_row() -> None:
    output = pair(MANY)
    engine, reference = Engine(output), Engine(output, tier="reference")
    trace = [(n % 2, 1, n, n) for n in range(5)]
    found = events_of(engine.push_many(batch_of((A, B), trace)))
    assert "one key at a time" in engine._why_row_by_row
    assert exactly(found) == exactly(push(reference, (A, B), trace))


def test_the_error_of_a_key_is_that_of_push() -> None:
    engine = Engine(pair(latest("x", "y")))
    with pytest.raises(AttributeError, match="no field 'id'"):
        engine.push_many({A: {"v": [1]}})


def test_the_source_shows_the_pattern_and_how_it_is_joined() -> None:
    engine = Engine(pair(foreign | optionally("y") | retracting(), lambda x, y: (x.v == y.id) & (x.id < y.v)))
    engine.push_many({A: {"id": [1], "v": [2]}})
    assert engine._compiled is not None
    source = engine._compiled.source()
    assert "where (x.v == y.id)" in source
    assert "chaining.Joining" in source
    assert "lt(p0.field('id'), p1.field('v'))" in source


def test_a_key_that_is_missing_meets_nothing_whatever_else_is_equal():
    join = correlate(
        a=A, b=B, where=lambda a, b: a.j == b.j, yields=lambda a, b: (a.j, b.j), restrict=key_by(a="k", b="k")
    )
    engine, reference = Engine(join), Engine(join, tier="reference")
    batch = {A: {"k": [None], "j": [1], "order": [0]}, B: {"k": [None], "j": [1], "order": [1]}}
    assert events_of(engine.push_many(batch)) == []
    assert [event for one in (A, B) for event in reference.push(one, {"k": None, "j": 1})] == []
    assert engine._why_row_by_row == ""
