"""`without`: what did not come, after, before and between, decided by the clock (SEMANTICS 3.3, 3.10, 1.5, 1.12)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cartesius import Engine, Reactive, Restriction, Slot, arrive, correlate, handles, notify_at, run, state, tick
from cartesius.errors import InvalidArgument, SnapshotMismatch
from restrictions import (
    affinely,
    as_table,
    cumulative,
    earliest,
    first_match,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    separately,
    take,
    tumbling,
    versioned,
    within,
    without,
)
from restrictions.streams import merge
from restrictions.windows import on_close


def drive(engine: Engine, *steps: Any) -> list[Any]:
    """Push (reactive, value, at), or advance to a time; return the values that come, by step."""
    out = []
    for step in steps:
        events = engine.advance(step) if isinstance(step, int) else engine.push(step[0], step[1], at=step[2])
        out.append([event.value for event in events])
    return out


def single(**how: Any) -> tuple[Reactive, Reactive, Reactive]:
    """An `a` without a `c`, which is no variable."""
    a, c = Reactive("a"), Reactive("c")
    return a, c, correlate(a=a, yields=lambda a: a, restrict=without(c, **how), name="out")


def pairs(restrict: Restriction | Any, **options: Any) -> tuple[Reactive, Reactive, Reactive, Reactive]:
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    output = correlate(a=a, b=b, c=c, yields=lambda a, b: (a, b), restrict=restrict, name="out", **options)
    return a, b, c, output


# -------------------------------------------------------------------------------------------------------- by example


def test_a_then_b_with_no_c_between():
    """Feature table 2 of the paper, non-occurrence."""
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    output = correlate(
        a=a,
        b=b,
        c=c,
        where=lambda time_a, time_b: time_a.end < time_b.start,
        yields=lambda a, b, c: (a, b, c),
        restrict=without("c", between=("a", "b")),
    )
    engine = Engine(output)
    assert drive(engine, (a, "a1", 1), (c, "c", 3), (a, "a2", 4), (b, "b", 6), 6) == [[], [], [], [], []]
    assert engine.next_deadline == 7
    (event,) = engine.advance(7)
    assert (event.value, event.start, event.end) == (("a2", "b", None), 4, 6)


def test_an_order_without_a_payment_within_30_minutes():
    order, payment = Reactive("order"), Reactive("payment")
    unpaid = correlate(
        order=order,
        payment=payment,
        where=lambda order, payment: (payment.order == order.id) & (payment.amount >= order.price),
        yields=lambda order: order.id,
        restrict=without("payment", after="order", within=timedelta(minutes=30)),
    )
    engine = Engine(unpaid, unit=timedelta(minutes=1))
    drive(engine, *[(order, {"id": number, "price": 9}, number - 1) for number in (1, 2, 3)])
    paid = [{"order": 1, "amount": 9}, {"order": 2, "amount": 5}, {"order": 3, "amount": 9}]
    assert drive(engine, (payment, paid[0], 30), (payment, paid[1], 31), (payment, paid[2], 33)) == [[], [], []]
    assert engine.next_deadline == 31
    assert drive(engine, 31, 32, 33) == [[], [2], [3]]
    assert engine.stats.retained == 3  # the payments, until their 30 minutes are over
    assert drive(engine, 64) == [[]]
    assert engine.stats.retained == 0


def test_a_start_without_a_warning_in_the_hour_before():
    start, warning = Reactive("start"), Reactive("warning")
    unwarned = correlate(
        start=start,
        yields=lambda start: start.ship,
        restrict=key_by(start="ship", warning="ship") | without(warning, before="start", within=60),
    )
    engine = Engine(unwarned)
    drive(engine, (warning, {"ship": "EVA"}, 10), (warning, {"ship": "BO"}, 9))
    drive(engine, *[(start, {"ship": ship}, 70) for ship in ("EVA", "BO", "ORCA")], (warning, {"ship": "ORCA"}, 70))
    assert engine.advance(69) == []
    assert sorted(drive(engine, 70)[0]) == ["BO", "ORCA"]


def test_a_reply_or_a_timeout_whichever_is_first():
    """A timeout as JoCaml's join patterns have it: either the reply, or its absence, never both."""
    request, reply = Reactive("request"), Reactive("reply")
    answered = correlate(
        request=request,
        reply=reply,
        where=lambda request, reply: reply.to == request.id,
        yields=lambda request, reply: (request.id, reply.text),
        restrict=within(10, "request", "reply"),
    )
    timeout = correlate(
        request=request,
        reply=reply,
        where=lambda request, reply: reply.to == request.id,
        yields=lambda request: (request.id, "timeout"),
        restrict=without("reply", after="request", within=10),
    )
    engine = Engine(merge(answered, timeout))
    trace = [(request, {"id": 1}, 0), (request, {"id": 2}, 5), (reply, {"to": 1, "text": "yes"}, 10)]
    assert drive(engine, *trace) == [[], [], [(1, "yes")]]
    assert drive(engine, 11, (reply, {"to": 2, "text": "late"}, 16), 100) == [[], [], [(2, "timeout")]]


