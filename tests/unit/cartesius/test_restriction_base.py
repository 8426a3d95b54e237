"""Restrictions that users write: those of DESIGN section 3 as printed, and what a small class may rely on."""

from __future__ import annotations

import gc
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import greenlet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Duration,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Slots,
    arrive,
    controls,
    correlate,
    displace,
    forward,
    handles,
    memory,
    notify_at,
    push,
    run,
    select,
    start,
    state,
    tick,
)
from cartesius.errors import InvalidArgument
from restrictions import affinely, aligning, cartesian, key_by, most_recently, retracting

if TYPE_CHECKING:
    from collections.abc import Callable


class debouncing(Restriction):
    """Let an event of `slot` through once `quiet` has passed without another."""

    slot: Slot
    quiet: Duration
    latest = state(None)

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.latest = event
        notify_at(event.end + self.quiet)

    @handles(tick)
    def let_through(self, now):
        if self.latest and self.latest.end + self.quiet < now:
            event, self.latest = self.latest, None
            arrive(self.slot, event)  # on to the next gate


class nearest(Restriction):
    """Of the matches of one push, keep the one whose parts are closest in time."""

    slots: Slots

    @handles(select)
    def closest(self, matches):  # lazy; nothing is spent before it is chosen
        best = min(matches, key=lambda match: match.end - match.start, default=None)
        return forward([best] if best else [])


class top(Restriction):
    """Keep the `n` entries of `slots` that rank highest."""

    slots: Slots
    n: int
    by: Callable

    @handles(push, "slots")
    def rank(self, slot, entry):
        for loser in sorted(memory(slot), key=lambda e: self.by(e.value), reverse=True)[self.n :]:
            displace(slot, loser)
        forward(slot, entry)


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


# --------------------------------------------------------------------------------------------------------- debouncing


def one_way(reactive, restrict):
    return correlate(x=reactive, yields=lambda x: x, restrict=restrict, name="out")


def test_debouncing_lets_the_last_of_a_burst_through_once_the_clock_is_past_the_quiet_time(left):
    engine = Engine(one_way(left, debouncing("x", 5)))
    assert engine.push(left, "a", at=1) == []
    assert engine.push(left, "b", at=3) == []
    assert engine.stats.retained == 0
    assert engine.next_deadline == 7
    assert engine.advance(8) == []  # a's deadline, but b was later
    assert engine.next_deadline == 9
    (event,) = engine.advance(9)
    assert (event.value, event.start, event.end) == ("b", 3, 3)
    assert engine.next_deadline is None
    assert engine.stats.retained == 1


def test_a_deadline_is_due_only_once_the_clock_is_past_it(left):
    engine = Engine(one_way(left, debouncing("x", 5)))
    engine.push(left, "a", at=1)
    assert engine.advance(6) == []
    assert values(engine.advance(7)) == ["a"]


def test_deadlines_that_are_passed_together_are_due_in_their_own_order(left, right):
    output = correlate(
        x=left,
        y=right,
        yields=lambda x, y: (x, y),
        restrict=debouncing("x", 5) | debouncing("y", 1) | most_recently("x"),
    )
    engine = Engine(output)
    engine.push(left, 1, at=1)
    engine.push(right, "a", at=2)
    assert values(engine.advance(100)) == [(1, "a")]
    engine.push(right, "b", at=100)
    engine.push(left, 2, at=100)
    assert values(engine.advance(200)) == [(1, "b"), (2, "b"), (2, "a")]  # b at 102, 2 at 106


def test_the_clock_of_a_lateness_fires_deadlines_before_the_event_is_processed(left, right):
    output = cartesian(left, right, restrict=debouncing("left", 5) | most_recently("left"))
    engine = Engine(output, lateness=0)
    engine.push(left, 1, at=1)
    assert values(engine.push(right, "a", at=6)) == []
    assert values(engine.push(right, "b", at=7)) == [(1, "a"), (1, "b")]


