"""within, by example: bands, rows that are final, failures at a deadline, and completion (SEMANTICS 1.12, 2.6, 3.8)."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update, correlate
from cartesius.errors import InvalidArgument
from restrictions import as_table, cartesian, key_by, most_recently, only, optionally, retracting, within
from restrictions.streams import fork_join
from restrictions.time.duration import apart, lasting

x, y, z = Reactive("x"), Reactive("y"), Reactive("z")


def values(events):
    return [event.value if event.weight == 1 else (event.value, event.weight) for event in events]


def pairs(restrict, **options):
    options = {"yields": lambda x, y: (x, y), **options}
    return correlate(x=x, y=y, restrict=restrict, **options)


def feed(engine, *trace):
    return [values(engine.push(source, value, at=time)) for source, value, time in trace]


# ------------------------------------------------------------------------------------------------------------- the band


def test_of_three_slots_the_first_and_the_last_count():
    engine = Engine(cartesian(x, y, z, restrict=within(4, "x", "y", "z")))
    assert feed(engine, (x, 1, 10), (y, 2, 12), (z, 3, 14), (z, 4, 15), (z, 5, 8)) == [
        [],
        [],
        [(1, 2, 3)],
        [],
        [(1, 2, 5)],
    ]


def test_a_slot_that_is_not_named_is_not_concerned_and_keeps_the_others():
    engine = Engine(cartesian(x, y, z, restrict=within(4, "x", "y")))
    feed(engine, (x, 1, 10), (y, 2, 14), (y, 3, 15))
    engine.advance(1000)
    assert feed(engine, (z, 4, 1000)) == [[(1, 2, 4)]]
    assert engine.stats.retained == 4
    assert engine.next_deadline is None


def test_bands_may_overlap():
    engine = Engine(cartesian(x, y, z, restrict=within(2, "x", "y") | within(3, "y", "z")))
    assert feed(engine, (x, 1, 10), (y, 2, 12), (z, 3, 15), (z, 4, 16)) == [[], [], [(1, 2, 3)], []]


def test_an_interval_counts_from_its_start_to_its_end():
    engine = Engine(pairs(within(5, "x", "y")))
    assert feed(engine, (x, 1, (10, 12)), (y, 2, (13, 15)), (y, 3, (13, 16)), (y, 4, (7, 8)), (y, 5, (6, 8))) == [
        [],
        [(1, 2)],
        [],
        [(1, 4)],
        [],
    ]
    assert engine.next_deadline == 12
    engine.advance(15)
    assert engine.stats.retained == 1 + 2
    engine.advance(19)
    assert engine.stats.retained == 0


def test_a_timedelta_is_in_the_unit_of_the_engine():
    engine = Engine(pairs(within(timedelta(minutes=2), "x", "y")), unit=timedelta(seconds=30))
    assert feed(engine, (x, 1, 10), (y, 2, 14), (y, 3, 15)) == [[], [(1, 2)], []]
    with pytest.raises(InvalidArgument):
        Engine(pairs(within(timedelta(seconds=31), "x", "y")), unit=timedelta(seconds=30))


@pytest.mark.parametrize("duration", [-1, timedelta(microseconds=-1)])
def test_a_negative_duration_is_refused(duration):
    with pytest.raises(InvalidArgument, match="expected a duration ≥ 0"):
        within(duration, "x", "y")


@pytest.mark.parametrize("slots", [("x", "y"), ("x", "y", "z")])
@pytest.mark.parametrize("rest", [optionally("y"), optionally("y", "z") | retracting()])
def test_beside_optionally_there_are_two_slots(slots, rest):
    with pytest.raises(InvalidArgument, match="expected a correlation of two slots"):
        Engine(correlate(x=x, y=y, z=z, yields=lambda x, y, z: (x, y, z), restrict=within(3, *slots) | rest))


@pytest.mark.parametrize("keyed", [lambda one: key_by(x="k", y="k") | one, lambda one: one | key_by(x="k", y="k")])
def test_under_keys_each_meets_its_own_and_leaves_in_its_own_time(keyed):
    engine = Engine(pairs(keyed(within(3, "x", "y")), yields=lambda x, y: (x.n, y.n)))
    rows = [(x, {"k": "a", "n": 1}, 10), (x, {"k": "b", "n": 2}, 12), (y, {"k": "b", "n": 3}, 13)]
    assert feed(engine, *rows) == [[], [], [(2, 3)]]
    engine.advance(14)
    assert engine.stats.retained == 2
    assert feed(engine, (y, {"k": "a", "n": 4}, 14), (y, {"k": "b", "n": 5}, 15)) == [[], [(2, 5)]]
    engine.advance(100)
    assert engine.stats.retained == 0


TIMES = st.lists(st.tuples(st.sampled_from([x, y]), st.integers(0, 12), st.integers(0, 3)), max_size=10)


@given(trace=TIMES, one=st.integers(0, 6), other=st.integers(0, 6))
def test_of_two_bands_the_lesser_counts_also_for_rows_without_a_partner(trace, one, other):
    for rest in (optionally("y"), optionally("x", "y") | retracting()):
        found = []
        for band in (within(one, "x", "y") | within(other, "x", "y"), within(min(one, other), "x", "y")):
            engine = Engine(pairs(band | rest))
            steps = feed(engine, *((source, n, (at, at)) for n, (source, at, _) in enumerate(trace)))
            found.append([*steps, values(engine.advance(8)), values(engine.close()), engine.done])
        assert found[0] == found[1]


# -------------------------------------------------------------------------------------------- rows without a partner

PARTNER = {"where": lambda x, y: x == y}
TRACE = [(x, 1, 10), (y, 2, 11), (x, 3, 12), (y, 3, 14)]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (("y",), [(1, None)]),
        (("x",), [(None, 2)]),
        (("x", "y"), [(1, None), (None, 2)]),
    ],
)
def test_a_deferred_row_comes_once_when_it_is_final_and_all_are_out_after_close(missing, expected):
    output = pairs(within(3, "x", "y") | optionally(*missing), **PARTNER)
    engine = Engine(output)
    assert feed(engine, *TRACE) == [[], [], [], [(3, 3)]]
    assert values(engine.advance(13)) == []
    final = [values(engine.advance(time)) for time in (14, 15, 16, 20)]
    assert [row for step in final for row in step] == expected
    assert final[0] == expected[:1] if missing != ("x",) else final[1] == expected
    assert engine.close() == []
    assert engine.done
    again = Engine(output)
    feed(again, *TRACE)
    assert values(again.close()) == expected
    assert again.done
    assert again.stats.retained == 0


def test_an_eager_row_comes_at_once_is_taken_back_and_stands_at_the_end():
    engine = Engine(pairs(within(3, "x", "y") | optionally("x", "y") | retracting(), **PARTNER))
    assert feed(engine, *TRACE) == [[(1, None)], [(None, 2)], [(3, None)], [((3, None), -1), (3, 3)]]
    assert engine.close() == []
    assert engine.done


def test_eager_rows_may_be_a_table():
    layers = within(3, "x", "y") | optionally("y") | retracting() | key_by(x="k", y="k") | as_table("x")
    engine = Engine(output := pairs(layers, yields=lambda x, y: (x.n, y and y.n)))
    assert feed(engine, (x, {"k": "a", "n": 1}, 10)) == [[Update("a", (1, None))]]
    assert feed(engine, (y, {"k": "a", "n": 2}, 12)) == [[Update("a", (1, 2))]]
    engine.advance(100)
    assert engine.query(output) == {"a": (1, 2)}  # leaving is expiry: results stand
    assert engine.stats.retained == 0


def test_under_keys_rows_without_a_partner_are_of_each_key():
    layers = key_by(x="k", y="k") | within(3, "x", "y") | optionally("x", "y")
    engine = Engine(pairs(layers, yields=lambda x, y: (x and x.n, y and y.n)))
    trace = [(x, {"k": "a", "n": 1}, 10), (y, {"k": "b", "n": 2}, 10), (x, {"k": None, "n": 3}, 10)]
    assert feed(engine, *trace) == [[], [], [(3, None)]]  # what has no key can have no partner
    assert sorted(values(engine.advance(14)), key=repr) == [(1, None), (None, 2)]
    assert engine.stats.retained == 0


@pytest.mark.parametrize("rest", [optionally("y"), optionally("y") | retracting()], ids=["deferred", "eager"])
def test_an_event_that_is_longer_than_the_band_has_no_partner_but_its_row(rest):
    """A left join has a row for each event of the left; `within` speaks of how far events are from each other."""
    engine = Engine(pairs(within(3, "x", "y") | rest))
    steps = feed(engine, (x, 1, (0, 10)), (y, 2, (2, 3)))
    assert [row for step in steps for row in step] + values(engine.close()) == [(1, None)]


def test_a_row_dropped_for_a_newer_one_is_not_without_a_partner():
    engine = Engine(pairs(within(5, "x", "y") | optionally("y") | most_recently("x")))
    feed(engine, (x, 1, 10), (x, 2, 11))
    assert values(engine.close()) == [(2, None)]


def test_a_condition_on_the_part_that_is_there_must_hold():
    engine = Engine(pairs(within(3, "x", "y") | optionally("y"), where=lambda x, y: (x == y) & (x > 0)))
    feed(engine, (x, 0, 10), (x, 1, 10))
    assert values(engine.close()) == [(1, None)]


def test_a_late_partner_is_set_aside_and_the_row_stands():
    engine = Engine(pairs(within(3, "x", "y") | optionally("y"), **PARTNER))
    feed(engine, (x, 1, 10))
    assert values(engine.advance(14)) == [(1, None)]
    assert engine.push(y, 1, at=13) == []
    assert [(where, reason) for _, where, reason in engine.late] == [("y", "its end 13 is before the clock 14")]


# --------------------------------------------------------------------------------------------------------- failures


def refusing(x, y):
    if "bad" in (x, y):
        raise ValueError("bad")
    return x, y


@pytest.mark.parametrize("work", [lambda engine: engine.advance(20), lambda engine: engine.close()], ids="ac")
def test_a_failure_at_a_deadline_leaves_everything_as_it_was(work):
    engine = Engine(pairs(within(3, "x", "y") | optionally("x", "y"), yields=refusing, where=PARTNER["where"]))
    feed(engine, (x, "good", 10), (x, "bad", 11), (y, "other", 12))
    before = engine.snapshot()
    for _ in range(2):
        with pytest.raises(ValueError, match="bad") as error:
            work(engine)
        assert any("a deadline of within(3, 'x', 'y') was due, at 14" in note for note in error.value.__notes__)
        assert engine.snapshot() == before
        assert engine.next_deadline == 14
        assert not engine.done
        engine._check_invariants()
    assert values(engine.advance(14)) == [("good", None)]
    assert engine.push(y, "late", at=14) == []


def push(one, engine):
    return engine.push(one[0], one[1], at=one[2])


@pytest.mark.parametrize("cut", range(6))
def test_a_snapshot_in_the_middle_goes_on_the_same(cut):
    output = pairs(within(3, "x", "y") | optionally("x", "y"), **PARTNER)
    engine = Engine(output)
    steps: list[Any] = [*(partial(push, one) for one in TRACE)]
    steps += [lambda e: e.advance(14), lambda e: e.push(x, 9, at=15), lambda e: e.close()]
    plain = [values(step(engine)) for step in steps]
    again, found = Engine(output), []
    for place, step in enumerate(steps):
        if place == cut:
            again = Engine.restore(again.snapshot(), output)
        found.append(values(step(again)))
    assert found == plain
    assert again.snapshot() == engine.snapshot()


# -------------------------------------------------------------------------------------------------------- completion


def test_it_completes_when_a_side_has_ended_and_nothing_of_it_is_left():
    engine = Engine(pairs(within(3, "x", "y")))
    feed(engine, (x, 1, 10))
    engine.end(x)
    assert not engine.done
    assert feed(engine, (y, 2, 13)) == [[(1, 2)]]
    engine.advance(13)
    assert not engine.done
    engine.advance(14)
    assert engine.done


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize(
    "band", [within(3, "x", "y"), within(3, "x", "y") | retracting(), lasting("x", 3), apart("x", "y", 0, 3)]
)
def test_it_completes_when_all_inputs_have_ended_though_entries_are_left_to_be_forgotten(band, tier):
    engine = Engine(pairs(band), tier=tier)
    feed(engine, (x, 1, 10), (y, 2, 10))
    engine.end(x)
    assert not engine.done
    engine.end(y)
    assert engine.done
    engine.advance(20)
    assert engine.stats.retained <= 1  # `lasting` is of one slot: the other is kept


def test_what_waits_for_its_end_need_not_wait_for_the_clock():
    engine = Engine(fork_join(pairs(within(3, "x", "y"))))
    feed(engine, (x, 1, 10), (y, 2, 10))
    assert engine.end(x) == []
    assert values(engine.end(y)) == [((1, 2),)]


def test_it_does_not_complete_while_a_row_without_a_partner_may_come():
    engine = Engine(pairs(within(3, "x", "y") | optionally("x"), **PARTNER))
    engine.end(x)
    assert not engine.done
    feed(engine, (y, 2, 13))
    assert values(engine.advance(17)) == [(None, 2)]
    assert not engine.done
    engine.end(y)
    assert engine.done


def test_it_completes_at_once_when_a_side_ends_empty():
    for band in (within(3, "x", "y"), within(3, "x", "y") | only("x", lambda v: v > 0)):
        engine = Engine(pairs(band))
        engine.end(x)
        assert engine.done


def test_it_completes_though_the_last_row_comes_after_both_have_ended():
    engine = Engine(pairs(within(3, "x", "y") | optionally("x", "y"), **PARTNER))
    feed(engine, (x, 1, 10))
    engine.end(x)
    engine.end(y)
    assert not engine.done
    assert values(engine.advance(14)) == [(1, None)]
    assert engine.done


def test_explain_says_what_bounds_memory():
    text = Engine(pairs(within(3, "x", "y"))).explain()
    assert text.count("memory O(window), by within(3, 'x', 'y')") == 2
    text = Engine(cartesian(x, y, z, restrict=within(3, "x", "y"))).explain()
    assert text.count("memory unbounded") == 3