def test_a_reading_with_no_second_one_soon_after():
    """A reactive that only the anchor is bound to means another event of it."""
    a = Reactive("a")
    last = correlate(x=a, yields=lambda x: x, restrict=without(a, after="x", within=3))
    assert [event.value for event in run(last, [(a, 1, 1), (a, 2, 3), (a, 3, 7), (a, 4, 8)], close=True)] == [2, 4]


# ------------------------------------------------------------------------------------------------------------ bounds


@pytest.mark.parametrize(("end", "forbids"), [(9, False), (10, False), (11, True), (15, True), (16, False)])
def test_after_means_after_the_end_up_to_the_duration(end, forbids):
    a, c, output = single(after="a", within=5)
    engine = Engine(output)
    drive(engine, (c, "c", (min(end, 8), end)), (a, "a", (9, 10)))
    assert drive(engine, 15, 16) == [[], [] if forbids else ["a"]]


@pytest.mark.parametrize(("end", "forbids"), [(4, False), (5, True), (9, True), (10, False), (11, False)])
def test_before_means_from_the_duration_before_the_start_up_to_it(end, forbids):
    a, c, output = single(before="a", within=5)
    engine = Engine(output)
    drive(engine, (a, "a", (10, 12)), (c, "c", (1, end)))
    assert drive(engine, 9, 10) == [[], [] if forbids else ["a"]]


@pytest.mark.parametrize(
    ("span", "forbids"),
    [((3, 5), True), ((2, 5), False), ((3, 6), False), ((4, 4), True), ((2, 2), False), ((6, 6), False)],
)
def test_between_means_strictly(span, forbids):
    a, b, c, output = pairs(without("c", between=("a", "b")))
    engine = Engine(output)
    drive(engine, (a, "a", (1, 2)), (c, "c", span), (b, "b", (6, 8)))
    assert drive(engine, 8, 9) == [[], [] if forbids else [("a", "b")]]


@pytest.mark.parametrize("tier", [None, "in_place", "reference"])
@pytest.mark.parametrize(
    ("how", "first", "forbids"),
    [
        ({"after": "a", "within": 0}, "c", False),
        ({"after": "a", "within": 0}, "a", True),
        ({"before": "a", "within": 0}, "c", True),
        ({"before": "a", "within": 0}, "a", False),
    ],
)
def test_of_one_time_what_was_used_after_or_before_the_part_forbids(how, first, forbids, tier):
    a, c, output = single(**how)
    engine = Engine(output, tier=tier)
    ordered = [(a, "a", 4), (c, "c", 4)]
    found = drive(engine, *(ordered if first == "a" else reversed(ordered)), 5, 9)
    assert [value for values in found for value in values] == ([] if forbids else ["a"])