def test_close_lets_through_what_was_held(left):
    engine = Engine(one_way(left, debouncing("x", 5)))
    engine.push(left, "a", at=1)
    assert values(engine.close()) == ["a"]
    assert values(run(one_way(left, debouncing("x", 5)), [(left, "a"), (left, "b")], close=True)) == ["b"]


def test_a_duration_may_be_a_timedelta_in_the_engines_unit(left):
    output = one_way(left, debouncing("x", timedelta(minutes=1)))
    for unit, deadline in ((timedelta(seconds=1), 61), (timedelta(microseconds=1), 60_000_001)):
        engine = Engine(output, unit=unit)
        engine.push(left, "a", at=0)
        assert engine.next_deadline == deadline


def test_a_keyed_restriction_has_one_copy_of_its_fields_a_key(left):
    engine = Engine(one_way(left, key_by(x="k") | debouncing("x", 5)))
    engine.push(left, {"k": 1, "n": 0}, at=1)
    engine.push(left, {"k": 2, "n": 1}, at=3)
    engine.push(left, {"k": 1, "n": 2}, at=4)
    assert [event.value.n for event in engine.advance(9)] == [1]
    assert [event.value.n for event in engine.advance(10)] == [2]


def test_a_restriction_left_of_key_by_is_common_to_all_keys(left):
    engine = Engine(one_way(left, debouncing("x", 5) | key_by(x="k")))
    engine.push(left, {"k": 1, "n": 0}, at=1)
    engine.push(left, {"k": 2, "n": 1}, at=3)
    assert [event.value.n for event in engine.advance(100)] == [1]


BURSTS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 3), st.integers(0, 2)),
        st.tuples(st.just("advance"), st.integers(0, 6)),
    ),
    max_size=15,
)


@given(steps=BURSTS, is_keyed=st.booleans(), is_restored=st.booleans())
def test_debouncing_is_what_a_plain_loop_says(steps, is_keyed, is_restored):
    left = Reactive("left")
    restrict = key_by(x="k") | debouncing("x", 4) if is_keyed else debouncing("x", 4)
    output = one_way(left, restrict)
    engine = Engine(output)
    held, now, clock, number = {}, 0, float("-inf"), 0
    for step in steps:
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
        if step[0] == "push":
            now, number = now + step[1], number + 1
            assert engine.push(left, {"k": step[2], "n": number}, at=now) == []
            held.pop(key := step[2] if is_keyed else None, None)
            held[key] = (now, number)
            continue
        now += step[1]
        clock = max(clock, now)
        due = sorted((at, n, key) for key, (at, n) in held.items() if at + 4 < clock)
        for _, _, key in due:
            del held[key]
        got = [(event.end, event.value.n) for event in engine.advance(now)]
        assert sorted(got) == [(at, n) for at, n, _ in due]
        assert [at for at, _ in got] == sorted(at for at, _ in got)


# ----------------------------------------------------------------------------------------------------- nearest and top


def test_nearest_keeps_the_closest_match_of_a_push(left, right):
    output = cartesian(left, right, restrict=nearest("left", "right"))
    engine = Engine(output)
    for at in (1, 7, 12):
        engine.push(left, at, at=at)
    assert values(engine.push(right, "a", at=9)) == [(7, "a")]
    assert values(engine.push(right, "b", at=100)) == [(12, "b")]
    assert values(engine.push(left, 99, at=99)) == [(99, "b")]


def test_nearest_chooses_among_the_matches_only(left, right):
    output = correlate(
        x=left, y=right, where=lambda x, y: x.k == y.k, yields=lambda x, y: x.n, restrict=nearest("x", "y")
    )
    trace = [(left, {"k": 1, "n": 0}, 1), (left, {"k": 2, "n": 1}, 8), (right, {"k": 1}, 9), (right, {"k": 3}, 9)]
    assert values(run(output, trace)) == [0]


