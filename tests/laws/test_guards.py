"""The law of guards (SEMANTICS 1.4 and 1.18): a condition has one answer, or one error, in every tier and kernel.

Conditions are drawn of comparisons, arithmetic, divisions, `&`, `|`, `~` and questions for null, over events with
nulls, NaN and texts among numbers. What they mean is computed here by hand, in three-valued logic; the reference tier,
the tier in place and the kernels must give that, under stacks of restrictions that reach each family of kernels. Where
nothing is divided, DuckDB evaluates the same conditions.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, coalesce, correlate
from cartesius.columns.batches.plans import stage_of
from cartesius.columns.results import events_of
from cartesius.expressions.expressions import Part
from cartesius.expressions.tracing import trace
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    earliest,
    in_event_time,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    take,
    tumbling,
    within,
)
from restrictions.streams import filter_, map_
from restrictions.tables import filter_table, left_join, map_table, outer_join, to_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAN = float("nan")
X, Y, Z = Reactive("x"), Reactive("y"), Reactive("z")
INPUTS = {"x": X, "y": Y, "z": Z}


# -- conditions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """What is computed: as Python that traces, as SQL, and by hand of the values of the slots."""

    python: str
    sql: str
    by_hand: Callable[[dict[str, dict[str, Any]]], Any]
    is_constant: bool = False


def read(slot: str, field: str) -> Term:
    return Term(f"{slot}.{field}", f"{slot}.{field}", lambda row: row[slot][field])


def constant(value: Any) -> Term:
    return Term(f"({value!r})", f"cast({value} as double)", lambda row: value, is_constant=True)


def strictly(sign: str, sql: str, function: Callable[[Any, Any], Any], left: Term, right: Term) -> Term:
    def by_hand(row: dict[str, dict[str, Any]]) -> Any:
        one, other = left.by_hand(row), right.by_hand(row)
        return None if one is None or other is None else function(one, other)

    is_constant = left.is_constant and right.is_constant
    return Term(f"({left.python} {sign} {right.python})", f"({left.sql} {sql} {right.sql})", by_hand, is_constant)


def logical(stop: bool, left: Term, right: Term) -> Term:
    sign, sql = ("|", "or") if stop else ("&", "and")

    def by_hand(row: dict[str, dict[str, Any]]) -> Any:
        one = left.by_hand(row)
        if one is stop:
            return stop
        other = right.by_hand(row)
        return other if one is not None or other is stop else None

    return Term(f"({left.python} {sign} {right.python})", f"({left.sql} {sql} {right.sql})", by_hand)


def negation(one: Term) -> Term:
    def by_hand(row: dict[str, dict[str, Any]]) -> Any:
        found = one.by_hand(row)
        return None if found is None else not found

    return Term(f"(~{one.python})", f"(not {one.sql})", by_hand)


def asking(one: Term, is_null: bool) -> Term:
    sign, sql = ("==", "is null") if is_null else ("!=", "is not null")
    return Term(
        f"({one.python} {sign} None)",
        f"({one.sql} {sql})",
        lambda row: (one.by_hand(row) is None) is is_null,
        one.is_constant,
    )


def first_of(left: Term, right: Term) -> Term:
    def by_hand(row: dict[str, dict[str, Any]]) -> Any:
        found = left.by_hand(row)
        return right.by_hand(row) if found is None else found

    both = f"coalesce({left.python}, {right.python})", f"coalesce({left.sql}, {right.sql})"
    return Term(*both, by_hand, left.is_constant)  # the first, as no constant is null


COMPARED = {"==": ("=", operator.eq), "!=": ("<>", operator.ne), "<": ("<", operator.lt), ">=": (">=", operator.ge)}
COMPUTED = {"+": operator.add, "-": operator.sub, "*": operator.mul}
DIVIDED = {"/": operator.truediv, "//": operator.floordiv, "%": operator.mod}


@cache
def terms(slots: str, *, divides: bool) -> st.SearchStrategy[Term]:
    leaves = st.builds(read, st.sampled_from(slots), st.sampled_from("ab")) | st.builds(
        constant, st.sampled_from([0, 1, 2, 0.5])
    )
    signs = {**COMPUTED, **(DIVIDED if divides else {})}

    def bigger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        computed = [st.builds(strictly, st.just(s), st.just(s), st.just(f), inner, inner) for s, f in signs.items()]
        return st.one_of(*computed, st.builds(first_of, inner, inner))

    return st.recursive(leaves, bigger, max_leaves=3)


@cache
def conditions(slots: str, *, divides: bool) -> st.SearchStrategy[Term]:
    values = terms(slots, divides=divides)
    compared = [
        st.builds(strictly, st.just(s), st.just(q), st.just(f), values, values) for s, (q, f) in COMPARED.items()
    ]
    leaves = st.one_of(*compared, st.builds(asking, values, st.booleans()))
    leaves = leaves.filter(lambda one: not one.is_constant)  # of constants Python makes True, and ~True is -2

    def bigger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        several = st.builds(logical, st.booleans(), inner, inner)
        return st.one_of(several, several, st.builds(negation, inner))

    return st.recursive(leaves, bigger, max_leaves=5)


def function(text: str, slots: str) -> Any:
    return eval(f"lambda {', '.join(slots)}: {text}", {"coalesce": coalesce})


# -- events ------------------------------------------------------------------------------------------------------------

NUMBERS = [None, None, 0, 0, 1, 2, 1.5, -0.0]
ANYTHING = [*NUMBERS, NAN, "text", 2**70]


@st.composite
def traces(draw: Any, slots: str, values: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Events in order: a slot, and its fields; ``n`` tells them apart, ``k`` may be a key."""
    field = st.sampled_from(values)
    events = draw(st.lists(st.tuples(st.sampled_from(slots), field, field, st.integers(0, 1)), min_size=1, max_size=8))
    return [(slot, {"a": a, "b": b, "k": k, "n": n}) for n, (slot, a, b, k) in enumerate(events)]