def test_of_one_reactive_a_second_event_of_one_time_forbids_and_the_event_itself_does_not():
    a = Reactive("a")
    output = correlate(a=a, yields=lambda a: a, restrict=without(a, after="a", within=5))
    assert [event.value for event in run(output, [(a, 1, 4), (a, 2, 4)], close=True)] == [2]


def test_what_comes_when_it_is_decided_already_comes_at_once():
    a, b, c, output = pairs(without("c", after="a", within=5))
    engine = Engine(output)
    assert drive(engine, (a, 1, 0), (c, "c", 4), (a, 2, 4), 20) == [[], [], [], []]
    assert drive(engine, (b, "b", 20)) == [[(2, "b")]]
    assert engine.next_deadline is None


def test_an_event_is_remembered_as_long_as_a_part_may_need_it():
    a, b, c, output = pairs(most_recently("a") | without("c", after="a", within=5))
    engine = Engine(output)
    drive(engine, (a, 1, 0), (c, "c", 5), 100)
    assert engine.stats.slots["out", "c"] == (1, 0)
    assert drive(engine, (b, "b1", 100)) == [[]]
    assert drive(engine, (a, 2, 101)) == [[]]
    assert engine.stats.slots["out", "c"] == (0, 0)
    assert drive(engine, 107, (b, "b2", 107)) == [[(2, "b1")], [(2, "b2")]]


def test_closing_decides_everything():
    a, c, output = single(after="a", within=5)
    engine = Engine(output)
    drive(engine, (a, 1, 1), (a, 2, 8), (c, "c", 6))
    assert [event.value for event in engine.close()] == [2]
    assert engine.done


def test_it_is_complete_when_all_parts_have_ended_and_no_row_waits():
    a, _, output = single(after="a", within=5)
    engine = Engine(output)
    drive(engine, (a, 1, 1))
    engine.end(a)
    assert not engine.done
    assert drive(engine, 7) == [[1]]
    assert engine.done


# ----------------------------------------------------------------------------------------------- which events count


def test_in_direct_style_every_event_counts_and_the_body_gets_none():
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")

    @correlate(a=a, b=b, c=c, restrict=without("c", between=("a", "b")))
    def found(a, b, c, *, time_a, time_b, time_c):
        if time_a.end < time_b.start:
            yield a, b, c, time_c

    assert [e.value for e in run(found, [(a, 1, 1), (c, 0, 2), (a, 2, 3), (b, 3, 4)], close=True)] == [
        (2, 3, None, None)
    ]


def test_a_where_that_does_not_trace_may_not_mention_what_is_absent():
    a, c = Reactive("a"), Reactive("c")
    absent = without("c", after="a", within=5)
    with pytest.raises(InvalidArgument) as refused:
        correlate(a=a, c=c, where=lambda a, c: a in c, yields=lambda a: a, restrict=absent)
    assert str(refused.value).startswith(
        "correlate: expected a where that traces, as 'c' is absent from every row and its conditions say which of its"
        " events count, but where runs as written: line "
    )
    few = correlate(a=a, c=c, where=lambda a: a in (1, 2), yields=lambda a: a, restrict=absent)
    assert [event.value for event in run(few, [(a, 1, 1), (a, 3, 2), (a, 2, 9), (c, 0, 3)], close=True)] == [2]


def test_conditions_on_it_alone_say_what_counts_too():
    a, c = Reactive("a"), Reactive("c")
    output = correlate(
        a=a, c=c, where=lambda a, c: c > 5, yields=lambda a: a, restrict=without("c", after="a", within=5)
    )
    assert [event.value for event in run(output, [(a, 1, 1), (c, 3, 2), (a, 2, 7), (c, 6, 8)], close=True)] == [1]


def test_a_gate_says_what_counts():
    a, c = Reactive("a"), Reactive("c")
    restrict = without(c, after="a", within=5) | only("c", lambda value: value > 5)
    output = correlate(a=a, yields=lambda a: a, restrict=restrict)
    assert [event.value for event in run(output, [(a, 1, 1), (c, 3, 2), (a, 2, 7), (c, 6, 8)], close=True)] == [1]