def test_nearest_spends_nothing_before_it_has_chosen(left, right):
    output = cartesian(left, right, restrict=nearest("left", "right") | affinely("left", "right"))
    engine = Engine(output)
    for at in (1, 7, 12):
        engine.push(left, at, at=at)
    assert values(engine.push(right, "a", at=9)) == [(7, "a")]
    assert values(engine.push(right, "b", at=9)) == [(12, "b")]
    assert values(engine.push(right, "c", at=9)) == [(1, "c")]
    assert engine.stats.retained == 0


@given(times=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20)), max_size=12), is_affine=st.booleans())
def test_nearest_is_what_a_plain_loop_says(times, is_affine):
    inputs = [Reactive("left"), Reactive("right")]
    restrict = nearest("left", "right") | affinely("left", "right") if is_affine else nearest("left", "right")
    engine = Engine(cartesian(*inputs, restrict=restrict))
    stored = [[], []]
    for slot, at in times:
        stored[slot].insert(0, at)
        lefts, rights = ([at], stored[1]) if slot == 0 else (stored[0], [at])
        pairs = [(x, y) for x in lefts for y in rights]
        best = min(pairs, key=lambda pair: abs(pair[0] - pair[1]), default=None)
        if best and is_affine:
            stored[0].remove(best[0])
            stored[1].remove(best[1])
        assert values(engine.push(inputs[slot], at, at=at)) == ([best] if best else [])


def test_top_keeps_the_highest_ranked(left, right):
    output = cartesian(left, right, restrict=top("left", n=2, by=lambda value: value))
    trace = [(left, n) for n in (3, 9, 1, 5)]
    assert values(run(output, [*trace, (right, "a")])) == [(5, "a"), (9, "a")]


def test_a_new_event_that_ranks_too_low_is_neither_new_nor_gone(left, right):
    output = cartesian(left, right, restrict=retracting() | top("left", n=1, by=lambda value: value))
    engine = Engine(output)
    engine.push(right, "a")
    assert [(e.value, e.weight) for e in engine.push(left, 5)] == [((5, "a"), 1)]
    assert engine.push(left, 3) == []
    assert [(e.value, e.weight) for e in engine.push(left, 7)] == [((5, "a"), -1), ((7, "a"), 1)]


def test_top_right_of_key_by_ranks_by_key(left, right):
    by_key = key_by(left=lambda value: value % 2) | top("left", n=1, by=lambda value: value)
    trace = [(left, n) for n in (3, 4, 1, 2, 5, 8)]
    assert values(run(cartesian(left, right, restrict=by_key), [*trace, (right, "a")])) == [(8, "a"), (5, "a")]


@given(numbers=st.lists(st.integers(0, 9), max_size=12), n=st.integers(1, 3), is_restored=st.booleans())
def test_top_is_what_sorting_says(numbers, n, is_restored):
    left, right = Reactive("left"), Reactive("right")
    output = cartesian(left, right, restrict=top("left", n=n, by=_itself))
    engine = Engine(output)
    kept = []
    for number in numbers:
        engine.push(left, number)
        kept.insert(0, number)
        for loser in sorted(kept, reverse=True)[n:]:
            kept.remove(loser)
        assert engine.stats.slots[output.name, "left"] == (len(kept), 0)
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
    assert sorted(x for x, _ in values(engine.push(right, "a"))) == sorted(kept)


def _itself(value):
    return value


# -------------------------------------------------------------------------------------------------------- small classes


class every_other(Restriction):
    """Let every second event through, beginning with the one after ``offset``."""

    slots: Slots
    offset: int = 0
    seen = state(0)

    @handles(start)
    def begin(self):
        self.seen = self.offset

    @handles(arrive, "slots")
    def count(self, slot, event):
        self.seen = self.seen + 1
        if self.seen % 2 == 0:
            forward(slot, event)


def test_state_has_one_copy_for_the_restriction_not_for_a_slot(left, right):
    output = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=every_other("x", "y"))
    engine = Engine(output)
    assert engine.push(left, 1) == []
    engine.push(right, "a")  # the second one: stored
    assert engine.stats.retained == 1


