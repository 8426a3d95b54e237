"""Totals in an engine: one change a step, atomic, and by time where there are versions (SEMANTICS 2.7, 2.8, 3.7)."""

from __future__ import annotations

import functools
import operator

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import InvalidArgument
from cartesius.plan.known_totals import Total
from restrictions import affinely, as_table, key_by, most_recently, optionally, retracting, take, versioned
from restrictions.table_operators import groups
from restrictions.table_operators.aggregation import totalling, totalling_by
from restrictions.tables import Group, Monoid, count, filter_table, map_table, max_, min_, reduce, sum_

t, s = Reactive("t", table=True), Reactive("s")
CHANGES = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 5)), max_size=15)


def values(events):
    return [event.value if event.weight == 1 else (event.value, event.weight) for event in events]


def change(key, value):
    return Delete(key) if value is None else Update(key, value)


@given(trace=CHANGES)
def test_each_total_changes_at_most_once_a_step_and_none_without_a_change(trace):
    totals = reduce(t, sum_, by=lambda v: v % 2)
    engine, seen = Engine(totals), {}
    for key, value in trace:
        changes = values(engine.push(t, change(key, value)))
        assert len({one.key for one in changes}) == len(changes)
        for one in changes:
            before = seen.pop(one.key, None)
            assert before is not None or isinstance(one, Update)
            if isinstance(one, Update):
                assert before != one.value
                seen[one.key] = one.value
        assert engine.query(totals) == seen
        assert [engine.lookup(totals, parity) for parity in (0, 1)] == [seen.get(0), seen.get(1)]


EXTREMES = st.sampled_from([None, 0, 1, 1.0, True, 0.0, -0.0, float("nan"), 2, "x"])


@given(trace=st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.tuples(EXTREMES)), max_size=15))
def test_the_greatest_of_a_table_is_that_of_its_rows_whichever_go(trace):
    engine, rows = Engine(*(totals := [reduce(t, one, by=lambda v: 0) for one in (min_, max_)])), {}
    for key, value in trace:
        try:
            engine.push(t, Delete(key) if value is None else Update(key, value[0]))
        except TypeError:  # a text beside a number
            continue
        rows.pop(key, None)
        if value is not None:
            rows[key] = value[0]
        for made, one in zip(totals, (min_, max_), strict=True):
            expected = {0: functools.reduce(one.combine, rows.values(), None)} if rows else {}
            assert repr(dict(engine.query(made))) == repr(expected)


@pytest.mark.parametrize(("total", "sign"), [(Total.GREATEST, 1), (Total.LEAST, -1)])
def test_only_where_the_greatest_goes_all_that_are_left_are_looked_at(monkeypatch, total, sign):
    asked = []
    one = groups._KNOWN[total]

    def extreme(first, second):
        asked.append((first, second))
        return one.combine(first, second)

    counted = attrs.evolve(one, combine=extreme)
    monkeypatch.setitem(groups._KNOWN, total, counted)
    made = reduce(t, counted, by=lambda v: 0)
    engine = Engine(made)
    for key in range(100):
        engine.push(t, Update(key, sign * key))
    for key in range(99):
        engine.push(t, Update(key, -sign * key))
    assert len(asked) < 200  # one each
    asked.clear()
    engine = Engine.restore(engine.snapshot(), made)
    assert values(engine.push(t, Delete(99))) == [Update(0, 0)]
    assert len(asked) == 99


def test_of_a_monoid_of_ones_own_all_that_are_left_are_looked_at_whatever_goes():
    longest = Monoid((), lambda one, other: tuple(sorted({*one, *other})), lambda v: (v,))
    made = reduce(t, longest, by=lambda v: 0)
    engine = Engine(made)
    for key, value in enumerate("abc"):
        engine.push(t, Update(key, value))
    assert values(engine.push(t, Delete(1))) == [Update(0, ("a", "c"))]


@pytest.mark.parametrize("tier", ["reference", None])
def test_a_group_may_have_an_empty_element_that_is_not_compared(tier):
    added = Group(np.zeros(2), operator.add, operator.neg, np.array, lambda total: tuple(total.tolist()))
    largest = Monoid(np.zeros(2), np.maximum, np.array, lambda total: tuple(total.tolist()))
    engine = Engine(reduce(t, added), reduce(t, largest), tier=tier)
    for key, value in enumerate([(1.0, 2.0), (3.0, 0.0)]):
        found = engine.push(t, Update(key, value))
    assert values(found) == [(4.0, 2.0), (3.0, 2.0)]
    assert values(engine.push(t, Delete(0))) == [(3.0, 0.0), (3.0, 0.0)]


def test_the_time_of_a_total_is_that_of_what_changed_it():
    """SEMANTICS 1.10."""
    engine = Engine(reduce(t, sum_, by=lambda v: v % 2))
    engine.push(t, Update("a", 1), at=(1, 2))
    (event,) = engine.push(t, Update("b", 3), at=(5, 7))
    assert (event.start, event.end) == (5, 7)
    events = engine.push(t, Update("a", 2), at=9)
    assert [(event.value, event.end) for event in events] == [(Update(1, 3), 9), (Update(0, 2), 9)]


def test_a_failing_group_leaves_the_engine_as_it_was():
    def combine(a, b):
        if a + b > 10:
            raise OverflowError(a + b)
        return a + b

    totals = reduce(t, Group(0, combine, operator.neg), by=lambda v: v % 2)
    engine = Engine(totals)
    for key, value in (("a", 5), ("b", 4)):
        engine.push(t, Update(key, value))
    before = engine.snapshot()
    for key, value in (("c", 7), ("a", 8), ("b", 11)):
        with pytest.raises(OverflowError):
            engine.push(t, Update(key, value))
        assert engine.snapshot() == before
        assert engine.query(t) == {"a": 5, "b": 4}
    assert values(engine.push(t, Update("a", 6))) == [Delete(1), Update(0, 10)]