def test_left_of_a_key_by_what_has_no_key_counts_for_all():
    a, c = Reactive("a"), Reactive("c")
    output = correlate(a=a, yields=lambda a: a.k, restrict=without(c, after="a", within=5) | key_by(a="k"))
    trace = [(a, {"k": 1}, 1), (a, {"k": 2}, 2), (c, "c", 7)]
    assert [event.value for event in run(output, trace, close=True)] == [1]


def test_a_null_key_matches_nothing():
    a, c = Reactive("a"), Reactive("c")
    output = correlate(a=a, yields=lambda a: a.k, restrict=key_by(a="k", c="k") | without(c, after="a", within=5))
    trace = [(a, {"k": None}, 1), (c, {"k": None}, 2)]
    assert [event.value for event in run(output, trace, close=True)] == [None]


def test_a_late_event_forbids_nothing():
    a, c, output = single(after="a", within=5)
    engine = Engine(output)
    assert drive(engine, (a, 1, 1), 5, (c, "late", 4), 7) == [[], [], [], [1]]
    assert [(event.value, slot) for event, slot, _ in engine.late] == [("late", "c")]


def test_an_event_that_is_taken_back_in_time_forbids_nothing():
    a, c = Reactive("a"), Reactive("c")
    latest = correlate(x=c, yields=lambda x: x, restrict=most_recently("x") | retracting(), name="latest")
    output = correlate(a=a, yields=lambda a: a, restrict=without(latest, after="a", within=5))
    engine = Engine(output)
    assert drive(engine, (a, 1, 1), (c, "c", 3), (c, "d", 8), 9) == [[], [], [], [1]]


@pytest.mark.parametrize("is_restored", [False, True])
@pytest.mark.parametrize("restrict", [momentarily("y"), most_recently("y")], ids=repr)
def test_a_row_that_waits_does_not_come_if_a_part_is_taken_back_by_its_source(restrict, is_restored):
    a, c = Reactive("a"), Reactive("c")
    latest = correlate(x=a, yields=lambda x: x, restrict=most_recently("x") | retracting(), name="latest")
    output = correlate(y=latest, yields=lambda y: y, restrict=restrict | without(c, after="y", within=5), name="out")
    engine = Engine(output)
    drive(engine, (a, 1, 1), (a, 2, 3))
    if is_restored:
        engine = Engine.restore(engine.snapshot(), output)
    assert drive(engine, 7, (a, 3, 8), 9, 14) == [[], [], [], [3]]


# ------------------------------------------------------------------------------------------------------- composition


def test_a_row_must_pass_all_of_several():
    a, c, d = Reactive("a"), Reactive("c"), Reactive("d")
    restrict = without(c, after="a", within=5) | without(d, after="a", within=9) | without(c, before="a", within=3)
    output = correlate(a=a, yields=lambda a: a, restrict=restrict)
    engine = Engine(output)
    drive(engine, (a, 1, 10), (a, 2, 30), (a, 3, 50), (a, 4, 70))
    drive(engine, (c, "c", 15), (d, "d", 39), (c, "c", 47), (c, "c", 76), (d, "d", 80))
    assert drive(engine, 79, 80) == [[], [4]]
    assert drive(engine, 200) == [[]]
    assert (engine.stats.retained, engine.stats.waiting) == (0, 0)


@pytest.mark.parametrize("is_left", [True, False])
def test_uses_are_spent_by_the_row_that_is_decided_first(is_left):
    absent, once = without("c", between=("a", "b")), affinely("a", "b")
    a, b, _, output = pairs(once | absent if is_left else absent | once)
    engine = Engine(output)
    drive(engine, (a, "a1", 1), (a, "a2", 2), (b, "b1", 9), (b, "b2", 5), (b, "b3", 11))
    assert engine.stats.retained == 5
    assert drive(engine, 6, 10, 12) == [[("a2", "b2")], [("a1", "b1")], []]


