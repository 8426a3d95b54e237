"""The algebra of tables at its edges: equal values, odd keys and payloads, what is kept, and what is refused."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from operator import itemgetter
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, storable
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from restrictions import as_table, cartesian, key_by, most_recently, optionally, retracting
from restrictions.streams import map_
from restrictions.tables import (
    changelog,
    combine_updates,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    reduce,
    sum_,
    table_of_latest,
    to_table,
    update_stream,
)

t, u, s = Reactive("t", table=True), Reactive("u", table=True), Reactive("s")


NO: Any = 5  # no function, no name, no group


def itself(value):
    return value


def values(events):
    return [event.value if event.weight == 1 else (event.value, event.weight) for event in events]


def emitted(output, *trace):
    engine = Engine(output)
    return [values(engine.push(reactive, value)) for reactive, value in trace]


def exact(value):
    """Equal only to what is equal type by type."""
    return repr(value)


OPERATORS: dict[str, Any] = {
    "map_table": lambda t: map_table(t, itself),
    "filter_table": lambda t: filter_table(t, lambda value: True),
    "to_table of changelog": lambda t: to_table(changelog(t)),
    "inner_join": lambda t: inner_join(t, t),
    "left_join": lambda t: left_join(t, t),
    "outer_join": lambda t: outer_join(t, u),
    "foreign_join": lambda t: foreign_join(t, u, on=lambda value: 0, how="left"),
    "combine_updates": lambda t: combine_updates(t, None, lambda before, value: value),
    "as_table of a function": lambda t: correlate(
        x=t, yields=lambda x: x, restrict=retracting() | as_table(lambda value: "k")
    ),
}
each_operator = pytest.mark.parametrize("make", OPERATORS.values(), ids=OPERATORS)

# ------------------------------------------------------------------------------------------------------- equal values


@storable
class Colour(enum.Enum):
    RED = 1


class Named(NamedTuple):
    n: Any


@attrs.frozen
class Fields:
    n: Any


@dataclasses.dataclass(frozen=True)
class Data:
    n: Any


DIFFERENT = [(1, 1.0), (1, True), (1.0, True), (0, False), ([1], [True]), ((1,), [1]), ({"a": 1}, {"a": 1.0})]
DIFFERENT += [(Named(1), Named(1.0)), (Fields(1), Fields(True)), (Fields(Fields(1)), Fields(Fields(1.0))), ("1", 1)]
DIFFERENT += [(Decimal(1), 1), (math.nan, None), ((math.nan,), (0.0,)), (Colour.RED, 1)]
EQUAL = [
    (1, 1),
    (math.nan, -math.nan),
    ((math.nan,), (float("nan"),)),
    ({"a": math.nan}, {"a": float("nan")}),
    ([], []),
]
EQUAL += [(Fields(math.nan), Fields(float("nan"))), (date(2020, 1, 1), date(2020, 1, 1)), (None, None), ({1}, {1})]


@each_operator
@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_an_update_to_a_value_of_another_type_is_a_change(make, one, other):
    for before, after in ((one, other), (other, one)):
        engine = Engine(make(t))
        assert len(engine.push(t, Update("k", before))) == 1
        assert len(engine.push(t, Update("k", after))) == 1, (before, after)


@each_operator
@pytest.mark.parametrize(("one", "other"), EQUAL, ids=repr)
def test_an_update_to_an_equal_value_is_none(make, one, other):
    engine = Engine(make(t))
    assert len(engine.push(t, Update("k", one))) == 1
    assert engine.push(t, Update("k", other)) == []


@pytest.mark.parametrize("make", [lambda t: map_table(t, itself), lambda t: inner_join(t, t)], ids=["gate", "view"])
@pytest.mark.parametrize(
    ("one", "other"), [(Data(1), Data(1.0)), (Data(True), Data(1)), ({1}, {True}), ([{1}], [{1.0}])], ids=repr
)
def test_changed_is_type_exact_inside_whatever_a_snapshot_holds(make, one, other):
    """SEMANTICS 2.2 and 1.16: 1, 1.0 and True differ, in a dataclass or a set as in an attrs class or a list."""
    engine = Engine(make(t))
    engine.push(t, Update("k", one))
    assert len(engine.push(t, Update("k", other))) == 1


@pytest.mark.parametrize("make", [lambda t: map_table(t, itself), lambda t: inner_join(t, t)], ids=["gate", "view"])
@pytest.mark.parametrize("nan", [lambda: Decimal("NaN"), lambda: Data(float("nan"))], ids=["Decimal", "dataclass"])
def test_nan_is_equal_to_itself_whatever_its_type(make, nan):
    """SEMANTICS 2.2."""
    engine = Engine(make(t))
    engine.push(t, Update("k", nan()))
    assert engine.push(t, Update("k", nan())) == []


@pytest.mark.parametrize("name", ["items", "keys", "values", "get", "name", "key", "value"])
def test_a_field_may_have_any_name(name):
    """`records`: a column called ``items`` is no trap."""
    for make in OPERATORS.values():
        steps = emitted(make(t), *((t, Update("k", {name: n})) for n in (1, 1, 2)))
        assert [len(step) for step in steps] == [1, 0, 1]
    rows = emitted(to_table(s, key="id"), *((s, {"id": 1, name: n}) for n in (1, 1, 2)))
    assert [len(step) for step in rows] == [1, 0, 1]


def test_streams_of_changes_leave_out_what_changes_nothing():
    trace = [Delete("k"), Update("k", 1), Update("k", 1), Update("k", 1.0), Delete("k"), Delete("k"), Update("k", 1.0)]
    kept = [[], [Update("k", 1)], [], [Update("k", 1.0)], [Delete("k")], [], [Update("k", 1.0)]]
    pushes = [(t, change) for change in trace]
    assert exact(emitted(changelog(t), *pushes)) == exact(kept)
    assert exact(emitted(update_stream(t), *pushes)) == exact([[], [1], [], [1.0], [], [], [1.0]])
    assert exact(emitted(reduce(t, sum_), *pushes)) == exact([[], [1], [], [1.0], [None], [], [1.0]])
    assert exact(emitted(reduce(t, count), *pushes)) == exact([[], [1], [], [1], [0], [], [1]])


def test_a_stream_of_values_is_a_table_without_what_changes_nothing():
    rows = emitted(to_table(s, key=lambda v: "k"), *((s, v) for v in (1, 1, True, math.nan, float("nan"))))
    assert exact(rows) == exact([[Update("k", 1)], [], [Update("k", True)], [Update("k", math.nan)], []])
    latest = emitted(table_of_latest(s), *((s, v) for v in (1, 1, 1.0)))
    assert exact(latest) == exact([[Update((), 1)], [], [Update((), 1.0)]])


# --------------------------------------------------------------------------------------------------------- what is kept


def test_what_looks_at_one_row_at_a_time_retains_nothing():
    outputs = [map_table(t, itself), filter_table(t, bool), changelog(t), reduce(t, count), update_stream(t)]
    outputs += [reduce(t, count, by=lambda v: v % 2), map_table(filter_table(t, bool), itself)]
    engine = Engine(*outputs)
    for key in range(100):
        engine.push(t, Update(key, key))
        engine.push(t, Update(key, key + 1))
    assert engine.stats.retained == 0
    assert engine.query(outputs[0]) == {key: key + 1 for key in range(100)}


DERIVED: dict[str, Any] = {
    "a join": lambda: inner_join(t, t),
    "a table of a stream": lambda: to_table(changelog(t)),
    "totals": lambda: reduce(t, sum_, by=itself),
    "rows that are kept": OPERATORS["as_table of a function"],
}


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize(
    "gate", [lambda d: map_table(d, itself), lambda d: filter_table(d, bool), changelog, lambda d: reduce(d, count)]
)
def test_over_a_derived_table_a_snapshot_does_not_grow(name, gate):
    derived = DERIVED[name]() if name != "rows that are kept" else DERIVED[name](t)

    def size(output, rows):
        engine = Engine(output)
        for key in range(rows):
            engine.push(t, Update(key, "a long string, to be seen" if name != "totals" else key))
        return len(engine.snapshot())

    added = [size(gate(derived), rows) - size(derived, rows) for rows in (10, 500)]
    assert added[1] - added[0] < 490 * 2  # the numbers of what is kept anyway may have a digit more


def test_an_input_is_kept_once_for_all_that_keep_none():
    def size(*outputs):
        engine = Engine(*outputs)
        for key in range(500):
            engine.push(t, Update(key, "a long string, to be seen"))
        return len(engine.snapshot())

    one = size(map_table(t, itself))
    assert size(map_table(t, itself), filter_table(t, bool), reduce(t, count), changelog(t)) < one + 2000


def test_two_outputs_change_in_one_push_each_by_itself():
    even, mapped = filter_table(t, lambda v: v % 2 == 0), map_table(t, lambda v: -v)
    engine = Engine(even, mapped)
    assert values(engine.push(t, Update("k", 2))) == [Update("k", 2), Update("k", -2)]
    assert values(engine.push(t, Update("k", 3))) == [Delete("k"), Update("k", -3)]
    assert engine.query(even) == {}
    assert engine.query(mapped) == {"k": -3}


# ---------------------------------------------------------------------------------------------------------- odd keys


@each_operator
@pytest.mark.parametrize(
    "key", [(1, "a"), (), None, b"x", frozenset({1}), 2**70, Colour.RED, date(2020, 1, 1)], ids=repr
)
def test_a_key_is_whatever_can_be_hashed(make, key):
    if key is None and make in (OPERATORS["inner_join"],):
        return  # a null key matches nothing
    engine = Engine(output := make(t))
    engine.push(t, Update(key, 1))
    own = key if make is not OPERATORS["as_table of a function"] else "k"
    assert list(engine.query(output)) == [own]
    engine = Engine.restore(engine.snapshot(), output)
    assert engine.lookup(output, own) == engine.query(output)[own]
    assert values(engine.push(t, Delete(key))) == [Delete(own)]
    assert engine.query(output) == {}


@pytest.mark.parametrize("name", ["map_table", "left_join", "combine_updates", "to_table of changelog"])
@pytest.mark.parametrize("restored", [False, True])
def test_nan_is_one_key_or_none(name, restored):
    """A snapshot must not turn one row into two; SEMANTICS 1.4: a null key matches nothing. Or refuse it."""
    output = OPERATORS[name](t)
    engine = Engine(output)
    try:
        engine.push(t, Update(math.nan, 1))
    except InvalidArgument:
        return
    if restored:
        engine = Engine.restore(engine.snapshot(), output)
    engine.push(t, Update(math.nan, 2))
    assert len(engine.query(output)) <= 1
    engine.push(t, Delete(math.nan))
    assert engine.query(output) == {}


def test_of_a_tuple_of_slots_the_first_that_is_present_gives_the_key():
    joined = correlate(
        a=t,
        b=u,
        where=lambda a, *, key_b: a == key_b,
        yields=lambda a, b: (a, b),
        restrict=retracting() | optionally("a", "b") | as_table(("a", "b")),
    )
    engine = Engine(joined)
    assert values(engine.push(u, Update(1, "b1"))) == [Update(1, (None, "b1"))]
    assert values(engine.push(t, Update(1, 2))) == [Update(1, (2, None))]  # a missing part comes last
    assert values(engine.push(u, Update(2, "b2"))) == [Update(1, (2, "b2"))]
    assert values(engine.push(t, Delete(1))) == [Update(1, (None, "b1")), Update(2, (None, "b2"))]
    assert values(engine.push(u, Delete(1))) == [Delete(1)]
    assert engine.query(joined) == {2: (None, "b2")}
    assert engine.lookup(joined, 1) is None


def test_a_tuple_of_slots_may_be_of_streams_that_are_keyed():
    a, b = Reactive("a"), Reactive("b")
    layers = key_by(a=itself, b=itself) | most_recently("a", "b") | retracting() | optionally("a", "b")
    both = cartesian(a, b, restrict=layers | as_table(("a", "b")))
    steps = emitted(both, (b, 1), (a, 2), (a, 1), (b, 2))
    assert steps == [[Update(1, (None, 1))], [Update(2, (2, None))], [Update(1, (1, 1))], [Update(2, (2, 2))]]


@pytest.mark.parametrize("key", [(), ("x", 1), 5, None, ["x"]])
def test_a_key_of_a_table_is_a_slot_some_slots_or_a_function(key):
    with pytest.raises(InvalidArgument, match="as_table: expected"):
        as_table(key)


@pytest.mark.parametrize(("key", "text"), [(("x", "z"), "z"), ("z", "z"), (("x", "y"), "has none")])
def test_a_slot_that_gives_no_key_is_refused(key, text):
    with pytest.raises(InvalidArgument, match=text):
        Engine(correlate(x=t, y=s, yields=lambda x, y: x, restrict=retracting() | as_table(key)))


# ----------------------------------------------------------------------------------------------- self-joins, diamonds

CHANGES = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 3)), max_size=15)


def follow(output, trace, expected):
    engine, rows, seen = Engine(output), {}, {}
    for key, value in trace:
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
        changes = values(engine.push(t, Delete(key) if value is None else Update(key, value)))
        assert len({change.key for change in changes}) == len(changes)
        for change in changes:
            assert seen.pop(change.key, None) != getattr(change, "value", None)
            if isinstance(change, Update):
                seen[change.key] = change.value
        assert seen == engine.query(output) == expected(rows)
        assert all(engine.lookup(output, key, "none") == seen.get(key, "none") for key in range(5))


@given(trace=CHANGES)
def test_a_table_whose_rows_point_at_its_rows(trace):
    follow(foreign_join(t, t, on=itself), trace, lambda rows: {k: (v, rows[v]) for k, v in rows.items() if v in rows})
    follow(
        foreign_join(t, t, on=itself, how="left"), trace, lambda rows: {k: (v, rows.get(v)) for k, v in rows.items()}
    )


@pytest.mark.parametrize("join", [inner_join, left_join, outer_join])
@given(trace=CHANGES)
def test_a_table_joined_with_itself(join, trace):
    follow(join(t, t), trace, lambda rows: {k: (v, v) for k, v in rows.items()})


@given(trace=CHANGES)
def test_a_diamond_of_tables_changes_once(trace):
    odd = filter_table(t, lambda v: v % 2 == 1)
    doubled = map_table(t, lambda v: 2 * v)
    follow(
        left_join(doubled, odd),
        trace,
        lambda rows: {k: (2 * v, v if v % 2 == 1 else None) for k, v in rows.items()},
    )
    totals = reduce(outer_join(odd, map_table(odd, lambda v: -v)), count, by=lambda pair: pair[0])
    follow(
        totals,
        trace,
        lambda rows: {v: n for v in set(rows.values()) if v % 2 and (n := list(rows.values()).count(v))},
    )


@given(trace=CHANGES)
def test_a_total_of_a_join(trace):
    joined = foreign_join(t, t, on=itself)
    total = reduce(joined, sum_.of(lambda pair: pair[1]))
    engine, rows, last = Engine(joined, total), {}, None
    for key, value in trace:
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
        emitted = engine.push(t, Delete(key) if value is None else Update(key, value))
        changes = [event for event in emitted if isinstance(event.value, Update | Delete)]
        totals = [event.value for event in emitted if event not in changes]
        assert len(totals) == (1 if changes else 0)
        last = totals[0] if totals else last
        named = [rows[v] for v in rows.values() if v in rows]
        assert last == (sum(named) if named else None)


@given(trace=CHANGES)
def test_two_maps_are_one_and_two_filters_are_one(trace):
    pushes = [(t, Delete(key) if value is None else Update(key, value)) for key, value in trace]
    once = map_table(t, lambda v: (v + 1) * 2), filter_table(t, lambda v: (v > 0) & (v % 2 == 1))
    twice = (
        map_table(map_table(t, lambda v: v + 1), lambda v: v * 2),
        filter_table(filter_table(t, lambda v: v > 0), lambda v: v % 2 == 1),
    )
    for one, two in zip(once, twice, strict=True):
        assert emitted(one, *pushes) == emitted(two, *pushes)


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: to_table(t), "to_table: expected a stream"),
        (lambda: table_of_latest(t), "table_of_latest: expected a stream"),
        (lambda: changelog(s), "changelog: expected a table"),
        (lambda: update_stream(s), "update_stream: expected a table"),
        (lambda: map_table(s, itself), "map_table: expected a table"),
        (lambda: filter_table(s, itself), "filter_table: expected a table"),
        (lambda: combine_updates(s, 0, max), "combine_updates: expected a table"),
        (lambda: reduce(s, count), "reduce: expected a table"),
        (lambda: inner_join(t, s), "inner_join: expected a table"),
        (lambda: left_join(s, t), "left_join: expected a table"),
        (lambda: outer_join(t, s), "outer_join: expected a table"),
        (lambda: foreign_join(t, s, on="x"), "foreign_join: expected a table"),
        (lambda: foreign_join(t, u, on=NO), "foreign_join: expected a field's name or a function"),
        (lambda: foreign_join(t, u, on="x", how="outer"), "how='outer'"),
        (lambda: to_table(s, key=5), "expected a field's name or a function"),
        (lambda: map_table(t, NO), "map_table: expected a function but got function=5"),
        (lambda: filter_table(t, NO), "filter_table: expected a function but got predicate=5"),
        (lambda: combine_updates(t, 0, NO), "combine_updates: expected a function but got combine=5"),
        (lambda: reduce(t, NO), "expected a Group"),
        (lambda: reduce(t, count, by=NO), "reduce: expected a field's name or a function but got by=5"),
    ],
)
def test_what_an_operator_does_not_take_is_refused_in_its_name(make, said):
    with pytest.raises(InvalidArgument) as error:
        make()
    assert said in str(error.value)


def test_a_derived_stream_of_changes_may_be_a_table():
    changes = map_(s, lambda n: Update(n % 2, n) if n else Delete(0))
    assert emitted(to_table(changes), (s, 2), (s, 0), (s, 0), (s, 3)) == [
        [Update(0, 2)],
        [Delete(0)],
        [],
        [Update(1, 3)],
    ]


CET = timezone(timedelta(hours=1))
ALIKE: dict[str, tuple[Any, Any, Any]] = {
    "times of one instant": (
        lambda row: row.hour,
        datetime(2026, 1, 1, 12, tzinfo=UTC),
        datetime(2026, 1, 1, 13, tzinfo=CET),
    ),
    "decimals": (str, Decimal("1.5"), Decimal("1.50")),
    "zeros": (str, 0.0, -0.0),
    "the order of fields": (list, {"a": 1, "b": 2}, {"b": 2, "a": 1}),
}


@pytest.mark.parametrize("cut", [1, 2, 4])
@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("alike", ALIKE)
def test_rows_that_are_equal_and_can_be_told_apart_leave_nothing_behind(alike, tier, cut):
    tell, one, other = ALIKE[alike]
    table = Reactive("table", table=True)
    changes = [Update(1, one), Update(1, other), Update(2, one), Delete(1)]
    for output in (reduce(table, count, by=lambda row: str(tell(row))), map_table(table, lambda row: str(tell(row)))):
        engine, rows = Engine(output, tier=tier), {}
        for place in range(0, 4, cut):
            some: list[Any] = changes[place : place + cut]
            if tier is None and cut > 1:
                columns = {"key": [each.key for each in some], "deleted": [isinstance(each, Delete) for each in some]}
                batch = columns | {"value": [getattr(each, "value", None) for each in some]}
                events = events_of(engine.push_many({table: batch}))
            else:
                events = [event for each in some for event in engine.push(table, each)]
            for event in events:
                if isinstance(event.value, Delete):
                    del rows[event.value.key]
                else:
                    rows[event.value.key] = event.value.value
        assert rows == engine.query(output)
        assert rows == ({str(tell(one)): 1} if output.name.startswith("reduce") else {2: str(tell(one))})


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("alike", ALIKE)
def test_who_reads_a_derived_table_by_its_changes_has_its_rows(alike, tier):
    """A total of one that does not tell of such a change would take back a row that was never added."""
    tell, one, other = ALIKE[alike]
    table, beside = Reactive("table", table=True), Reactive("beside", table=True)
    for derived, of in (
        (map_table(table, itself), itself),
        (filter_table(table, lambda row: True), itself),
        (inner_join(table, beside), itemgetter(0)),
        (left_join(table, beside), itemgetter(0)),
        (map_table(inner_join(table, beside), lambda row: row[0]), itself),
        (to_table(changelog(table)), itself),
    ):

        def told(row: Any, of: Any = of) -> str:
            return str(tell(of(row)))

        totals = reduce(derived, count, by=told)
        engine, rows = Engine(derived, totals, tier=tier), {}
        pushes: list[Any] = [(beside, Update(key, None)) for key in (1, 2) if "beside" in engine.inputs]
        pushes += [(table, change) for change in (Update(1, one), Update(1, other), Update(2, one))]
        for reactive, change in [*pushes, (table, Delete(1))]:
            for event in engine.push(reactive, change):
                if event.reactive == derived.name:
                    rows[event.value.key] = getattr(event.value, "value", None)
            now = [row for row in rows.values() if row is not None]
            assert sorted(map(repr, now)) == sorted(map(repr, engine.query(derived).values()))
            assert engine.query(totals) == Counter(map(told, now))
