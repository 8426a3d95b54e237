"""Retractions, tables, results and ends behind a paused door (SEMANTICS 1.8)."""

from __future__ import annotations

from collections import Counter

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Update,
    arrive,
    correlate,
    forward,
    handles,
    notify_at,
    pause,
    play,
    run,
    tick,
)
from cartesius.plan import Node, Opaque
from restrictions import (
    aligning,
    combine_latest,
    key_by,
    momentarily,
    most_recently,
    retracting,
)
from tests.unit.cartesius.pause_examples import barrier, dam, each_alone, met, values, weighted

# --------------------------------------------------------------------------------------------- retraction, and tables


def test_a_retraction_of_a_queued_event_removes_it(a, go):
    newest = correlate(x=a, yields=lambda x: x, restrict=most_recently("x") | retracting(), name="newest")
    engine = Engine(met(newest, go, barrier("x", signal="go")))
    engine.push(a, 1)
    assert engine.stats.waiting == 1
    engine.push(a, 2)
    assert engine.stats.waiting == 1
    engine.push(a, 3)
    assert values(engine.push(go, "g1")) == [(3, "g1")]
    assert values(engine.push(go, "g2")) == []


def test_a_retraction_is_not_held_back(a, go):
    newest = correlate(x=a, yields=lambda x: x, restrict=most_recently("x") | retracting(), name="newest")
    output = correlate(
        x=newest, go=go, yields=lambda x: x, restrict=retracting() | most_recently("go") | barrier("x", signal="go")
    )
    engine = Engine(output)
    engine.push(a, 1)
    assert weighted(engine.push(go, "g")) == [(1, 1)]
    assert weighted(engine.push(a, 2)) == [(1, -1)]  # the second waits, that the first has gone does not
    assert weighted(engine.push(go, "h")) == [(2, 1)]


def rows_behind(restrict, go):
    table = Reactive("t", table=True)
    return table, correlate(
        x=table, go=go, yields=lambda x, key_x: (key_x, x.v), restrict=retracting() | restrict, name="out"
    )


def test_changes_of_a_row_keep_their_order_at_a_paused_door(go):
    table, output = rows_behind(most_recently("go") | barrier("x", signal="go"), go)
    engine = Engine(output)
    for change in (Update("r", {"v": 1}), Update("s", {"v": 9}), Update("r", {"v": 2}), Delete("r")):
        assert engine.push(table, change) == []
    assert engine.stats.waiting == 4
    got, standing = [], Counter()
    for number in range(5):
        for value, weight in weighted(engine.push(go, number)):
            standing[value] += weight
        engine = Engine.restore(engine.snapshot(), output)
        assert {key: row.v for key, row in engine.query(table).items()} == {"s": 9}  # as pushed, not as let through
        got.append(sorted(standing.elements()))
    assert got == [[("r", 1)], [("r", 1), ("s", 9)], [("r", 2), ("s", 9)], [("s", 9)], [("s", 9)]]


def test_a_row_that_moves_to_an_open_key_does_not_overtake_itself(go):
    table, output = rows_behind(
        key_by(x="k", go=lambda value: value[0]) | most_recently("go") | dam("x", signal="go"), go
    )
    engine = Engine(output)
    engine.push(go, "q0")  # opens q
    assert engine.push(table, Update("r", {"k": "p", "v": 1})) == []
    assert engine.push(table, Update("r", {"k": "q", "v": 2})) == []  # waits behind the one that p holds back
    assert weighted(engine.push(table, Update("s", {"k": "q", "v": 3}))) == [(("s", 3), 1)]
    assert engine.stats.waiting == 2
    assert weighted(engine.push(go, "p0")) == [(("r", 1), 1), (("r", 1), -1), (("r", 2), 1)]
    assert engine.stats.waiting == 0