@pytest.mark.parametrize("is_left", [True, False])
def test_a_row_that_is_forbidden_spends_nothing(is_left):
    absent, once = without("c", between=("a", "b")), affinely("a", "b")
    a, b, c, output = pairs(once | absent if is_left else absent | once)
    engine = Engine(output)
    drive(engine, (a, "a1", 1), (c, "c", 3), (b, "b1", 5), (a, "a2", 4))
    assert drive(engine, 6, (b, "b2", 7), 8) == [[("a2", "b1")], [], []]
    assert [engine.stats.slots["out", slot][0] for slot in "ab"] == [1, 1]


def test_a_selector_to_the_left_chooses_among_what_is_decided():
    a, c = Reactive("a"), Reactive("c")
    trace = [(a, 1, 1), (c, "c", 2), (a, 2, 5), (a, 3, 6)]
    one = correlate(a=a, yields=lambda a: a, restrict=take(1) | without(c, after="a", within=2))
    assert [event.value for event in run(one, trace, close=True)] == [2]
    asked = correlate(a=a, yields=lambda a: a, restrict=without(c, after="a", within=2) | take(1))
    assert [event.value for event in run(asked, trace, close=True)] == []


def test_a_selector_to_the_right_that_completes_waits_for_what_is_not_decided():
    a, c = Reactive("a"), Reactive("c")
    output = correlate(a=a, yields=lambda a: a, restrict=without(c, after="a", within=2) | take(1))
    engine = Engine(output)
    assert drive(engine, (a, 1, 1), (a, 2, 2)) == [[], []]
    assert not engine.done
    assert drive(engine, 4) == [[1]]
    assert engine.done


def test_of_the_rows_decided_at_one_time_a_selector_to_the_left_takes_one():
    a, c = Reactive("a"), Reactive("c")
    output = correlate(a=a, yields=lambda a: a, restrict=first_match() | without(c, after="a", within=2))
    assert [event.value for event in run(output, [(a, 1, 1), (a, 2, 1), (a, 3, 2)], close=True)] == [2, 3]


def test_rows_that_wait_come_though_their_parts_have_left_memory():
    a, b, c, output = pairs(within(3, "a", "b") | without("c", after="a", within=20))
    engine = Engine(output)
    drive(engine, (a, 1, 1), (b, 2, 2), 10)
    assert (engine.stats.retained, engine.stats.waiting) == (0, 2)
    assert [e.value for e in Engine.restore(engine.snapshot(), output).advance(22)] == [(1, 2)]
    assert drive(engine, (c, "c", 21), 100) == [[], []]
    assert (engine.stats.retained, engine.stats.waiting) == (0, 0)


@pytest.mark.parametrize("leaving", [most_recently("a"), momentarily("a"), earliest("a")], ids=repr)
def test_rows_of_what_is_replaced_come_as_facts_do(leaving):
    a, c = Reactive("a"), Reactive("c")
    output = correlate(a=a, yields=lambda a: a, restrict=leaving | without(c, after="a", within=5))
    expected = [1] if isinstance(leaving, earliest) else [1, 2]
    assert [event.value for event in run(output, [(a, 1, 1), (a, 2, 2)], close=True)] == expected


def test_within_bounds_what_between_keeps():
    a, b, c, output = pairs(within(10, "a", "b") | without("c", between=("a", "b")))
    engine = Engine(output)
    drive(engine, (a, 1, 1), (c, "c", 3), (b, 2, 5), (c, "d", 6), 9)
    assert engine.stats.retained == 4
    drive(engine, 12)
    assert [engine.stats.slots["out", slot][0] for slot in "abc"] == [0, 1, 0]
    drive(engine, 16)
    assert engine.stats.retained == 0


def test_separate_events_can_be_without_another():
    a, c = Reactive("a"), Reactive("c")
    output = correlate(a=a, yields=lambda a: a, restrict=separately() | without(c, after="a", within=3))
    assert [event.value for event in run(output, [(a, 1, 1), (c, "c", 2), (a, 2, 5)], close=True)] == [2]


