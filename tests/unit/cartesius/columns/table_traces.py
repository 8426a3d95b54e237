"""Programs of tables, and traces of their changes, cut at random into pushes, batches and snapshots."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from cartesius.expressions.expressions import Apply, Constant, Expression, KeyOf, Part
from restrictions import as_table, optionally, retracting
from restrictions.tables import (
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    max_,
    mean,
    min_,
    outer_join,
    reduce,
    sum_,
    to_table,
)
from tests.unit.cartesius.columns.stream_traces import counts, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius import Event

LEFT, RIGHT, STREAM = Reactive("left", table=True), Reactive("right", table=True), Reactive("stream")
INPUTS = (LEFT, RIGHT, STREAM)
Change = tuple[int, int, Any, int]
"""The number of the input, key, value (None: a deletion), and time."""


def score(value: Any) -> int:
    """Return an int that depends on all that is in a value."""
    if isinstance(value, tuple):
        return sum(n * score(item) for n, item in enumerate(value, 1))
    return -1 if value is None else int(value.v if hasattr(value, "v") else value)


def named(value: Any) -> int | None:
    """Return the key of another row, or none."""
    return (None, 0, 1, 2)[score(value) % 4]


def keeps(value: Any) -> bool:
    """Whether a row passes a filter."""
    return score(value) % 3 > 0


def halved(value: Any) -> int:
    """Return a value that changes less often."""
    return score(value) // 2


def equal(left: Expression, right: Expression) -> Expression:
    """Return an equality, a link."""
    return Apply(operator.eq, (left, right), "==")


def both(left: Expression, right: Expression) -> Expression:
    """Return a conjunction."""
    return Apply(operator.and_, (left, right), "&")


def of(function: Any, *slots: str) -> Expression:
    """Return a function of the values of slots, which is called value by value."""
    return Apply(function, tuple(map(Part, slots)), function.__name__)


def differ(*values: Any) -> bool:
    """Whether a combination passes a condition."""
    return score(values) % 4 > 0


def chain(first: Reactive, second: Reactive, third: Reactive) -> Reactive:
    """Return a correlation of which the first names the second, and that the third; with a condition."""
    where = both(equal(of(named, "y"), KeyOf("x")), equal(of(named, "x"), KeyOf("z")))
    return correlate(
        x=second,
        y=first,
        z=third,
        where=both(where, equal(of(differ, "y", "z"), Constant(True))),
        yields=lambda x, y, z: (x, y, z),
        restrict=retracting() | as_table("y"),
    )


def chain_with_none(first: Reactive, second: Reactive, third: Reactive) -> Reactive:
    """Return the same, where the others may be missing, and without the condition."""
    return correlate(
        y=first,
        x=second,
        z=third,
        where=both(equal(of(named, "y"), KeyOf("x")), equal(of(named, "x"), KeyOf("z"))),
        yields=lambda x, y, z: (x, y, z),
        restrict=retracting() | as_table("y") | optionally("x", "z"),
    )


def triple(first: Reactive, second: Reactive, third: Reactive) -> Reactive:
    """Return three tables under one key."""
    where = both(equal(KeyOf("x"), KeyOf("y")), equal(KeyOf("z"), KeyOf("y")))
    return correlate(
        x=first,
        y=second,
        z=third,
        where=both(where, equal(of(differ, "x", "z"), Constant(True))),
        yields=lambda x, y, z: (z, x),
        restrict=as_table(("z", "x")) | retracting(),
    )


UNARY = {
    "map": lambda t: map_table(t, halved),
    "filter": lambda t: filter_table(t, keeps),
    "sum by": lambda t: reduce(t, sum_.of(score), by=named),
    "count by": lambda t: reduce(t, count, by=halved),
    "mean by": lambda t: reduce(t, mean.of(score), by=halved),
    "max by": lambda t: reduce(t, max_.of(score), by=named),
    "min by": lambda t: reduce(t, min_.of(named), by=halved),
}
BINARY = {
    "inner": inner_join,
    "left": left_join,
    "outer": outer_join,
    "foreign": lambda t, u: foreign_join(t, u, on=named),
    "foreign left": lambda t, u: foreign_join(t, u, on=named, how="left"),
}
TERNARY = {"chain": chain, "chain with none": chain_with_none, "triple": triple}


def programs() -> st.SearchStrategy[Any]:
    """Return programs as trees: an input, or an operator and its arguments."""
    leaves = st.sampled_from(["left", "right", "stream"])

    def more(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.tuples(st.sampled_from(sorted(UNARY)), inner),
            st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
            st.tuples(st.sampled_from(sorted(TERNARY)), inner, inner, inner),
        )

    return st.recursive(leaves, more, max_leaves=4).filter(lambda tree: tree not in ("left", "right"))


def built(tree: Any) -> Reactive:
    """Return the table that a tree means."""
    if isinstance(tree, str):
        return to_table(STREAM, key="key") if tree == "stream" else {"left": LEFT, "right": RIGHT}[tree]
    name, *arguments = tree
    operators: dict[str, Callable[..., Reactive]] = {**UNARY, **BINARY, **TERNARY}
    return operators[name](*map(built, arguments))


def traces(most: int = 30, keys: int = 3) -> st.SearchStrategy[list[Change]]:
    """Return traces of changes."""
    change = st.tuples(
        st.integers(0, 2),
        st.integers(0, keys - 1),
        st.none() | st.integers(0, 6) | st.integers(0, 6),
        st.integers(0, 9),
    )
    return st.lists(change, max_size=most)


def push(engine: Engine, trace: Sequence[Change]) -> list[Event]:
    """Push a trace change by change, where the engine has the input; return what comes out."""
    found = []
    for number, key, value, at in trace:
        table = INPUTS[number]
        if table.name not in engine.inputs:
            continue
        if table is STREAM:
            found += engine.push(table, {"key": key, "v": value or 0}, at)
        else:
            found += engine.push(table, Delete(key) if value is None else Update(key, value), at)
    return found


def push_many(engine: Engine, trace: Sequence[Change]) -> list[Event]:
    """Push a trace as one batch; return what comes out."""
    columns = {
        name: [(*change, order) for order, change in enumerate(trace) if INPUTS[change[0]].name == name]
        for name in engine.inputs
    }
    batch = {}
    for name, rows in columns.items():
        at, order = pa.array([row[3] for row in rows], pa.int64()), pa.array([row[4] for row in rows], pa.int64())
        key = pa.array([row[1] for row in rows], pa.int64())
        value = pa.array([row[2] or 0 if name == "stream" else row[2] for row in rows], pa.int64())
        mine = {"at": at, "order": order, "key": key}
        if name == "stream":
            batch[name] = pa.table({**mine, "v": value})
        else:
            batch[name] = pa.table({**mine, "value": value, "deleted": value.is_null()})
    return events_of(engine.push_many(batch))


def check(outputs: Sequence[Reactive], trace: Sequence[Change], cut: Sequence[tuple[str, int]] = ()) -> None:
    """Compare a trace that is pushed into the reference with one that is cut, of which batches must be compiled."""
    reference = Engine(*outputs, tier="reference")
    engine = Engine(*outputs)
    rest = list(trace)
    for way, n in [*cut, ("many", len(trace))]:
        now, rest = rest[:n], rest[n:]
        expected = push(reference, now)
        if way == "push":
            found = push(engine, now)
        elif way == "reference":
            other = Engine.restore(engine.snapshot(), *outputs, tier="reference")
            found = push(other, now)
            engine = Engine.restore(other.snapshot(), *outputs)
        else:
            if way == "restore":
                engine = Engine.restore(engine.snapshot(), *outputs)
            found = push_many(engine, now)
            assert engine._compiled is not None
            assert engine._compiled.reason == ""
            assert engine._why_row_by_row == ""
        assert exactly(found) == exactly(expected)
    assert counts(engine.stats) == counts(reference.stats)
    for table in {*outputs, *engine.inputs.values()}:
        if table.table:
            assert list(engine.query(table).items()) == list(reference.query(table).items())
    engine._check_invariants()
    assert exactly(push(engine, trace[:4])) == exactly(push(reference, trace[:4]))
