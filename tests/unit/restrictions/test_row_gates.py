"""Gates of rows: what their docstrings claim of a table, and what they refuse (SEMANTICS 2.1 to 2.3 and 2.7)."""

from __future__ import annotations

import functools
import math
from itertools import permutations
from operator import or_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Restriction, Slot, Update, correlate, forward, handles, pause, push, run
from cartesius.errors import CartesiusError, InvalidArgument
from cartesius.plan import Node, Opaque
from restrictions import (
    affinely,
    as_table,
    earliest,
    fifo,
    first_match,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    take,
    versioned,
    within,
)
from restrictions.gates.row_gates import announcing, transiently, updating, upserting
from restrictions.tables import changelog, map_table, to_table

t, u, s = Reactive("t", table=True), Reactive("u", table=True), Reactive("s")

CHANGE = st.tuples(st.sampled_from("abc"), st.sampled_from([None, 1, 2, 3, 1.0, True, math.nan])).map(
    lambda t: Delete(t[0]) if t[1] is None else Update(*t)
)
CHANGES = st.lists(CHANGE, max_size=12)
EVENTS = st.lists(st.tuples(st.sampled_from([1, 2, "a", (1, 2)]), st.sampled_from([1, 2, 3])), max_size=12)


def values(events):
    return [event.value if event.weight == 1 else (event.value, event.weight) for event in events]


def steps(output, reactive, changes):
    """What each push emits, type-exactly; and the rows after it, if it is a table."""
    engine = Engine(output)
    return [
        (repr([(e.value, e.start, e.end, e.weight) for e in engine.push(reactive, change)]), shown(engine, output))
        for change in changes
    ]


def shown(engine, output):
    return repr(sorted(engine.query(output).items(), key=repr)) if output.table else ""


def applied(changes):
    rows = {}
    for change in changes:
        if isinstance(change, Update):
            rows[change.key] = change.value
        else:
            del rows[change.key]
    return rows


def one_slot(source, restrict, **options):
    return correlate(x=source, yields=lambda x: x, restrict=restrict, **options)


# ---------------------------------------------------------------------------------------------------------- upserting


def keyed(event):
    return {"k": event[0], "n": event[1]}


@given(events=EVENTS, key=st.sampled_from(["k", lambda value: value.n % 2]))
def test_a_table_is_key_by_most_recently_retracting_as_table(events, key):
    rows = upserting("x", key=key) | retracting() | as_table("x")
    plain = key_by(x=key) | most_recently("x") | retracting() | as_table("x")
    trace = [keyed(event) for event in events]
    assert steps(one_slot(s, rows), s, trace) == steps(one_slot(s, plain), s, trace)


@given(events=EVENTS)
def test_a_table_is_that_also_over_a_stream_that_takes_back(events):
    newest = correlate(s=s, yields=lambda s: s, restrict=most_recently("s", n=2) | retracting(), name="newest")
    rows = upserting("x", key="k") | retracting() | as_table("x")
    plain = key_by(x="k") | most_recently("x") | retracting() | as_table("x")
    trace = [keyed(event) for event in events]
    assert steps(one_slot(newest, rows), s, trace) == steps(one_slot(newest, plain), s, trace)


@pytest.mark.parametrize("key", [None, float("nan")], ids=["None", "NaN"])
def test_an_event_of_a_null_key_is_set_aside_with_the_reason(key):
    engine = Engine(to_table(s, key="k"))
    assert engine.push(s, {"k": key, "n": 1}) == []
    assert engine.query(engine.outputs[0]) == {}
    assert [(slot, reason) for _, slot, reason in engine.late] == [("x", "its key is null, by upserting('x', key='k')")]


def test_what_a_stream_takes_back_leaves_no_row():
    """SEMANTICS 1.6: retracting the newest leaves nothing."""
    newest = correlate(s=s, yields=lambda s: s, restrict=most_recently("s") | retracting(), name="newest")
    table = to_table(newest, key="k")
    engine = Engine(table)
    assert values(engine.push(s, keyed((1, 1)))) == [Update(1, keyed((1, 1)))]
    assert values(engine.push(s, keyed((1, 2)))) == [Update(1, keyed((1, 2)))]
    assert values(engine.push(s, keyed((2, 3)))) == [Delete(1), Update(2, keyed((2, 3)))]