def test_rows_may_become_rows_of_a_table():
    a, c = Reactive("a"), Reactive("c")
    restrict = key_by(a="k", c="k") | without(c, after="a", within=3) | as_table("a")
    output = correlate(a=a, yields=lambda a: a.n, restrict=restrict)
    engine = Engine(output)
    drive(engine, (a, {"k": 1, "n": 1}, 1), (a, {"k": 2, "n": 2}, 1), (c, {"k": 1}, 2))
    (change,) = engine.advance(5)
    assert (change.start, change.end) == (1, 5)
    assert engine.query(output) == {2: 2}


def test_one_absence_may_follow_another():
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    first = correlate(a=a, yields=lambda a: a, restrict=without(b, after="a", within=10), name="first")
    second = correlate(x=first, yields=lambda x: x, restrict=without(c, after="x", within=15), name="second")
    engine = Engine(second)
    drive(engine, (a, 1, 0), (c, "c", 7), (a, 2, 8))
    assert drive(engine, 24) == [[2]]
    assert engine.late == []


# -------------------------------------------------------------------------------------- what comes too late to decide


def test_an_interval_that_began_before_what_is_forgotten_is_set_aside():
    a, c, output = single(before="a", within=3)
    engine = Engine(output)
    drive(engine, (c, "c", 1), 6)
    assert engine.stats.retained == 0
    assert drive(engine, (a, "early", (4, 8)), (a, "known", (5, 8))) == [[], ["known"]]
    assert [(event.value, slot, reason) for event, slot, reason in engine.late] == [
        ("early", "a", "events of 'c' that end at 1 or later may decide about it, but they are forgotten up to 1")
    ]


def test_what_must_not_come_is_kept_for_what_a_correlation_that_waits_gives_later():
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    first = correlate(a=a, yields=lambda a: a, restrict=without(b, after="a", within=10), name="first")
    second = correlate(x=first, yields=lambda x: x, restrict=without(c, after="x", within=5), name="second")
    engine = Engine(second)
    assert drive(engine, (a, 1, 0), (a, 2, 1), (c, "c", 6), 20) == [[], [], [], [1]]
    assert (engine.late, engine.stats.retained) == ([], 0)


class delaying(Restriction):
    """Let an event through so many units after its end."""

    slot: Slot
    units: int
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.held = (*self.held, event)
        notify_at(event.end + self.units)

    @handles(tick)
    def let_through(self, now):
        due = [event for event in self.held if event.end + self.units < now]
        self.held = tuple(event for event in self.held if event not in due)
        for event in due:
            arrive(self.slot, event)


def test_what_a_gate_holds_is_not_forgotten():
    a, c = Reactive("a"), Reactive("c")
    restrict = delaying("a", 10) | without(c, after="a", within=3)
    output = correlate(a=a, yields=lambda a: a, restrict=restrict, name="out")
    engine = Engine(output)
    assert drive(engine, (a, 1, 1), (c, "c", 3), (a, 2, 4), 9) == [[], [], [], []]
    assert engine.stats.slots["out", "c"] == (1, 0)
    assert drive(engine, 20) == [[2]]
    assert engine.stats.retained == 0


@pytest.mark.parametrize("is_derived", [False, True])
def test_what_comes_by_the_clock_at_the_same_time_is_heard_first(is_derived):
    """What is decided at a time is so once the clock is past it, and with it all that the clock lets come till then."""
    a, c = Reactive("a"), Reactive("c")
    if is_derived:
        held: Any = correlate(x=c, yields=lambda x: x, restrict=momentarily("x") | delaying("x", 0))
        output = correlate(a=a, yields=lambda a: a, restrict=without(held, after="a", within=3))
    else:
        restrict = delaying("c", 0) | without(c, after="a", within=3)
        output = correlate(a=a, yields=lambda a: a, restrict=restrict)
    engine = Engine(output)
    drive(engine, (a, 1, 1), (a, 2, 2), (c, "c", 4))
    engine = Engine.restore(engine.snapshot(), output)
    assert drive(engine, 5, (c, "c", 5), 6) == [[], [], []]
    assert drive(engine, (a, 3, 6), (c, "c", 10), 20) == [[], [], [3]]


