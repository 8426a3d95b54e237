"""versioned at its edges: what it goes with, what is late and why, and failures in a correction (SEMANTICS 3.6)."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import InvalidArgument, NotStorable
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    earliest,
    every_nth,
    fifo,
    first_match,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    randomly,
    retracting,
    separately,
    take,
    versioned,
)
from restrictions.streams import map_
from restrictions.tables import filter_table, foreign_join, inner_join, map_table, to_table

t, u, w = (Reactive(name, table=True) for name in "tuw")
r, s = Reactive("r"), Reactive("s")


def itself(value):
    return value


def values(events):
    return [event.value if event.weight == 1 else (event.value, event.weight) for event in events]


def table_of(source, restrict, **options):
    return correlate(x=source, yields=lambda x: x, restrict=restrict | retracting() | as_table("x"), **options)


def lookup(restrict, **options):
    return correlate(
        r=r, t=t, where=lambda r, *, key_t: r == key_t, yields=lambda r, t: (r, t), restrict=restrict, **options
    )


def feed(engine, *trace):
    return [values(engine.push(source, value, at=time)) for source, value, time in trace]


def standing(steps):
    found = Counter()
    for step in steps:
        for value in step:
            if isinstance(value, tuple) and value[1] == -1 and isinstance(value[0], tuple):
                found[value[0]] -= 1
            else:
                found[value] += 1
    assert min(found.values(), default=0) >= 0, found
    return +found


def ends_alike(restrict, trace, where=True):
    """Whether what stands in the end does not depend on the order of arrival (SEMANTICS 3.7)."""
    found = []
    for order in permutations(trace):
        output = lookup(restrict) if where else correlate(r=r, t=t, yields=lambda r, t: (r, t), restrict=restrict)
        found.append(standing(feed(Engine(output), *order)))
    return all(one == found[0] for one in found)


LATE = [(t, Update(7, "a"), 2), (r, 7, 6), (t, Update(7, "b"), 5), (r, 7, 8)]

# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("retention", [-1, timedelta(microseconds=-1)])
def test_a_negative_retention_is_refused(retention):
    with pytest.raises(InvalidArgument, match="expected a duration ≥ 0 but got retention="):
        versioned("t", retention=retention)


@pytest.mark.parametrize("retention", [1.5, "1", True, timedelta(microseconds=1)])
def test_a_retention_is_in_whole_units(retention):
    if isinstance(retention, timedelta):
        with pytest.raises(InvalidArgument):
            Engine(map_table(t, itself, restrict=versioned("x", retention=retention)), unit=timedelta(seconds=1))
        return
    with pytest.raises(InvalidArgument, match="retention"):
        Engine(map_table(t, itself, restrict=versioned("x", retention=retention)))


@pytest.mark.parametrize("derive", [lambda: map_table(t, itself), lambda: to_table(s, key=itself)])
def test_a_derived_table_without_versions_is_refused_with_the_remedy(derive):
    with pytest.raises(InvalidArgument, match="restrict it by versioned, too"):
        Engine(map_table(derive(), itself, restrict=versioned("x")))


def test_rows_that_are_not_known_by_time_are_refused_with_the_remedy():
    for rest in (as_table(itself) | retracting(), as_table("x")):
        with pytest.raises(InvalidArgument, match=r"write as_table\('slot'\) \| retracting\(\)"):
            Engine(correlate(x=t, yields=lambda x: x, restrict=versioned("x") | rest))


def test_partial_rows_that_no_event_gives_a_time_are_refused():
    with pytest.raises(InvalidArgument, match="as_table"):
        correlate(
            t=t,
            u=u,
            where=lambda key_t, key_u: key_t == key_u,
            yields=lambda t, u: (t, u),
            restrict=retracting() | versioned("t", "u") | optionally("u"),
        )


@pytest.mark.parametrize(
    "extra", [affinely("r"), at_most(2, "t"), take(1), first_match(), every_nth(2), randomly(1)], ids=repr
)
def test_what_consumes_is_refused_beside_a_correction(extra):
    with pytest.raises(InvalidArgument, match="uses events up or leaves matches out"):
        Engine(lookup(versioned("t") | retracting() | extra))


def test_tables_are_not_aligned():
    with pytest.raises(InvalidArgument, match="expected streams"):
        Engine(lookup(versioned("t") | aligning("r", "t")))


# ------------------------------------------------------------------------------------------------------ compositions


@pytest.mark.parametrize("extra", [fifo(), only("t", lambda v: v != "c"), only("r", lambda v: v > 0)], ids=repr)
def test_what_looks_at_one_event_at_a_time_goes_with_versions(extra):
    assert ends_alike(retracting() | versioned("t") | extra, LATE)


def test_versions_that_leave_at_once_are_refused_beside_a_correction():
    with pytest.raises(InvalidArgument, match="expected versions of 'a' that stay for corrections"):
        correlate(a=r, b=r, yields=lambda a, b: a, restrict=retracting() | versioned("a", "b") | momentarily("a"))
    correlate(a=r, b=r, yields=lambda a, b: a, restrict=versioned("a", "b") | momentarily("a"))


def test_an_event_that_leaves_at_once_is_not_corrected():
    steps = feed(Engine(lookup(retracting() | versioned("t") | momentarily("r"))), *LATE)
    assert steps == [[], [(7, "a")], [], [(7, "b")]]


def test_the_newest_event_alone_is_corrected_and_the_one_before_taken_back():
    steps = feed(Engine(lookup(retracting() | versioned("t") | most_recently("r"))), *LATE, (t, Update(7, "c"), 7))
    assert steps == [[], [(7, "a")], [((7, "a"), -1), (7, "b")], [((7, "b"), -1), (7, "b")], [((7, "b"), -1), (7, "c")]]


def test_the_oldest_event_stays_and_is_corrected():
    steps = feed(Engine(lookup(retracting() | versioned("t") | earliest("r"))), *LATE)
    assert steps == [[], [(7, "a")], [((7, "a"), -1), (7, "b")], []]


def test_parts_that_never_meet_have_no_versions_or_right_ones():
    """Refused, or: nothing is taken back twice, and the order of arrival does not matter."""
    restrict = retracting() | separately() | versioned("t")
    try:
        Engine(correlate(r=r, t=t, yields=lambda r, t: (r, t), restrict=restrict))
    except InvalidArgument:
        return
    assert ends_alike(
        restrict, [(t, Update(1, 1), 1), (t, Update(1, 2), 3), (t, Delete(1), 4), (t, Update(1, 7), 2)], False
    )


@pytest.mark.parametrize("keyed", [False, True])
def test_a_late_deletion_is_used_in_any_order(keyed):
    """SEMANTICS 3.7, also where a `key_by` names the slot of the table."""
    layers = versioned("x") | retracting() | as_table("x")
    output = correlate(x=t, yields=lambda x: x, restrict=key_by(x=itself) | layers if keyed else layers)
    for order in permutations([(t, Update("k", 1), 1), (t, Delete("k"), 5), (t, Delete("k"), 10)]):
        engine = Engine(output)
        feed(engine, *order)
        assert engine.versions(output) == {1: {"k": 1}, 5: {}}


@pytest.mark.parametrize("wanted", ["a", "b"])
def test_a_gate_on_a_table_with_versions_does_not_depend_on_arrival(wanted):
    """Of two rows of one time the table says itself which holds; what a gate drops of it is no rival any more."""
    kept = table_of(t, versioned("x"), name="kept")
    output = table_of(kept, versioned("x") | only("x", lambda v: v == wanted))
    for order in permutations("ab"):
        engine = Engine(output, kept)
        for value in order:
            engine.push(t, Update("k", value), at=1)
        (holds,) = engine.query(kept).values()
        assert engine.query(output) == ({"k": wanted} if holds == wanted else {})


def test_a_stream_keyed_is_a_history_by_key():
    output = correlate(
        x=s, yields=lambda x: x.v, restrict=key_by(x="k") | versioned("x") | retracting() | as_table("x")
    )
    engine = Engine(output)
    for k, v, time in (("a", 1, 5), ("a", 2, 3), ("b", 3, 4), ("a", 4, 9)):
        engine.push(s, {"k": k, "v": v}, at=time)
    assert engine.versions(output) == {3: {"a": 2}, 4: {"a": 2, "b": 3}, 5: {"a": 1, "b": 3}, 9: {"a": 4, "b": 3}}
    assert engine.query(output, at=4) == {"a": 2, "b": 3}


NUMBERED = st.tuples(st.sampled_from([t, u, w]), st.integers(0, 1), st.none() | st.integers(0, 3), st.integers(1, 8))


@given(trace=st.lists(NUMBERED, max_size=10, unique_by=lambda one: (one[0].name, one[1], one[3])))
def test_three_tables_are_joined_by_version(trace):
    joined = correlate(
        t=t,
        u=u,
        w=w,
        where=lambda key_t, key_u, key_w: (key_t == key_u) & (key_u == key_w),
        yields=lambda t, u, w: (t, u, w),
        restrict=versioned("t", "u", "w") | retracting() | as_table("t"),
    )
    chained = inner_join(inner_join(t, u, restrict=versioned("left", "right")), w, restrict=versioned("left", "right"))
    engine = Engine(joined, chained)
    for place, (source, key, value, time) in enumerate(trace, start=1):
        engine.push(source, Delete(key) if value is None else Update(key, value), at=time)
        for at in range(10):
            rows = {one: {} for one in (t, u, w)}
            for source_, key_, value_, time_ in sorted(trace[:place], key=lambda one: one[3]):
                if time_ <= at:
                    rows[source_].pop(key_, None)
                    if value_ is not None:
                        rows[source_][key_] = value_
            expected = {k: (rows[t][k], rows[u][k], rows[w][k]) for k in rows[t] if k in rows[u] and k in rows[w]}
            assert engine.query(joined, at=at) == expected
            assert {k: (*pair, last) for k, (pair, last) in engine.query(chained, at=at).items()} == expected


# ------------------------------------------------------------------------------------- consumers that keep no versions


def test_who_keeps_no_versions_sees_the_newest_rows_only():
    kept = table_of(t, versioned("x"), name="kept")
    output = map_table(kept, lambda v: (v,))
    engine = Engine(output)
    trace = [(t, Update(1, "a"), 5), (t, Update(1, "d"), 12), (t, Update(1, "c"), 7), (t, Delete(1), 9)]
    assert feed(engine, *trace) == [[Update(1, ("a",))], [Update(1, ("d",))], [], []]
    assert feed(engine, (t, Delete(1), 20), (t, Update(1, "e"), 15)) == [[Delete(1)], []]


@pytest.mark.parametrize(
    "derive", [lambda v: map_table(v, itself), lambda v: filter_table(v, bool), lambda v: table_of(v, fifo())]
)
def test_and_reads_the_newest_rows_only(derive):
    kept = table_of(t, versioned("x"), name="kept")
    output = derive(kept)
    engine = Engine(output, kept)
    for value, time in (("a", 5), ("d", 12), ("c", 7), ("b", 6)):
        engine.push(t, Update(1, value), at=time)
        assert engine.query(output) == engine.query(kept)
        assert engine.lookup(output, 1) == engine.lookup(kept, 1)
    engine.push(t, Delete(1), at=20)
    assert engine.query(output) == engine.query(kept) == {}


# ---------------------------------------------------------------------------------------------------------- late events


def reasons(engine):
    return [(event.value, where, reason) for event, where, reason in engine.late]


def test_an_event_bound_to_two_slots_is_late_for_the_one_that_keeps_nothing():
    both = correlate(
        a=t, b=t, where=lambda key_a, key_b: key_a == key_b, yields=lambda a, b: (a, b), restrict=retracting()
        | versioned("a", retention=5),
    )  # fmt: skip
    engine = Engine(both)
    engine.push(t, Update(1, "x"), at=10)
    engine.advance(12)
    engine.push(t, Update(1, "y"), at=8)
    assert reasons(engine) == [(Update(1, "y"), "b", "its end 8 is before the clock 12")]
    engine.push(t, Update(1, "z"), at=6)
    assert reasons(engine)[1:] == [
        (Update(1, "z"), "a", "its end 6 is before the clock 12 by more than the retention 5"),
        (Update(1, "z"), "b", "its end 6 is before the clock 12"),
    ]


def test_without_any_slot_that_keeps_versions_the_reactive_is_named():
    engine = Engine(correlate(t=t, r=r, yields=lambda t, r: (t, r), restrict=most_recently("r")))
    engine.advance(10)
    engine.push(t, Update(1, 1), at=9)
    assert reasons(engine) == [(Update(1, 1), "t", "its end 9 is before the clock 10")]


def test_a_clock_that_follows_the_events_leaves_the_retention():
    output = map_table(t, itself, restrict=versioned("x", retention=timedelta(microseconds=5)))
    engine = Engine(output, lateness=2)
    for value, time in ((1, 10), (2, 20), (3, 14), (4, 13), (5, 12)):
        engine.push(t, Update("k", value), at=time)
    assert engine.clock == 18
    assert [event.end for event, _, _ in engine.late] == [12]
    assert engine.versions(output) == {13: {"k": 4}, 14: {"k": 3}, 20: {"k": 2}}
    with pytest.raises(InvalidArgument, match="expected a time from 13 on"):
        engine.query(output, at=12)


# ------------------------------------------------------------------------------------------------------------ failures


def refusing(s, t):
    if "bad" in (s, t):
        raise ValueError("bad")
    return s, t


def corrected(source):
    return correlate(s=source, t=t, yields=refusing, restrict=retracting() | versioned("t", retention=10))


def test_a_body_that_fails_in_a_late_correction_leaves_everything_as_it_was():
    engine = Engine(corrected(s))
    feed(engine, (t, Update(1, "a"), 1), (s, "r", 5), (s, "q", 9))
    engine.advance(10)
    before, deadline = engine.snapshot(), engine.next_deadline
    for time in (3, 7, 9):
        with pytest.raises(ValueError, match="bad"):
            engine.push(t, Update(1, "bad"), at=time)
        assert engine.snapshot() == before
        assert engine.next_deadline == deadline
        engine._check_invariants()
    again = Engine.restore(before, engine.outputs[0])
    late = (t, Update(1, "b"), 4)
    assert feed(engine, late) == feed(again, late)
    assert engine.snapshot() == again.snapshot()


def test_after_a_failure_what_is_taken_back_is_still_found():
    newest = correlate(s=s, yields=lambda s: s, restrict=retracting() | most_recently("s"), name="newest")
    engine = Engine(corrected(newest))
    feed(engine, (t, Update(1, "a"), 1), (s, "r", 5))
    with pytest.raises(ValueError, match="bad"):
        engine.push(s, "bad", at=6)
    assert feed(engine, (s, "q", 6)) == [[(("r", "a"), -1), ("q", "a")]]


# ------------------------------------------------------------------------------------------------- state, and its bound


def test_a_durable_engine_refuses_a_derived_value_that_no_snapshot_holds():
    things = map_(s, lambda v: object())
    engine = Engine(correlate(x=things, yields=lambda x: 1, restrict=retracting() | versioned("x")), durable=True)
    before = engine.snapshot()
    with pytest.raises(NotStorable):
        engine.push(s, 1)
    assert engine.snapshot() == before


def test_a_durable_engine_goes_on_as_ever():
    output = map_table(t, itself, restrict=versioned("x", retention=10))
    engine = Engine(output, durable=True)
    feed(engine, (t, Update(1, {"a": 1}), 5), (t, Update(1, {"a": 2}), 3))
    assert {time: rows[1].a for time, rows in engine.versions(output).items()} == {3: 2, 5: 1}


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_row_that_stays_while_what_it_names_changes_keeps_bounded_state(how):
    """Retention bounds the state, also what is noted of the changes announced of a row that is older."""
    joined = foreign_join(t, u, on=itself, how=how, restrict=versioned("left", "right", retention=5))
    engine = Engine(joined)
    engine.push(t, Update("k", "a"), at=1)
    sizes = []
    for time in range(2, 402):
        engine.push(u, Update("a", time % 2), at=time)
        engine.advance(time)
        sizes.append(len(engine.snapshot()))
    assert max(sizes[-20:]) < max(sizes[80:100]) + 100


def test_explain_says_which_versions_are_kept_and_for_how_long():
    lines = Engine(lookup(versioned("t", retention=10) | retracting())).explain().splitlines()
    (rows,) = [line for line in lines if line.startswith("  slot t")]
    assert "memory O(versions), by versioned('t', retention=10)" in rows
    (events,) = [line for line in lines if line.startswith("  slot r")]
    assert "unbounded" not in events  # it is kept as long


def test_explain_says_that_all_versions_are_unbounded():
    lines = Engine(lookup(versioned("t") | retracting())).explain().splitlines()
    (rows,) = [line for line in lines if line.startswith("  slot t")]
    assert "unbounded" in rows  # not one row a key: None bounds nothing


def test_what_comes_late_to_one_slot_meets_what_is_over_in_another():
    """Of two retentions the longer keeps; each slot has its own lateness."""
    a, b = Reactive("a", table=True), Reactive("b", table=True)
    both = versioned("left", retention=1) | versioned("right", retention=5)
    joined = inner_join(a, b, restrict=both)
    engine = Engine(joined)
    engine.push(a, Update("k", "a1"), at=1)
    engine.push(a, Update("k", "a8"), at=8)
    engine.advance(10)
    engine.push(b, Update("k", "b6"), at=6)
    assert engine.versions(joined) == {6: {"k": ("a1", "b6")}, 8: {"k": ("a8", "b6")}}
    engine.push(a, Update("k", "a7"), at=7)
    assert [slot for _, slot, _ in engine.late] == ["left"]


def test_what_is_used_up_still_ends_what_came_before_it_after_a_snapshot():
    of_key = key_by(x="k", y="k") | versioned("x", retention=100) | affinely("x", "y")
    output = correlate(x=r, y=s, yields=lambda x, y: (x.n, y.n), restrict=of_key)
    engine = Engine(output)
    engine.push(r, {"k": 0, "n": 1}, at=5)
    assert values(engine.push(s, {"k": 0, "n": 0}, at=6)) == [(1, 0)]
    blob = engine.snapshot()
    engine = Engine.restore(blob, output)
    assert engine.snapshot() == blob
    engine.push(r, {"k": 0, "n": 1}, at=5)  # the same again: of two alike the first holds
    engine.push(r, {"k": 0, "n": 2}, at=2)  # holds from 2 to 5
    assert values(engine.push(s, {"k": 0, "n": 3}, at=7)) == []
    assert values(engine.push(s, {"k": 0, "n": 4}, at=4)) == [(2, 4)]


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_versions_that_are_alike_and_end_together_the_later_begun_holds_in_whatever_order_they_come(turned):
    reading, look = Reactive("reading"), Reactive("look")
    seen = correlate(
        r=reading, x=look, yields=lambda r, x: r, restrict=retracting() | versioned("r", retention=9), name="seen"
    )
    engine = Engine(seen)
    events = [((4, 7), 1), ((6, 7), 1)]
    for at, value in reversed(events) if turned else events:
        engine.push(reading, value, at=at)
    assert [(event.start, event.end) for event in engine.push(look, None, at=8)] == [(6, 8)]
