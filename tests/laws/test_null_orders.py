"""The law of nulls in orders and in the detection of changes (SEMANTICS 1.18), with DuckDB as the oracle.

Orders put null last, and NaN before it. What detects changes takes null as equal to null, and NaN as equal to NaN.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from restrictions import affinely, cartesian, first_match, ordered_by
from restrictions.streams import distinct_until_changed
from restrictions.tables import inner_join, map_table

OFFER, WISH, LEVEL, ROW = Reactive("offer"), Reactive("wish"), Reactive("level"), Reactive("row", table=True)
NUMBERS = st.none() | st.sampled_from([math.nan, 0.0, -1.0, 1.0, 2.0])
KEYS: dict[str, tuple[Any, str]] = {
    "a": (lambda match: match.value[0].a, "a nulls last"),
    "-a": (lambda match: -match.value[0].a, "-a nulls last"),
    "a, b": (lambda match: (match.value[0].a, match.value[0].b), "a nulls last, b nulls last"),
    "a, b, as it is written": (lambda match: [match.value[0].a, match.value[0].b], "a nulls last, b nulls last"),
    "a + b": (lambda match: match.value[0].a + match.value[0].b, "a + b nulls last"),
}
TIERS: tuple[Literal["reference"] | None, ...] = ("reference", None)
DATABASE = duckdb.connect()


def asked(columns: str, rows: list[tuple[Any, ...]], query: str) -> list[Any]:
    """Return the first column of what a database answers about rows, which are numbered by ``i``."""
    names = columns.split()
    one = ", ".join("cast(? as double)" for _ in names)
    of = ", ".join(f"({place}, {one})" for place in range(len(rows)))
    values = [value for row in rows for value in row]
    relation = f"(values {of}) as r(i, {', '.join(names)})"
    return [found for found, *_ in DATABASE.execute(query.format(r=relation), values).fetchall()]


@pytest.mark.parametrize("is_first", [False, True], ids=["all", "the first"])
@given(key=st.sampled_from(sorted(KEYS)), rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7))
def test_orders_put_null_last(is_first: bool, key: str, rows: list[tuple[Any, ...]]) -> None:
    of_match, sql = KEYS[key]
    restrict = ordered_by(of_match)
    program = cartesian(OFFER, WISH, restrict=affinely("wish") | first_match() | restrict if is_first else restrict)
    expected = asked("a b", rows, f"select i from {{r}} order by {sql}, i desc")  # what is alike comes newest first
    for tier in TIERS:
        engine = Engine(program, tier=tier)
        for place, (a, b) in enumerate(rows):
            engine.push(OFFER, {"i": place, "a": a, "b": b})
        found = [event.value[0].i for event in engine.push(WISH, "w")]
        assert found == (expected[:1] if is_first else expected)


def batches(program: Reactive, source: Reactive, values: list[Any]) -> list[list[Any]]:
    """Return what each tier gives of values, one after the other."""
    found = [
        [
            event.value
            for value in values
            for event in engine.push(source, Update("k", value) if source.table else value)
        ]
        for engine in (Engine(program, tier="reference"), Engine(program))
    ]
    key = {"key": ["k"] * len(values)} if source.table else {}
    batch = Engine(program).push_many({source: {"value": values, **key}})
    return [*found, [event.value for event in events_of(batch)]]


@given(values=st.lists(NUMBERS, min_size=1, max_size=8))
def test_what_is_distinct_is_so_as_in_sql(values: list[Any]) -> None:
    query = "select v from (select i, v, lag(v) over (order by i) as u from {r}) where i = 0 or v is distinct from u"
    expected = list(map(repr, asked("v", [(value,) for value in values], query + " order by i")))
    by_key = distinct_until_changed(LEVEL, key=lambda value: [value])
    for program in (distinct_until_changed(LEVEL), by_key):
        assert [list(map(repr, one)) for one in batches(program, LEVEL, values)] == [expected] * 3
    pairs = [f"({one}, {one})" for one in expected]
    for table, changes in ((map_table(ROW, lambda row: row), expected), (inner_join(ROW, ROW), pairs)):
        rows = batches(table, ROW, values)
        assert [[repr(change.value) for change in one] for one in rows] == [changes] * 3


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ((1, math.nan), (1.0, math.nan), True),
        ({"a": None, "b": math.nan}, {"a": None, "b": float("nan")}, True),
        ({"a": [math.nan, {"b": math.nan}]}, {"a": [float("nan"), {"b": float("nan")}]}, True),
        ({"a": None}, {"a": math.nan}, False),
        ((1, None), (1, 0), False),
        ({"a": None}, {}, False),
        ((math.nan,), (math.nan, math.nan), False),
    ],
)
def test_so_it_is_inside_of_values(one: Any, other: Any, is_same: bool) -> None:
    engine = Engine(distinct_until_changed(LEVEL))
    engine.push(LEVEL, one)
    assert len(engine.push(LEVEL, other)) == (not is_same)


def test_a_field_that_is_a_tuple_is_compared_as_one_value() -> None:
    """As composite values in PostgreSQL and structs in DuckDB are: nulls inside of them are alike."""
    same = correlate(x=OFFER, y=WISH, where=lambda x, y: x.p == y.p, yields=lambda x, y: (x.p, y.p))
    values = [(1, None), (1, 2), None]
    for tier in TIERS:
        engine = Engine(same, tier=tier)
        pushed = [event.value for source in (OFFER, WISH) for p in values for event in engine.push(source, {"p": p})]
        assert pushed == [((1, None), (1, None)), ((1, 2), (1, 2))]
    batch = {
        OFFER: {"p": values, "order": range(3)},
        WISH: {"p": values, "order": range(3, 6)},
    }
    assert [event.value for event in events_of(Engine(same).push_many(batch))] == pushed
    one = "struct_pack(a := 1, b := null)"
    assert DATABASE.execute(f"select {one} = {one}, {one} = struct_pack(a := 1, b := 2)").fetchall() == [(True, False)]


def test_a_row_of_null_is_there_and_its_deletion_is_a_change() -> None:
    engine = Engine(map_table(ROW, lambda row: row))
    steps = (Update("k", None), Update("k", None), Delete("k"), Delete("k"), Update("k", None))
    given = [[event.value for event in engine.push(ROW, change)] for change in steps]
    assert given == [[Update("k", None)], [], [Delete("k")], [], [Update("k", None)]]