def test_an_absence_that_another_one_depends_on_is_decided_first():
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    calm = correlate(p=b, q=b, yields=lambda p, q: q, restrict=without(c, between=("p", "q")) | take(1), name="calm")
    output = correlate(x=a, yields=lambda x: x, restrict=without(calm, after="x", within=4), name="output")
    engine = Engine(output)
    assert drive(engine, (a, 1, 1), (b, 2, 5), 6, 100) == [[], [], [], []]
    assert engine.late == []


# ------------------------------------------------------------------------------------------- failure, state, reading


def test_a_failure_at_the_deadline_changes_nothing():
    a, c, output = single(after="a", within=5)
    is_broken = [True]

    def body(x):
        if is_broken:
            raise RuntimeError("broken")
        return x

    after = correlate(x=output, yields=body)
    engine = Engine(after)
    drive(engine, (a, 1, 1), (a, 2, 1), (c, "c", 9))
    before = engine.stats, engine.next_deadline, engine.clock
    with pytest.raises(RuntimeError, match="broken"):
        engine.advance(20)
    assert (engine.stats, engine.next_deadline, engine.clock) == before
    is_broken.clear()
    assert drive(engine, 20) == [[1, 2]]
    assert engine.stats.slots["out", "c"] == (0, 0)


def test_a_body_is_asked_again_at_the_deadline_and_a_failure_changes_nothing():
    a, c = Reactive("a"), Reactive("c")
    fails = []

    @correlate(a=a, restrict=without(c, after="a", within=5), name="out")
    def output(a):
        if fails:
            raise RuntimeError("broken")
        yield a
        yield -a

    engine = Engine(output)
    drive(engine, (a, 1, 1))
    fails.append(True)
    with pytest.raises(RuntimeError, match="broken"):
        engine.advance(20)
    fails.clear()
    assert (engine.stats.waiting, engine.next_deadline) == (1, 7)
    assert drive(engine, 20) == [[1, -1]]


def test_of_several_values_of_a_row_a_selector_to_the_right_may_let_some_through():
    a, c = Reactive("a"), Reactive("c")

    @correlate(a=a, restrict=without(c, after="a", within=5) | take(3), name="out")
    def output(a):
        yield a
        yield -a

    engine = Engine(output)
    drive(engine, (a, 1, 1))
    assert drive(engine, 20) == [[1, -1]]


def test_a_snapshot_belongs_to_what_is_absent_too():
    a, c, d = Reactive("a"), Reactive("c"), Reactive("d")

    def without_one(reactive):
        return correlate(a=a, yields=lambda a: a, restrict=without(reactive, after="a", within=5), name="out")

    blob = Engine(without_one(c)).snapshot()
    assert Engine.restore(blob, without_one(c)).stats.retained == 0
    with pytest.raises(SnapshotMismatch):
        Engine.restore(blob, without_one(d))


def test_it_explains_what_bounds_its_memory():
    *_, output = single(after="a", within=5)
    text = Engine(output).explain()
    assert "slot a         a: memory O(window), by without(c, after='a', within=5)" in text
    assert "slot c         c: no part, memory O(window), by without(c, after='a', within=5)" in text
    assert "order         arrival order, relied on by without(c, after='a', within=5)" in text
    *_, output = pairs(without("c", between=("a", "b")))
    shown = Engine(output).explain()
    assert "slot c         c: no part, memory unbounded, as long as an event of a that may need it" in shown
    *_, output = pairs(most_recently("a") | without("c", between=("a", "b")))
    assert (
        "slot c         c: no part, memory O(window), by without('c', between=('a', 'b'))" in Engine(output).explain()
    )