def test_start_is_performed_when_a_copy_is_made(left):
    assert values(run(one_way(left, every_other("x", offset=1)), [(left, n) for n in range(5)])) == [0, 2, 4]
    keyed = key_by(x=lambda x: x % 2) | every_other("x", offset=1)
    assert values(run(one_way(left, keyed), [(left, n) for n in range(7)])) == [0, 1, 4, 5]


def test_state_is_in_the_snapshot(left):
    output = one_way(left, every_other("x"))
    engine, got = Engine(output), []
    for n in range(6):
        got += values(engine.push(left, n))
        engine = Engine.restore(engine.snapshot(), output)
    assert got == [1, 3, 5]


def test_state_is_restored_on_failure(left):
    output = correlate(x=left, where=lambda x: 1 // x > 0, yields=lambda x: x, restrict=every_other("x"))
    engine = Engine(output)
    engine.push(left, 7)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            engine.push(left, 0)
    assert values(engine.push(left, 1)) == [1]


def test_two_engines_and_two_correlations_have_states_of_their_own(left):
    shared = every_other("x")
    one = correlate(x=left, yields=lambda x: x, restrict=shared, name="one")
    two = correlate(x=left, yields=lambda x: x, restrict=shared, name="two")
    for engine in (Engine(one, two), Engine(one, two)):
        events = [event for n in range(4) for event in engine.push(left, n)]
        assert [e.value for e in events if e.reactive == "one"] == [1, 3]
        assert [e.value for e in events if e.reactive == "two"] == [1, 3]


def test_gates_compose_right_most_first(left):
    trace = [(left, n) for n in range(8)]
    assert values(run(one_way(left, every_other("x") | every_other("x")), trace)) == [3, 7]


def test_a_gate_that_arrives_again_goes_on_to_the_next_gate_outwards(left):
    class twice(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def again(self, slot, event):
            arrive(slot, event)

    # `arrive` in the clause is the next handler outwards, as `forward` is
    assert values(run(one_way(left, every_other("x") | twice("x")), [(left, n) for n in range(4)])) == [1, 3]


def test_a_gate_may_drop_events(left):
    class only_even(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def accept(self, slot, event):
            if event.value % 2 == 0:
                forward(slot, event)

    engine = Engine(one_way(left, only_even("x")))
    assert values([e for n in range(5) for e in engine.push(left, n)]) == [0, 2, 4]
    assert engine.stats.retained == 3


@pytest.mark.parametrize("name", ["check", "validate", "bound", "clauses", "parts", "returns", "key_space", "is_plain"])
def test_a_clause_may_have_any_name_or_is_refused_when_the_class_is_made(left, name):
    """A method of the user's must not silently replace one of the base's."""

    def accept(self, slot, event):
        if event.value % 2 == 0:
            forward(slot, event)

    try:
        only_even = type(
            "only_even", (Restriction,), {"__annotations__": {"slot": Slot}, name: handles(arrive, "slot")(accept)}
        )
    except InvalidArgument as error:
        assert name in str(error)  # noqa: PT017 - what an error says, if there is one
        return
    assert values(run(one_way(left, only_even("x")), [(left, n) for n in range(5)])) == [0, 2, 4]


def test_memory_in_a_clause_is_newest_first_and_of_the_key_of_the_copy(left):
    seen = []

    class looking(Restriction):
        slots: Slots

        @handles(push, "slots")
        def look(self, slot, entry):
            seen.append([stored.value for stored in memory(slot)])
            forward(slot, entry)

    run(one_way(left, looking("x")), [(left, 1), (left, 2), (left, 3)])
    assert seen == [[1], [2, 1], [3, 2, 1]]
    seen.clear()
    run(one_way(left, key_by(x=lambda x: x % 2) | looking("x")), [(left, 1), (left, 2), (left, 3)])
    assert seen == [[1], [2], [3, 1]]
    seen.clear()
    run(one_way(left, looking("x") | key_by(x=lambda x: x % 2)), [(left, 1), (left, 2), (left, 3)])
    assert seen == [[1], [2, 1], [3, 2, 1]]


def test_select_sees_the_matches_in_order_and_may_reorder_them(left, right):
    class backwards(Restriction):
        slots: Slots

        @handles(select)
        def reverse(self, matches):
            return forward(list(matches)[::-1])

    output = cartesian(left, right, restrict=backwards("left", "right"))
    trace = [(left, 1), (left, 2), (left, 3), (right, "a")]
    assert values(run(output, trace)) == [(1, "a"), (2, "a"), (3, "a")]


def test_matches_are_lazy(left, right):
    asked = []

    class first(Restriction):
        slots: Slots

        @handles(select)
        def one(self, matches):
            return forward([match for match, _ in zip(matches, range(1), strict=False)])

    def where(x, y):
        asked.append(x)
        return True

    output = correlate(x=left, y=right, where=where, yields=lambda x, y: x, restrict=first("x", "y"))
    assert values(run(output, [(left, 1), (left, 2), (left, 3), (right, "a")])) == [3]
    assert len(asked) <= 2  # zip looks one ahead at most


def test_a_restriction_is_shown_and_compared_as_written():
    assert repr(debouncing("x", 5)) == "debouncing('x', 5)"
    assert repr(every_other("x", "y", offset=1)) == "every_other('x', 'y', offset=1)"
    assert repr(debouncing("x", 5) | every_other("x")) == "debouncing('x', 5) | every_other('x')"
    assert debouncing("x", 5) == debouncing("x", 5) != debouncing("x", 6)
    assert hash(debouncing("x", 5)) == hash(debouncing("x", 5))
    assert debouncing("x", 5) != most_recently("x")


@pytest.mark.parametrize(
    "make",
    [
        debouncing,
        lambda: debouncing("x"),
        lambda: debouncing("x", 5, 6),
        lambda: debouncing("x", 5, loud=True),
        lambda: debouncing(3, 5),
        every_other,
        lambda: every_other("x", 3),
        lambda: top("x", n=1),
        most_recently,
        lambda: most_recently("x", n=0),
        lambda: most_recently("x", n=1.5),
        lambda: most_recently("x", n=True),
        aligning,
        key_by,
        lambda: key_by(x=cast("Any", 3)),
    ],
)
def test_arguments_that_do_not_fit_are_refused(make):
    with pytest.raises(InvalidArgument):
        make()


def test_a_float_is_no_duration(left):
    with pytest.raises(InvalidArgument):
        Engine(one_way(left, debouncing("x", 1.5)))


# --------------------------------------------------------------------------------------------------------- ctl clauses


class resuming_at_once(Restriction):
    """A ctl clause that forwards and resumes in tail position."""

    slots: Slots

    @controls(push, "slots")
    def pass_on(self, slot, entry, resume):
        forward(slot, entry)
        return resume.tail(None)


def test_a_ctl_clause_that_forwards_and_resumes_changes_nothing(left, right):
    trace = [(left, 1), (right, "a"), (left, 2), (right, "b")]
    plain = cartesian(left, right, restrict=most_recently("left"))
    controlled = cartesian(left, right, restrict=resuming_at_once("left", "right") | most_recently("left"))
    assert values(run(controlled, trace)) == values(run(plain, trace))


def test_no_greenlet_outlives_its_engine(left, right):
    def once():
        for restrict in (most_recently("left"), resuming_at_once("left", "right"), aligning("left", "right")):
            engine = Engine(cartesian(left, right, restrict=restrict))
            engine.push(left, 1)
            engine.push(right, "a")
            Engine.restore(engine.snapshot(), *engine.outputs)
        failing = Engine(correlate(x=left, where=lambda x: 1 // x, yields=lambda x: x))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                failing.push(left, 0)

    def live():
        gc.collect()
        return sum(isinstance(thing, greenlet.greenlet) for thing in gc.get_objects())

    once()
    before = live()
    for _ in range(10):
        once()
    assert live() <= before
