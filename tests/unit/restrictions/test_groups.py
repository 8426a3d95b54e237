"""Groups and totals: exact whatever comes and goes, checked laws, and refusals that lose nothing (SEMANTICS 2.7)."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import CartesiusError, InvalidArgument, NotStorable
from restrictions import most_recently, retracting, streams, tables, tumbling
from restrictions.table_operators.aggregation import totalling, totalling_by
from restrictions.tables import Group, Monoid, aggregate, count, max_, mean, min_, reduce, sum_

t, s = Reactive("t", table=True), Reactive("s")

FLOATS = st.one_of(
    st.floats(),
    st.sampled_from([0.1, 1e16, -1e16, 1.7e308, -1.7e308, 5e-324, -0.0, math.inf, -math.inf, math.nan, 2.0**53]),
)
SMALL = st.floats(-1e9, 1e9)
DECIMALS = st.decimals(-(10**9), 10**9, allow_nan=False, places=6)
KEYS = st.sampled_from("abcd")


def values(events):
    return [event.value if event.weight == 1 else (event.value, event.weight) for event in events]


def traces(numbers):
    """Updates, and deletions where there is None."""
    return st.lists(st.tuples(KEYS, st.none() | numbers), max_size=20)


def totals(group, trace):
    """Yield the rows and the total after each change of them."""
    engine, rows, total = Engine(reduce(t, group)), {}, None
    for key, value in trace:
        emitted = values(engine.push(t, Delete(key) if value is None else Update(key, value)))
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
        total = emitted[-1] if emitted else total
        if total is not None:
            yield list(rows.values()), total


def summed(numbers):
    """What `math.fsum` gives, where it does not give up."""
    infinite = [number for number in numbers if not math.isfinite(number)]
    if infinite:
        return sum(infinite)
    try:
        return math.fsum(numbers)
    except OverflowError:
        exact = sum(map(Fraction, numbers))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


def is_same(one, other):
    return type(one) is type(other) and (one == other or (math.isnan(one) and math.isnan(other)))


# --------------------------------------------------------------------------------------------------------- exact sums


@given(trace=traces(FLOATS))
@example(trace=[("a", 1e16), ("b", 1.0), ("c", -1e16), ("a", None)])
@example(trace=[("a", math.inf), ("b", -math.inf), ("a", None), ("b", None)])
@example(trace=[("a", 1.7e308), ("b", 1.7e308), ("a", None)])
def test_a_sum_of_floats_is_that_of_fsum_whatever_was_there(trace):
    for rows, total in totals(sum_, trace):
        assert is_same(total, summed(rows) if rows else None)


@given(trace=traces(SMALL | st.integers(-(10**12), 10**12) | st.booleans()))
def test_a_sum_is_the_sum_of_the_fractions_rounded_once(trace):
    for rows, total in totals(sum_, trace):
        exact = sum(map(Fraction, rows))
        assert is_same(total, float(exact) if any(isinstance(row, float) for row in rows) else int(exact))


@given(trace=traces(DECIMALS | st.integers(-(10**9), 10**9)))
def test_a_sum_of_decimals_is_a_decimal_and_exact(trace):
    for rows, total in totals(sum_, trace):
        with localcontext() as context:
            context.prec = 100
            assert is_same(total, sum(rows))


@given(trace=traces(SMALL | st.integers(-(10**12), 10**12)))
def test_a_mean_is_that_of_the_fractions_rounded_once(trace):
    for rows, total in totals(mean, trace):
        assert total == (float(sum(map(Fraction, rows)) / len(rows)) if rows else None)


@given(trace=traces(st.text()))
def test_a_count_is_that_of_the_rows(trace):
    for rows, total in totals(count, trace):
        assert total == len(rows)


def test_a_mean_and_a_sum_of_nothing_are_none_and_its_count_is_0():
    for group, empty in ((mean, None), (sum_, None), (count, 0)):
        engine = Engine(reduce(t, group))
        engine.push(t, Update("a", 2.5))
        assert values(engine.push(t, Delete("a"))) == [empty]
        assert group.finish(group.empty) == empty


@pytest.mark.parametrize("group", [sum_, mean])
def test_what_is_not_finite_leaves_no_trace(group):
    engine = Engine(reduce(t, group))
    engine.push(t, Update("a", 1.0))
    for odd in (math.inf, -math.inf, math.nan):
        engine.push(t, Update("b", odd))
    assert values(engine.push(t, Delete("b"))) == [1.0]


@pytest.mark.parametrize("rows", list(itertools.permutations([math.nan, 1.0, None, 2.0])))
def test_the_least_and_the_greatest_depend_on_no_order_also_beside_nan(rows):
    """NaN is greater than all numbers, as in DuckDB and in orders (SEMANTICS 1.18)."""
    for group, expected in ((min_, 1.0), (max_, math.nan)):
        engine = Engine(reduce(t, group))
        given = [values(engine.push(t, Update(key, row))) for key, row in enumerate(rows)]
        assert is_same(given[-1][0], expected)
        batch = Engine(reduce(t, group)).push_many({t: {"value": rows, "key": range(len(rows))}})
        assert is_same(batch["value"].to_pylist()[-1], expected)


NUMBERS = st.sampled_from([0, 0.0, -0.0, False, 1, 1.0, True, Decimal("1.0"), Decimal("1.00"), 2.5, math.nan, None])
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALIKE = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=6),
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6),
    st.lists(st.sampled_from([NOON, NOON.astimezone(ZoneInfo("Asia/Tokyo")), None]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["", "a", "b", None]), min_size=1, max_size=4),
)


@pytest.mark.parametrize("group", [min_, max_])
@given(rows=ALIKE, data=st.data())
def test_the_least_and_the_greatest_are_of_the_rows_alone_whatever_came_before(group, rows, data):
    """What is equal, and can be told apart, was the first that came, and a null in a tuple raised."""
    found = set()
    for _ in range(3):
        engine, events = Engine(reduce(t, group)), []
        for key in data.draw(st.permutations(range(len(rows)))):
            if data.draw(st.booleans()):
                events += engine.push(t, Update(key, data.draw(st.sampled_from(rows))))
            events += engine.push(t, Update(key, rows[key]))
        key = data.draw(st.integers(0, len(rows) - 1))
        gone = [engine.push(t, Delete(key)), engine.push(t, Update(key, rows[key]))]
        total = [*values(events), *[value for each in gone for value in values(each)]][-1]
        found.add((type(total).__name__, repr(total)))
    assert len(found) == 1
    there = [row for row in rows if row is not None]
    if there and not any(isinstance(row, tuple) or row != row for row in there):  # noqa: PLR0124 - NaN
        assert total == (min if group is min_ else max)(there)


@pytest.mark.parametrize("number", [10**400, -(10**400), Decimal("1E+400"), Decimal("-1E+400")], ids="abcd")
def test_a_sum_of_numbers_beyond_floats_is_exact(number):
    engine = Engine(reduce(t, sum_))
    assert values(engine.push(t, Update("a", number))) == [number]
    (total,) = values(engine.push(t, Update("b", 1)))
    assert Fraction(total) == Fraction(number) + 1
    assert values(engine.push(t, Delete("a"))) == [1]


def test_a_mean_of_numbers_beyond_floats_is_as_ints_give_it():
    """A float cannot hold it: the infinity, as `sum_` has it beside floats. But not an OverflowError."""
    engine = Engine(reduce(t, mean))
    assert values(engine.push(t, Update("a", 10**308))) == [1e308]
    assert values(engine.push(t, Update("b", 10**308))) == [1e308]
    assert values(engine.push(t, Update("c", 10**400))) == [math.inf]


def test_decimals_far_apart_are_added_exactly():
    engine = Engine(reduce(t, sum_))
    engine.push(t, Update("a", Decimal("1E+300")))
    (total,) = values(engine.push(t, Update("b", Decimal("1E-5000"))))
    assert Fraction(total) == Fraction(Decimal("1E+300")) + Fraction(Decimal("1E-5000"))
    assert values(engine.push(t, Delete("b"))) == [Decimal("1E+300")]


@pytest.mark.parametrize("group", [sum_, mean, sum_.of("length")])
@pytest.mark.parametrize("wrong", ["9", 1j, [1], Fraction(1, 2), {"length": "9"}], ids=repr)
def test_what_is_no_number_is_refused_and_nothing_is_lost(group, wrong):
    is_field = group.lift is not sum_.lift and group is not mean
    right = [{"length": n} if is_field else n for n in (1, 2)]
    engine = Engine(reduce(t, group))
    engine.push(t, Update("a", right[0]))
    before = engine.snapshot()
    with pytest.raises((CartesiusError, AttributeError)):
        engine.push(t, Update("b", wrong))
    with pytest.raises((CartesiusError, AttributeError)):
        engine.push(t, Update("a", wrong))
    assert engine.snapshot() == before
    assert engine.query(t) == {"a": right[0]}
    assert values(engine.push(t, Update("b", right[1]))) == [1.5 if group is mean else 3]


def test_a_field_or_a_function_says_what_is_summed():
    for group in (sum_.of("ship.length"), sum_.of(lambda row: row.ship.length), sum_.of("length").of("ship")):
        engine = Engine(reduce(t, group))
        assert values(engine.push(t, Update("a", {"ship": {"length": 3}}))) == [3]
    assert count.of("anything").lift is not count.lift
    wrongs: list[Any] = [5, None, ["length"]]
    for wrong in wrongs:
        with pytest.raises(InvalidArgument, match="expected a field's name or a function"):
            sum_.of(wrong)


# ------------------------------------------------------------------------------------------------------ laws of groups


def even_sum(a, b):
    """Commutative, has a neutral element and inverses, but is not associative."""
    return a + b if 0 in (a, b, a + b) else (a + b) // 2 * 2 + 1


@pytest.mark.parametrize(
    ("group", "elements", "law"),
    [
        (Group(1, operator.add, operator.neg), [1], "combine(a, empty) == a"),
        (Group(0, operator.add, lambda a: a), [1], "combine(a, inverse(a)) == empty"),
        (Group(0, max, operator.neg), [1, 2], "combine(a, inverse(a)) == empty"),
        (Group(0, operator.sub, lambda a: a), [1, 2], "combine(a, b) == combine(b, a)"),
        (Group(0, even_sum, operator.neg), [1, 2, 3], "combine(combine(a, b), c) == combine(a, combine(b, c))"),
        (Group(0.0, operator.add, operator.neg), [0.1, 0.2, 0.3], "combine(combine(a, b), c) == "),
    ],
)
def test_a_group_finds_each_law_that_is_broken(group, elements, law):
    with pytest.raises(InvalidArgument, match="no commutative group") as error:
        group.check(elements)
    assert law in str(error.value)
    assert "a=" in str(error.value)


def test_the_ready_made_groups_are_groups():
    numbers = [0.1, 0.2, -0.3, 1e300, 3, True, math.inf, -math.inf, math.nan, Decimal("0.1")]
    for group in (count, sum_, mean):
        group.check(numbers)
    sum_.of("n").check([type("Row", (), {"n": 1})()])
    Group(frozenset(), operator.xor, lambda a: a, lift=lambda v: frozenset([v])).check("abc")
    with pytest.raises(InvalidArgument, match="expected numbers"):
        sum_.check(["x"])


# ------------------------------------------------------------------------------------------- totalling, the restriction


@given(numbers=st.lists(st.integers(-3, 3), max_size=12), n=st.integers(1, 3))
def test_a_total_is_that_of_the_results_that_stand(numbers, n):
    layers = retracting() | most_recently("s", n=n)
    plain = correlate(s=s, yields=lambda s: s, restrict=layers, name="plain")
    total = correlate(s=s, yields=lambda s: s, restrict=layers | totalling(sum_), name="total")
    table = correlate(s=s, yields=lambda s: s, restrict=layers | totalling_by(sum_, lambda v: v % 2))
    engine, standing = Engine(plain, total, table), Counter()
    for number in numbers:
        emitted = engine.push(s, number)
        changes = [event for event in emitted if event.reactive == "plain"]
        for event in changes:
            standing[event.value] += event.weight
        expected = {}
        for value in standing.elements():
            expected[value % 2] = expected.get(value % 2, 0) + value
        given_ = [event.value for event in emitted if event.reactive == "total"]
        assert given_ == ([sum(standing.elements())] if changes else [])
        assert engine.query(table) == expected


@pytest.mark.parametrize("make", [totalling, lambda group: totalling_by(group, lambda v: v)])
def test_totalling_needs_a_group_and_retracting(make):
    with pytest.raises(InvalidArgument, match="expected a Group"):
        make(max)
    with pytest.raises(InvalidArgument, match="retracting"):
        Engine(correlate(s=s, yields=lambda s: s, restrict=make(count)))


@pytest.mark.parametrize("key", [lambda v: None, lambda v: float("nan")], ids=["None", "NaN"])
def test_a_row_with_a_null_key_is_in_no_group(key):
    totals = reduce(t, count, by=lambda v: v and key(v))
    engine = Engine(totals)
    assert engine.push(t, Update("a", 1)) == []
    assert [event.value for event in engine.push(t, Update("a", 0))] == [Update(0, 1)]
    assert [event.value for event in engine.push(t, Update("a", 2))] == [Delete(0)]
    assert engine.push(t, Delete("a")) == []
    assert [event.value for event, _, _ in engine.late] == [Update("a", 1), Update("a", 2)]


def test_a_key_of_a_total_that_cannot_be_hashed_is_refused_by_name():
    with pytest.raises(CartesiusError, match="hash"):
        Engine(reduce(t, count, by=lambda v: [v])).push(t, Update("a", 1))


def test_a_key_that_fails_leaves_everything_as_it_was():
    totals = reduce(t, sum_, by=lambda v: 10 // v)
    engine = Engine(totals)
    engine.push(t, Update("a", 5))
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(t, Update("a", 0))
    assert engine.snapshot() == before
    assert values(engine.push(t, Update("a", 2))) == [Delete(2), Update(5, 2)]


def test_a_durable_engine_refuses_elements_that_no_snapshot_holds_when_they_are_pushed():
    """SEMANTICS 1.16: at the snapshot, or already at the push in a durable engine."""

    class Odd:
        pass

    odd = Odd()
    group = Group(odd, lambda a, b: odd, lambda a: odd, lift=lambda v: odd, finish=lambda v: 1)
    with pytest.raises(NotStorable):
        Engine(reduce(t, group), durable=True).push(t, Update("a", 1))


def test_a_total_goes_on_after_a_restore():
    totals = reduce(t, mean, by=lambda v: v > 1)
    engine = Engine(totals)
    for key, number in (("a", 0.1), ("b", 0.2), ("c", 1e300)):
        engine.push(t, Update(key, number))
    again = Engine.restore(engine.snapshot(), totals)
    for one in (engine, again):
        assert values(one.push(t, Update("a", math.inf))) == [Update(False, 0.2), Update(True, math.inf)]
        assert values(one.push(t, Delete("a"))) == [Update(True, 1e300)]
    assert engine.snapshot() == again.snapshot()


@pytest.mark.parametrize(
    ("make", "arguments", "options", "message"),
    [
        (Group, (0, 3, 4), {}, "Group: expected a function as combine but got combine=3"),
        (Group, (0, operator.add, operator.neg), {"lift": 3}, "Group: expected a function as lift but got lift=3"),
        (Group, (0, operator.add, operator.neg), {"finish": "x"}, "Group: expected a function as finish"),
        (Group, (0, operator.add, None), {}, "Group: expected a function as inverse"),
        (Monoid, (0, max), {"lift": "v"}, "Monoid: expected a function as lift but got lift='v'"),
        (aggregate, (s, Group), {"restrict": tumbling(10)}, "aggregate: expected a Group, or a Monoid, such as count"),
        (aggregate, (s, "count"), {"restrict": tumbling(10)}, "aggregate: expected a Group, or a Monoid"),
        (reduce, (t, "count"), {}, "reduce: expected a Group, or a Monoid"),
    ],
)
def test_what_is_no_group_is_refused_at_once_in_the_name_of_what_was_called(make, arguments, options, message):
    with pytest.raises(InvalidArgument, match=message):
        make(*arguments, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda wrong: aggregate(s, count, by=wrong, restrict=tumbling(10)),
            "aggregate: expected a function of one value as by",
        ),
        (lambda wrong: reduce(t, count, by=wrong), "reduce: expected a function of one value as by"),
        (lambda wrong: streams.map_(s, wrong), "map_: expected a function of one value as function"),
        (lambda wrong: streams.scan(s, wrong, initial=0), "scan: expected a function of 2 values as combine"),
        (lambda wrong: tables.map_table(t, wrong), "map_table: expected a function of one value as function"),
        (lambda wrong: tables.combine_updates(t, 0, wrong), "combine_updates: expected a function of 2 values"),
    ],
)
@pytest.mark.parametrize("wrong", [lambda: 1, lambda a, b, c: a])
def test_a_function_of_another_number_of_values_is_refused_at_once(make, message, wrong):
    with pytest.raises(InvalidArgument, match=f"{message}.* but got .*lambda"):
        make(wrong)


@pytest.mark.parametrize(
    "function", [str, abs, lambda *values: values, lambda value, other=2: value, operator.itemgetter(0)]
)
def test_a_function_that_can_take_one_value_is_one(function):
    streams.map_(s, function)