def test_it_says_what_made_a_row():
    a, _, output = single(after="a", within=5)
    engine = Engine(output, trace=True)
    engine.push(a, "A", at=1)
    (event,) = engine.advance(9)
    assert "a = a 'A' @ 1" in engine.why(event)


# ------------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("restrict", "message"),
    [
        (
            lambda: without("z", between="xy"),  # type: ignore[arg-type]  # wrong on purpose
            "without: expected two slots but got between='xy'; write between=('a', 'b')",
        ),
        (
            lambda: without("z", after="x", within=2.5),  # type: ignore[arg-type]  # wrong on purpose
            "without: expected a duration, an int of time units or a timedelta, but got within=2.5 (type=float)",
        ),
        (
            lambda: without(3, after="x", within=2),  # type: ignore[arg-type]  # wrong on purpose
            "without: expected a slot, by variable name or reactive, but got c=3 (type=int)",
        ),
    ],
)
def test_wrong_arguments_are_refused(restrict, message):
    with pytest.raises(InvalidArgument) as refused:
        restrict()
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("restrict", "message"),
    [
        (
            without("a", after="a", within=3),
            "without('a', after='a', within=3): expected another slot than 'a', which cannot be absent from a row that"
            " it is in; give the reactive itself, to forbid a second event of it",
        ),
        (
            without("c", after="a", within=3) | without("b", after="c", within=3),
            "without('b', after='c', within=3): expected a slot that has a part in each row but 'c' is absent itself,"
            " by another restriction; name one that is there",
        ),
        (
            without(Reactive("t", table=True), after="a", within=3),
            "without(t, after='a', within=3): expected streams but 't' is bound to a table, 't', whose rows replace"
            " each other; restrict the stream that the table is made from",
        ),
        (
            without("c", after="a", within=3) | versioned("b", retention=3),
            "without('c', after='a', within=3): expected memory in order of arrival but versioned('b', retention=3)"
            " keeps versions, which may still change when the clock has decided; leave one out",
        ),
        (
            key_by(a="k") | without("c", after="a", within=3),
            "without('c', after='a', within=3): expected slots keyed in the same key_by to its left, as it has one copy"
            " a key, but they are keyed differently; write it left of the key_by, or key all its slots in one key_by",
        ),
    ],
)
def test_what_does_not_fit_is_refused_when_the_correlation_is_written(restrict, message):
    with pytest.raises(InvalidArgument) as refused:
        pairs(restrict)
    assert str(refused.value) == message


@pytest.mark.parametrize("other", [retracting(), optionally("b") | within(3, "a", "b")], ids=repr)
def test_beside_what_takes_results_back_it_is_refused_with_the_reason(other):
    with pytest.raises(InvalidArgument, match="exact only if every match became a result"):
        pairs(without("c", after="a", within=3) | other)


def test_a_condition_on_two_absent_slots_is_refused():
    absent = without("b", after="a", within=3) | without("c", after="a", within=3)
    with pytest.raises(InvalidArgument) as refused:
        pairs(absent, where=lambda b, c: b.id == c.id)
    assert str(refused.value) == (
        "correlate: expected conditions on one slot that is absent but got (b.id == c.id), which mentions b and c;"
        " write one condition for each"
    )


def test_what_a_window_has_held_back_is_decided_as_soon_as_the_clock_is_past_it_beside_a_gate_too() -> None:
    """Until all that a window held is there the clock decides nothing; in the very next step it does again."""
    a, b, c = Reactive("a"), Reactive("b"), Reactive("c")
    absent = without("c", after="a", within=3)
    stack = tumbling(3, lateness=3, report=on_close) | absent | cumulative("a", "b")
    output = correlate(a=a, b=b, c=c, yields=lambda a, b: (a, b), restrict=stack, name="out")
    for tier in ("reference", "in_place"):
        engine = Engine(output, tier=tier)
        assert drive(engine, (a, 1, 0), (a, 2, 0), (b, 3, 1), 3, 4) == [[], [], [], [], [([1, 2], 3)]]
