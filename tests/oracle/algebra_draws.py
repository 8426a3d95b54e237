"""Random programs of the algebra of keyed tables, with traces; `build` makes the library's program of the same tree."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from cartesius import Delete, Reactive, Update
from tests.oracle.algebra_oracle import apply
from tests.oracle.algebra_programs import (
    FILTERS,
    FOLDING,
    FOLDS,
    MAPS,
    Change,
    Filtered,
    Folded,
    Foreign,
    Item,
    Joined,
    Mapped,
    Merged,
    Node,
    Push,
    Reduced,
    Relogged,
    Source,
    Table,
    children,
    foreign_key,
    group_key,
    in_order,
    map_function,
    minus,
    plus,
    predicate,
    sources,
)

# ------------------------------------------------------------------------------------------------- random programs


JOINS = ("inner", "left", "outer", "foreign")
EVERY = (*JOINS, *JOINS, "map", "filter", "reduce", "fold", "relog", "merge")
IN_SQL = (*JOINS, *JOINS, "map", "filter")
OF_ONE = ("map", "filter", "reduce", "fold", "relog")

NUMBERS = st.sampled_from([0, 1, 2, 3, True, 1.0, math.nan, -math.nan])
POINTERS = st.sampled_from([0, 1, 2, 3, None, True, 1.0, math.nan])
KEYS = st.integers(0, 3)


@st.composite
def programs(draw: st.DrawFn, *, kinds: tuple[str, ...] = EVERY, n_sources: int = 3) -> Node:
    """One to four operators, each mostly of the one before; an input may well be used twice."""
    pool: list[Node] = [Source(number) for number in range(n_sources)]
    for number in range(draw(st.integers(1, 4))):
        latest = pool[-1] if number and draw(st.integers(0, 5)) else draw(st.sampled_from(pool))
        other = draw(st.sampled_from(pool))
        pool.append(draw(_nodes(draw(st.sampled_from(kinds)), latest, other)))
    return pool[-1]


@st.composite
def _nodes(draw: st.DrawFn, kind: str, one: Node, other: Node) -> Node:
    left, right = (one, other) if draw(st.booleans()) else (other, one)
    match kind:
        case "map":
            return Mapped(one, draw(st.sampled_from(MAPS)))
        case "filter":
            return Filtered(one, draw(st.sampled_from(FILTERS)))
        case "foreign":
            return Foreign(left, right, draw(st.sampled_from(["inner", "left"])))
        case "reduce" if draw(st.booleans()):
            return Reduced(Mapped(one, "whole"), draw(st.sampled_from(["sum", "count", "mean"])), "v % 2")
        case "reduce":
            by = draw(st.sampled_from(["k", "k % 2", "n % 2"]))
            return Reduced(Mapped(one, "ints"), draw(st.sampled_from(["items", "count"])), by)
        case "fold":
            return Folded(one, draw(st.sampled_from(FOLDS)))
        case "merge" if not set(sources(left)) & set(sources(right)):
            return Merged(left, right)
        case "relog" | "merge":
            return Relogged(one)
    return Joined(left, right, kind)


@st.composite
def traces(draw: st.DrawFn, program: Node, *, max_size: int = 16) -> list[Push]:
    """Pushes as (source, change): new rows, rows pushed again, deletes, also of what is not there."""
    present: dict[int, Table] = {number: {} for number in sources(program)}
    pushes: list[Push] = []
    for _ in range(draw(st.integers(0, max_size))):
        source, key = draw(st.sampled_from(sorted(present))), draw(KEYS)
        choice = draw(st.integers(0, 7))
        change: Change = Update(key, Item(draw(POINTERS), draw(NUMBERS)))
        if choice < 2:
            change = Delete(key)
        elif choice == 2 and key in present[source]:
            change = Update(key, Item(*present[source][key]))
        apply(present[source], change)
        pushes.append((source, change))
    return pushes


@st.composite
def cases(draw: st.DrawFn, /, **options: Any) -> tuple[Node, list[Push]]:
    """A program and a trace for it."""
    program = draw(programs(**options))
    return program, draw(traces(program))


# ------------------------------------------------------------------------------------------ the same, as the library's


def build(program: Node) -> tuple[dict[int, Reactive], Reactive]:
    """The inputs and the output."""
    built = build_each(program)
    return {number: built[Source(number)] for number in sources(program)}, built[program]


def build_each(program: Node) -> dict[Node, Reactive]:
    """The reactive of each node; a node that is used twice is built once."""
    built: dict[Node, Reactive] = {}
    for node in in_order(program):
        if isinstance(node, Source):
            built[node] = Reactive(f"s{node.number}", table=True)
        else:
            built[node] = _build(node, *(built[child] for child in children(node)))
    return built


def library_group(group: str) -> Any:
    """The library's group of a kind."""
    from restrictions import tables

    if group == "items":
        return tables.Group(Item(0, 0), plus, minus)
    return {"count": tables.count, "sum": tables.sum_, "mean": tables.mean}[group]


def _build(node: Node, t: Reactive, *others: Reactive) -> Reactive:
    from restrictions import streams, tables

    match node:
        case Mapped():
            made = tables.map_table(t, map_function(node))
        case Filtered():
            made = tables.filter_table(t, predicate(node))
        case Joined():
            join = {"inner": tables.inner_join, "left": tables.left_join, "outer": tables.outer_join}[node.how]
            made = join(t, *others)
        case Foreign():
            made = tables.foreign_join(t, *others, on=foreign_key(node), how=node.how)
        case Reduced():
            made = tables.reduce(t, library_group(node.group), by=group_key(node))
        case Folded():
            made = tables.combine_updates(t, *FOLDING[node.kind])
        case Relogged():
            made = tables.to_table(tables.changelog(t))
        case Merged():
            made = tables.to_table(streams.merge(*map(tables.changelog, (t, *others))))
        case _:
            raise AssertionError(node)
    result: Reactive = made
    return result