def test_deleting_an_absent_row_is_no_change_at_a_keyed_door_either(go):
    """2.1. It has no key, so no signal of a key could let it through, nor what comes after it."""
    table, output = rows_behind(
        key_by(x="k", go=lambda value: value[0]) | most_recently("go") | barrier("x", signal="go"), go
    )
    engine = Engine(output)
    engine.push(table, Delete("r"))
    assert engine.stats.waiting == 0
    engine.push(table, Update("r", {"k": "p", "v": 1}))
    assert weighted(engine.push(go, "p0")) == [(("r", 1), 1)]


def test_a_deletion_waits_under_the_key_of_its_row_also_while_that_is_queued(go):
    """2.1: a `Delete` goes where its row is; 1.8: the door is paused again behind the row."""
    table, output = rows_behind(
        key_by(x="k", go=lambda value: value[0]) | most_recently("go") | barrier("x", signal="go"), go
    )
    engine = Engine(output)
    engine.push(table, Update("r", {"k": "p", "v": 1}))
    engine.push(table, Delete("r"))
    assert weighted(engine.push(go, "p0")) == [(("r", 1), 1)]
    assert engine.stats.waiting == 1
    assert weighted(engine.push(go, "p1")) == [(("r", 1), -1), (("r", 1), 1), (("r", 1), -1)]


# ------------------------------------------------------------------------------------------- nested, ended and closed


def test_what_is_released_runs_through_the_correlations_downstream(a, b, go):
    inner = correlate(
        x=a,
        go=go,
        yields=lambda x: x,
        restrict=momentarily("x") | most_recently("go") | dam("x", signal="go"),
        name="inner",
    )
    engine = Engine(combine_latest(inner, b), inner)
    engine.push(a, 1)
    engine.push(a, 2)
    engine.push(b, "p")
    events = engine.push(go, None)
    assert [(e.reactive, e.value) for e in events] == [
        ("combine_latest(inner, b)", (1, "p")),
        ("inner", 1),
        ("combine_latest(inner, b)", (2, "p")),
        ("inner", 2),
    ]


def test_close_completes_though_events_wait(a, b, go):
    engine = Engine(each_alone(a, b, go, barrier("x", signal="go")))
    engine.push(a, 1)
    assert engine.close() == []
    assert engine.done
    assert engine.stats.waiting == 1


def test_close_lets_through_what_its_deadlines_play(a):
    class spacing(Restriction):
        """One event in ten units."""

        slot: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

        @handles(arrive, "slot")
        def close_behind(self, slot, event):
            pause(slot)
            notify_at(event.end + 10)
            forward(slot, event)

        @handles(tick)
        def open(self, now):
            play(self.slot)

    output = correlate(x=a, yields=lambda x: x, restrict=spacing("x"))
    trace = [(a, 1, 0), (a, 2, 1), (a, 3, 2)]
    assert values(run(output, trace)) == [1]
    assert values(run(output, trace, close=True)) == [1, 2, 3]


def test_events_of_an_ended_input_are_released_when_their_time_comes(a, go):
    engine = Engine(met(a, go, barrier("x", signal="go")))
    engine.push(a, 1)
    engine.push(a, 2)
    engine.end(a)
    assert not engine.done
    assert values(engine.push(go, "g1")) == [(1, "g1")]
    assert values(engine.push(go, "g2")) == [(2, "g2")]
    assert not engine.done
    engine.end(go)
    assert engine.done


def test_a_zip_goes_on_while_an_event_of_an_ended_input_waits_at_the_door(a, b, go):
    output = correlate(
        x=a,
        y=b,
        go=go,
        yields=lambda x, y: (x, y),
        restrict=most_recently("x", "y", "go") | aligning("x", "y") | barrier("x", signal="go"),
    )
    engine = Engine(output)
    engine.push(a, 1)
    engine.end(a)
    assert not engine.done
    assert engine.push(go, "g") == []
    assert not engine.done
    assert values(engine.push(b, "p")) == [(1, "p")]
    assert engine.done