# -- tiers -------------------------------------------------------------------------------------------------------------

STACKS: dict[str, Any] = {
    "nothing": lambda: None,
    "newest": lambda: most_recently("x", "y"),
    "newest of one": lambda: most_recently("x"),
    "oldest": lambda: earliest("x") | most_recently("y"),
    "by key": lambda: key_by(x="k", y="k") | most_recently("x", "y"),
    "used once": lambda: affinely("x", "y"),
    "used once by key": lambda: key_by(x="k", y="k") | affinely("x", "y"),
    "used twice": lambda: at_most(2, "x") | most_recently("y"),
    "at once": lambda: momentarily("x"),
    "near": lambda: within(3, "x", "y"),
    "near by key": lambda: key_by(x="k", y="k") | within(3, "x", "y"),
    "near and used once": lambda: within(3, "x", "y") | affinely("x"),
    "zip": lambda: most_recently("x", "y") | aligning("x", "y"),
    "aligned and used": lambda: affinely("x") | aligning("x", "y"),
    "some": lambda: take(2) | most_recently("y"),
    "windows": lambda: tumbling(4),
    "windows and used once": lambda: tumbling(4) | affinely("x", "y"),
    "missing": lambda: optionally("y") | retracting(),
    "both missing": lambda: optionally("x", "y") | retracting() | most_recently("x", "y"),
    "missing by key": lambda: optionally("y") | retracting() | key_by(x="k", y="k"),
    "taken back": lambda: retracting() | most_recently("x", "y"),
    "near and missing": lambda: optionally("y") | retracting() | within(3, "x", "y"),
    "table": lambda: retracting() | as_table(lambda value: value[0]) | most_recently("y"),
    "in order of time": lambda: most_recently("y") | in_event_time(1),
}
"""Stacks on x and y; together they reach the kernels of products."""


def outcome(push: Callable[[], Any]) -> Any:
    """What a push gives, or the kind of its error."""
    try:
        return [(one.weight, repr(one.value)) for one in push()]
    except (ZeroDivisionError, TypeError, OverflowError) as error:
        return type(error).__name__


def columns(rows: list[tuple[int, str, dict[str, Any]]]) -> dict[Any, Any]:
    batch: dict[Any, Any] = {}
    for at, slot, value in rows:
        table = batch.setdefault(INPUTS[slot], {"value": [], "at": [], "order": []})
        for name, item in (("value", value), ("at", at), ("order", at)):
            table[name].append(item)
    return batch


def pieces(rows: list[Any], cuts: list[int]) -> Iterator[list[Any]]:
    for since, until in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        if since < until:
            yield rows[since:until]