@pytest.mark.parametrize("key", [5, None, ("k",)])
def test_a_key_is_a_name_or_a_function(key):
    with pytest.raises(InvalidArgument, match="key="):
        upserting("x", key=key)


def test_a_table_has_its_rows_already():
    with pytest.raises(InvalidArgument, match="expected streams"):
        Engine(one_slot(t, upserting("x")))


@pytest.mark.parametrize("value", [5, None, ("EVA", 9)])
def test_what_is_no_change_is_refused_and_nothing_is_lost(value):
    engine = Engine(to_table(s))
    engine.push(s, Update(1, "a"))
    before = engine.snapshot()
    with pytest.raises(InvalidArgument, match="expected an Update or a Delete"):
        engine.push(s, value)
    assert engine.snapshot() == before
    assert values(engine.push(s, Delete(1))) == [Delete(1)]


@pytest.mark.parametrize(
    ("make", "source", "value"),
    [
        (lambda: map_table(t, lambda v: v), t, Update([1], 2)),
        (lambda: to_table(s), s, Update([1], 2)),
        (lambda: to_table(s, key="k"), s, {"k": [1]}),
        (lambda: one_slot(t, retracting() | as_table(lambda v: [v])), t, Update(1, 2)),
    ],
    ids=["an input", "a change", "a field", "a function"],
)
def test_a_key_that_cannot_be_hashed_is_refused_by_name_as_key_by_does(make, source, value):
    with pytest.raises(CartesiusError, match="hash"):
        Engine(make()).push(source, value)


# ------------------------------------------------------------------------------------------------ changes, not rows


@given(changes=CHANGES)
def test_transiently_changes_nothing_but_what_is_retained(changes):
    where = {"where": lambda x: x != 2}
    plain = one_slot(t, retracting() | as_table("x"), **where)
    passing = one_slot(t, retracting() | as_table("x") | transiently("x"), **where)
    assert steps(plain, t, changes) == steps(passing, t, changes)


@given(changes=CHANGES)
def test_transiently_commutes_with_retracting_and_as_table(changes):
    layers = [retracting(), as_table("x"), transiently("x")]
    found = [steps(one_slot(t, functools.reduce(or_, one)), t, changes) for one in permutations(layers)]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    "extra", [fifo(), momentarily("x"), most_recently("x"), earliest("x"), within(3, "x"), optionally("x")], ids=repr
)
@given(changes=CHANGES)
def test_transiently_goes_with_what_only_handles_memory(extra, changes):
    engine = Engine(one_slot(t, retracting() | as_table("x") | extra | transiently("x")))
    rows = applied(value for change in changes for value in values(engine.push(t, change)))
    assert repr(rows) == repr(engine.query(engine.outputs[0]))
    assert engine.stats.retained == 0


@given(changes=CHANGES)
def test_announced_changes_applied_to_an_empty_dict_give_the_table(changes):
    log = changelog(t)
    engine = Engine(log)
    rows = applied(value for change in changes for value in values(engine.push(t, change)))
    assert repr(sorted(rows.items())) == repr(sorted(engine.query(t).items()))


@given(changes=CHANGES)
def test_announcing_commutes_with_momentarily(changes):
    one, other = (announcing("x") | momentarily("x"), momentarily("x") | announcing("x"))
    assert steps(one_slot(t, one), t, changes) == steps(one_slot(t, other), t, changes)


@pytest.mark.parametrize("gate", [transiently, announcing])
def test_a_gate_of_changes_refuses_streams_and_other_gates(gate):
    with pytest.raises(InvalidArgument, match="expected a table"):
        Engine(one_slot(s, retracting() | gate("x")))
    for other in (only("x", bool), updating("x", 0, max), transiently("x"), announcing("x")):
        with pytest.raises(InvalidArgument, match="no other gate"):
            Engine(one_slot(t, retracting() | other | gate("x")))
    with pytest.raises(InvalidArgument, match="other slots"):
        Engine(correlate(x=t, y=u, yields=lambda x, y: x, restrict=retracting() | gate("x")))


@pytest.mark.parametrize("extra", [first_match(), affinely("x"), take(2)], ids=repr)
def test_what_consumes_is_refused_beside_a_table_that_passes(extra):
    with pytest.raises(InvalidArgument, match="uses events up or leaves matches out"):
        Engine(one_slot(t, retracting() | as_table("x") | transiently("x") | extra))