def test_a_failing_finish_leaves_the_engine_as_it_was():
    group = Group(0, operator.add, operator.neg, finish=lambda total: 10 // (total - 3))
    engine = Engine(reduce(t, group))
    engine.push(t, Update("a", 1))
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(t, Update("b", 2))
    assert engine.snapshot() == before
    assert values(engine.push(t, Update("b", 4))) == [5]


@pytest.mark.parametrize("extra", [affinely("s"), take(2)], ids=repr)
def test_what_consumes_is_refused_beside_totals(extra):
    with pytest.raises(InvalidArgument, match="uses events up or leaves matches out"):
        Engine(correlate(s=s, yields=lambda s: s, restrict=retracting() | totalling(count) | extra))


def test_totals_are_of_all_keys_and_by_the_key_that_is_asked_for():
    layers = key_by(s="k") | most_recently("s") | retracting()
    all_ = correlate(s=s, yields=lambda s: s.n, restrict=layers | totalling(sum_))
    by_k = correlate(s=s, yields=lambda s: (s.k, s.n), restrict=layers | totalling_by(sum_.of(second), first))
    engine = Engine(all_, by_k)
    for k, n in (("a", 1), ("b", 2), ("a", 5)):
        engine.push(s, {"k": k, "n": n})
    assert engine.query(by_k) == {"a": 5, "b": 2}
    assert values(engine.push(s, {"k": "b", "n": 3})) == [8, Update("b", 3)]


def first(pair):
    return pair[0]


def second(pair):
    return pair[1]


def test_a_total_of_rows_with_missing_parts():
    u = Reactive("u", table=True)
    joined = correlate(
        t=t,
        u=u,
        where=lambda t, u, key_t, key_u: key_t == key_u,
        yields=lambda t, u: t if u is None else u,
        restrict=retracting() | optionally("u") | totalling(sum_),
    )
    engine = Engine(joined)
    assert values(engine.push(t, Update(1, 5))) == [5]
    assert values(engine.push(u, Update(1, 7))) == [7]
    assert values(engine.push(u, Delete(1))) == [5]
    assert values(engine.push(t, Delete(1))) == [None]


def test_totalling_twice_or_beside_as_table_is_refused_or_one_of_both():
    for layers in (totalling(count) | totalling(sum_), as_table("t") | totalling(sum_)):
        try:
            engine = Engine(correlate(t=t, yields=lambda t: t, restrict=retracting() | layers))
        except InvalidArgument:
            continue
        emitted = values(engine.push(t, Update("a", 5)))
        assert emitted in ([1], [5], [Update("a", 5)])


# ------------------------------------------------------------------------------------------------------ with versions


@given(trace=st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ab"), st.none() | st.integers(0, 5)), max_size=10))
def test_the_total_of_a_total_s_newest_rows_is_that_of_the_newest_rows(trace):
    """An unversioned reduction over a table with versions counts what holds now, whatever corrects the past."""
    latest = map_table(t, lambda v: v, restrict=versioned("x"))
    engine = Engine(
        total := reduce(latest, sum_, by=lambda v: "all"), rows := reduce(latest, count, by=lambda v: "all"), latest
    )
    for time, key, value in trace:
        engine.push(t, change(key, value), at=time)
        now = engine.query(latest)
        assert engine.query(total) == ({"all": sum(now.values())} if now else {})
        assert engine.query(rows) == ({"all": len(now)} if now else {})


def test_a_failure_in_a_late_correction_of_a_total_leaves_everything_as_it_was():
    totals = reduce(t, sum_, by=lambda v: 10 // v and "all", restrict=versioned("x", retention=20))
    engine = Engine(totals)
    for key, value, time in (("a", 1, 5), ("b", 2, 9), ("a", 3, 14)):
        engine.push(t, Update(key, value), at=time)
    engine.advance(12)
    before, versions = engine.snapshot(), engine.versions(totals)
    with pytest.raises(ZeroDivisionError):
        engine.push(t, Update("b", 0), at=7)
    assert engine.versions(totals) == versions
    assert engine.snapshot() == before
    engine.push(t, Update("b", 5), at=7)
    assert engine.versions(totals) == {5: {"all": 1}, 7: {"all": 6}, 9: {"all": 3}, 14: {"all": 5}}


def test_a_count_over_corrected_versions_does_not_drift():
    """A change that holds from a time that was announced before on comes with the row that it replaces."""
    u = Reactive("u", table=True)
    joined = correlate(
        left=t,
        right=u,
        where=lambda left, *, key_right: left.to == key_right,
        yields=lambda left, right: (left.n, right),
        restrict=retracting() | optionally("right") | as_table("left") | versioned("left", "right"),
        name="joined",
    )
    outputs = (reduce(joined, count), filter_table(joined, lambda row: row[0] > 0))
    for name, output in zip(("count", "filter"), outputs, strict=True):
        engine, seen = Engine(output), {}
        steps = [
            (t, Update("k", {"n": 1, "to": "a"}), 1),
            (u, Update("a", "U"), 9),
            (t, Update("k", {"n": 1, "to": "b"}), 1),
            (t, Update("k", {"n": 2, "to": "b"}), 1),
            (t, Update("k", {"n": 2, "to": "c"}), 1),
        ]
        for source, row, time in steps:
            emitted = values(engine.push(source, row, at=time))
            if name == "count":
                assert all(value == 1 for value in emitted), emitted
            else:
                seen.update({one.key: one.value for one in emitted})
                assert seen == engine.query(output)