def check(output: Any, events: list[tuple[str, dict[str, Any]]], cuts: list[int]) -> tuple[list[Any], str]:
    """Push a trace in every way; return what came of each event, and the kernel, if one took a batch."""
    reference, in_place, columnar = Engine(output, tier="reference"), Engine(output), Engine(output)
    rows = [(at, slot, value) for at, (slot, value) in enumerate(events)]
    expected = []
    for at, slot, value in rows:
        expected.append(outcome(lambda: reference.push(INPUTS[slot], value, at)))  # noqa: B023 - called at once
        assert outcome(lambda: in_place.push(INPUTS[slot], value, at)) == expected[-1]  # noqa: B023 - likewise
    stage, is_compiled = stage_of(columnar._program.joins[-1]), False
    for piece in pieces(rows, cuts):
        due = [expected[at] for at, _, _ in piece]
        wrong = next((one for one in due if isinstance(one, str)), None)
        found = outcome(lambda: events_of(columnar.push_many(columns(piece))))  # noqa: B023 - likewise
        is_compiled |= not columnar._why_row_by_row and wrong is None
        assert found == (wrong or [one for results in due for one in results])
        if wrong:
            break
    kernel = type(stage).__module__.rpartition(".")[2] if not isinstance(stage, str) else ""
    return expected, kernel if is_compiled else ""


def traced(text: str, slots: str) -> Any:
    """A function that traces; not so one that divides constants by zero."""
    found = function(text, slots)
    assume(trace(found, [(slot, Part(slot)) for slot in slots]).expression is not None)
    return found


def draw_cuts(data: st.DataObject, trace: list[Any]) -> list[int]:
    return sorted(data.draw(st.sets(st.integers(1, len(trace)), max_size=2)))


SHARE = settings().max_examples


def test_a_condition_has_one_answer_in_every_tier_and_kernel() -> None:
    """How many examples reached which kernel is printed (`-rP`)."""
    reached: Counter[str] = Counter()

    @settings(max_examples=4 * SHARE)
    @given(stack=st.sampled_from(sorted(STACKS)), data=st.data())
    def of_pairs(stack: str, data: st.DataObject) -> None:
        condition = data.draw(conditions("xy", divides=True))
        events = data.draw(traces("xy", data.draw(st.sampled_from([NUMBERS, NUMBERS, ANYTHING]))))
        yields = function("(x.n, y.n)" if "missing" not in stack else "(x.n, y.n, x.a + y.b)", "xy")
        output = correlate(x=X, y=Y, where=traced(condition.python, "xy"), yields=yields, restrict=STACKS[stack]())
        expected, kernel = check(output, events, draw_cuts(data, events))
        reached[kernel or "row by row"] += 1
        if stack == "nothing" and not output.pattern.equalities:  # those are asked as events come
            assert expected == by_hand(condition, events)

    @settings(max_examples=2 * SHARE)
    @given(program=st.sampled_from(sorted(PROGRAMS)), data=st.data())
    def of_one(program: str, data: st.DataObject) -> None:
        condition = traced(data.draw(conditions("x", divides=True)).python, "x")
        value = traced(data.draw(terms("x", divides=True)).python, "x")
        events = data.draw(traces("xy", data.draw(st.sampled_from([NUMBERS, NUMBERS, ANYTHING]))))
        output = PROGRAMS[program](condition, value)
        mine = [one for one in events if INPUTS[one[0]] in Engine(output)._program.bound]
        assume(mine)
        _, kernel = check(output, mine, draw_cuts(data, mine))
        reached[kernel or "row by row"] += 1

    of_pairs()
    of_one()
    print(", ".join(f"{kernel}: {n}" for kernel, n in reached.most_common()))


KERNELS = {
    "versions", "bands", "stepping", "zipping", "window_joins", "row_joins", "stacking", "same_key",
}  # fmt: skip


def test_each_kernel_keeps_a_guard() -> None:
    guard, events = function("(x.b != 0) & (x.a / x.b > 1)", "x"), []
    for n, (slot, a, b) in enumerate([("x", 4, 2), ("y", 1, 1), ("x", 1, 0), ("y", 2, 0), ("x", None, 1), ("y", 3, 2)]):
        events.append((slot, {"a": a, "b": b, "k": 0, "n": n}))
    reached = set()
    for stack in STACKS.values():
        where = function("(y.b != 0) & (x.a / y.b > 1)", "xy")
        yields = function("(x.n, y.n)", "xy")
        expected, kernel = check(correlate(x=X, y=Y, where=where, yields=yields, restrict=stack()), events, [2])
        assert not any(isinstance(one, str) for one in expected)
        reached.add(kernel)
    for program in PROGRAMS.values():
        output = program(guard, function("x.a + x.b", "x"))
        mine = [one for one in events if INPUTS[one[0]] in Engine(output)._program.bound]
        expected, kernel = check(output, mine, [2])
        assert not any(isinstance(one, str) for one in expected)
        reached.add(kernel)
    assert reached >= KERNELS