@pytest.mark.parametrize(
    "restrict", [retracting() | as_table("x") | transiently("x"), momentarily("x") | announcing("x")], ids=repr
)
def test_a_deletion_under_a_key_is_not_lost_where_no_row_is_kept(restrict):
    """SEMANTICS 2.1: a `Delete` goes where its row is."""
    engine = Engine(one_slot(t, key_by(x=lambda v: v % 2) | restrict))
    assert values(engine.push(t, Update(1, 1)))
    assert values(engine.push(t, Delete(1))) == [Delete(1)]


def test_versions_need_rows_that_are_kept():
    """Refused, or right: but not an AssertionError."""
    try:
        engine = Engine(one_slot(t, retracting() | as_table("x") | transiently("x") | versioned("x")))
    except InvalidArgument:
        return
    for value, time in ((1, 5), (2, 7), (3, 6)):
        engine.push(t, Update(1, value), at=time)
    assert engine.versions(engine.outputs[0]) == {5: {1: 1}, 6: {1: 3}, 7: {1: 2}}


class shutting(Restriction):
    """Pause the slot once something has come."""

    slot: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(self.slot,)),)

    @handles(push, "slot")
    def shut(self, slot, entry):
        pause(self.slot)
        forward(slot, entry)


def test_what_waits_at_the_door_is_not_yet_a_row_of_the_result():
    """SEMANTICS 2.8: the changes that came out, applied to an empty dict, are what can be queried. Or refuse it."""
    try:
        engine = Engine(one_slot(t, retracting() | shutting("x") | as_table("x") | transiently("x")))
    except InvalidArgument:
        return
    changes = [value for change in (Update(1, 1), Update(1, 2), Delete(1)) for value in values(engine.push(t, change))]
    assert engine.query(engine.outputs[0]) == applied(changes)


# ----------------------------------------------------------------------------------------------------------- updating


@given(changes=st.lists(CHANGE.filter(lambda change: getattr(change, "value", 0) == getattr(change, "value", 0))))
def test_updating_agrees_with_reduce_over_the_updates_since_the_last_deletion(changes):
    output = one_slot(t, retracting() | as_table("x") | updating("x", (), lambda seen, value: (*seen, value)))
    engine = Engine(output)
    since = {}
    for change in changes:
        engine.push(t, change)
        if isinstance(change, Delete):
            since.pop(change.key, None)
        else:
            since.setdefault(change.key, []).append(change.value)
        start: tuple[Any, ...] = ()
        expected = {key: functools.reduce(lambda seen, v: (*seen, v), found, start) for key, found in since.items()}
        assert engine.query(output) == expected


def test_updating_is_of_tables():
    with pytest.raises(InvalidArgument, match="expected a table"):
        Engine(one_slot(s, updating("x", 0, max)))
    with pytest.raises(InvalidArgument, match="function"):
        updating("x", 0, 5)


def test_a_fold_by_arrival_has_no_versions_or_the_same_in_any_order():
    """SEMANTICS 3.7."""
    fold = updating("x", 0, lambda total, value: total + value)
    try:
        output = one_slot(t, retracting() | as_table("x") | fold | versioned("x"))
        engines = [Engine(output), Engine(output)]
    except InvalidArgument:
        return
    trace = [(1, 5), (10, 7), (100, 6)]
    for engine, order in zip(engines, (trace, [trace[0], trace[2], trace[1]]), strict=True):
        for value, time in order:
            engine.push(t, Update(1, value), at=time)
    assert engines[0].versions(output) == engines[1].versions(output)


def test_a_fold_that_fails_leaves_the_row_as_it_was():
    output = one_slot(t, retracting() | as_table("x") | updating("x", 0, lambda total, value: total + value))
    engine = Engine(output)
    engine.push(t, Update("k", 1))
    before = engine.snapshot()
    with pytest.raises(TypeError):
        engine.push(t, Update("k", "one"))
    assert engine.snapshot() == before
    assert values(engine.push(t, Update("k", 2))) == [Update("k", 3)]
    assert [e.value for e in run(output, [(t, Update("k", 1)), (t, Delete("k")), (t, Delete("k"))])] == [
        Update("k", 1),
        Delete("k"),
    ]