def by_hand(condition: Term, events: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """What each event gives with no restriction: all pairs with those that have come before."""
    came: dict[str, list[dict[str, Any]]] = {"x": [], "y": []}
    found: list[Any] = []
    for slot, value in events:
        pairs = [(value, y) for y in came["y"]] if slot == "x" else [(x, value) for x in came["x"]]
        try:
            holds = [(x, y) for x, y in reversed(pairs) if condition.by_hand({"x": x, "y": y})]
        except (ZeroDivisionError, TypeError, OverflowError) as error:
            found.append(type(error).__name__)
            continue
        found.append([(1, repr((x["n"], y["n"]))) for x, y in holds])
        came[slot].append(value)
    return found


PROGRAMS: dict[str, Any] = {
    "value": lambda condition, value: map_(X, condition),
    "values": lambda condition, value: map_(X, value),
    "filter": lambda condition, value: filter_(X, condition),
    "filter of a table": lambda condition, value: filter_table(to_table(X, key="k"), condition),
    "map of a table": lambda condition, value: map_table(to_table(X, key="k"), value),
    "only": lambda condition, value: cartesian(X, Y, restrict=most_recently("x", "y") | only("x", condition)),
    "gate": lambda condition, value: cartesian(X, Y, restrict=affinely("x", "y") | only("x", condition)),
    "after an outer join": lambda condition, value: filter_table(
        outer_join(to_table(X, key="k"), to_table(Y, key="k")),
        lambda pair: (pair[0].a > pair[1].b) | (pair[1].a == None),  # noqa: E711 - null
    ),
    "of a join": lambda condition, value: map_table(
        left_join(to_table(X, key="k"), to_table(Y, key="k")),
        lambda pair: (pair[0].n, pair[0].a + pair[1].b, pair[1].n),
    ),
}
"""Programs of a condition, or a value, of ``x`` alone."""


@given(data=st.data())
def test_a_condition_on_three_slots_has_one_answer_in_every_tier(data: st.DataObject) -> None:
    texts = [data.draw(conditions(slots, divides=True)).python for slots in ("xy", "yz", "xyz")]
    where = traced(" & ".join(data.draw(st.permutations(texts))), "xyz")
    restrict = data.draw(st.sampled_from([most_recently("x", "y", "z"), affinely("y"), within(4, "x", "y", "z"), None]))
    events = data.draw(traces("xyz", NUMBERS))
    output = correlate(x=X, y=Y, z=Z, where=where, yields=lambda x, y, z: (x.n, y.n, z.n), restrict=restrict)
    check(output, events, draw_cuts(data, events))


@given(data=st.data())
def test_duckdb_gives_the_same(data: st.DataObject) -> None:
    condition = data.draw(conditions("xy", divides=False))
    events = data.draw(traces("xy", NUMBERS))
    output = correlate(x=X, y=Y, where=traced(condition.python, "xy"), yields=lambda x, y: (x.n, y.n))
    expected, _ = check(output, events, [])
    found = sorted(eval(value) for results in expected for _, value in results)
    assert found == in_sql(condition.sql, events)


def in_sql(condition: str, events: list[tuple[str, dict[str, Any]]]) -> list[tuple[int, int]]:
    """The pairs that satisfy a condition, as DuckDB has it."""
    with duckdb.connect() as session:
        for slot in "xy":
            session.execute(f"create table {slot} (a double, b double, n int)")
            rows = [(value["a"], value["b"], value["n"]) for other, value in events if other == slot]
            if rows:
                session.executemany(f"insert into {slot} values (?, ?, ?)", rows)
        return sorted(session.execute(f"select x.n, y.n from x, y where {condition}").fetchall())


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("contiguity", ["any", "strict", "relaxed"])
@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (lambda x, z: (x.n != 0) & (z.n // x.n < 3), {(2, 2), (1, 2)}),
        (lambda x, z: (x.n != z.n) & (z.n // (x.n - z.n) < 3), {(0, 2), (1, 2)}),
    ],
    ids=["of the first part", "of both"],
)
def test_what_is_next_is_asked_behind_what_guards_it(
    tier: Any, contiguity: Any, where: Any, wanted: set[tuple[int, int]]
) -> None:
    """A part of a sequence is looked for by the conditions on it; others, of parts that are there, may guard them."""
    restrict = in_sequence("x", "z", contiguity=contiguity)
    engine = Engine(correlate(x=X, z=Y, where=where, yields=lambda x, z: (x.n, z.n), restrict=restrict), tier=tier)
    pushed = [(X, 0), (Y, 0), (X, 2), (Y, 2), (X, 1), (Y, 2)]
    found = {event.value for reactive, n in pushed for event in engine.push(reactive, {"n": n})}
    assert found == (wanted - {(0, 2)} if contiguity == "strict" else wanted)
