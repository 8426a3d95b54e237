"""What a clause of a restriction may do, and what it is refused (DESIGN 3; SEMANTICS 1.8, 1.12 to 1.14, 3.10)."""

from __future__ import annotations

import collections.abc
import typing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from cartesius import (
    Duration,
    Engine,
    Entry,
    Reactive,
    Restriction,
    Slot,
    Slots,
    arrive,
    correlate,
    displace,
    expire,
    forward,
    handles,
    memory,
    notify_at,
    pause,
    play,
    push,
    run,
    select,
    set_aside,
    start,
    state,
    tick,
)
from cartesius.errors import InvalidArgument, UnhandledOperation
from restrictions import affinely, cartesian, first_match, key_by, most_recently, optionally, retracting
from restrictions.streams import map_concat

if TYPE_CHECKING:
    from collections.abc import Callable


class Broken(Exception):
    """What a user's code raises."""


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


def through(reactive, restrict, **options):
    return correlate(x=reactive, yields=lambda x: x, restrict=restrict, name="out", **options)


def notes_of(error):
    return "\n".join(error.__notes__)


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


# ------------------------------------------------------------------------------------------------- outside of a clause


@pytest.mark.parametrize(
    "call",
    [
        lambda: memory(None),  # type: ignore[arg-type]  # wrong on purpose
        lambda: notify_at(3),
        lambda: pause(None),  # type: ignore[arg-type]  # wrong on purpose
        lambda: play(None),  # type: ignore[arg-type]  # wrong on purpose
        lambda: expire(None, None),  # type: ignore[arg-type]  # wrong on purpose
        lambda: set_aside(None, None, "why"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_outside_a_clause_each_refuses(call):
    with pytest.raises(InvalidArgument, match="in a clause of a restriction"):
        call()


def test_a_body_is_no_clause(a):
    def where(x):
        notify_at(3)
        return True

    engine = Engine(correlate(x=a, where=where, yields=lambda x: x))
    with pytest.raises(InvalidArgument, match="notify_at"):
        engine.push(a, 1)


@pytest.mark.parametrize("family", [arrive, push, displace])
def test_a_family_is_performed_with_the_slot_that_a_clause_received(a, family):
    class naming(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def slip(self, slot, event):
            family("x", event)

    with pytest.raises(InvalidArgument, match="expected the slot first"):
        run(through(a, naming("x")), [(a, 1)])


# ---------------------------------------------------------------------------------------------------------- notify_at


class waking(Restriction):
    """Ask for what ``asks`` says of an event, let it through, and note each tick."""

    slot: Slot
    asks: Callable[[Entry], Any]
    woken: list[int] = state([])

    @handles(arrive, "slot")
    def ask(self, slot, event):
        for time in self.asks(event):
            notify_at(time)
        forward(slot, event)

    @handles(tick)
    def note(self, now):
        TICKS.append(now)


TICKS: list[Any] = []


@pytest.fixture(autouse=True)
def _no_ticks_yet():
    TICKS.clear()


@pytest.mark.parametrize("wrong", [1.0, 1.5, True, False, None, "5", float("inf"), float("-inf"), timedelta(1), (1,)])
def test_a_time_that_is_none_is_refused_and_nothing_has_happened(a, wrong):
    engine = Engine(through(a, waking("x", lambda event: [7, wrong])))
    with pytest.raises(InvalidArgument, match="notify_at: expected a time"):
        engine.push(a, 1)
    assert engine.next_deadline is None
    assert engine.stats.events == 0


def test_asking_twice_is_asking_once(a):
    output = through(a, waking("x", lambda event: [10, 10, 10]))
    engine = Engine(output)
    engine.push(a, 1)
    engine.push(a, 2)
    engine = Engine.restore(engine.snapshot(), output)
    engine.push(a, 3)
    engine.advance(100)
    assert TICKS == [11]
    assert engine.next_deadline is None


def test_each_key_has_a_deadline_of_its_own(a):
    engine = Engine(through(a, key_by(x=lambda x: x) | waking("x", lambda event: [10])))
    engine.push(a, 1)
    engine.push(a, 2)
    engine.push(a, 1)
    engine.advance(11)
    assert TICKS == [11, 11]


def test_deadlines_come_in_order_of_time_whatever_the_order_of_asking(a):
    engine = Engine(through(a, waking("x", lambda event: [30, 10, 20])))
    engine.push(a, 1)
    assert engine.next_deadline == 11
    engine.advance(20)
    assert TICKS == [11]
    engine.advance(21)
    assert TICKS == [11, 21]
    engine.advance(31)
    assert TICKS == [11, 21, 31]


def test_a_deadline_that_has_passed_already_is_due_at_the_next_advance_even_to_the_same_time(a):
    engine = Engine(through(a, waking("x", lambda event: [event.start])))
    engine.advance(50)
    engine.push(a, 1, at=(3, 60))
    engine.advance(50)
    assert TICKS == [4]
    assert engine.clock == 50


def test_a_tick_may_ask_again(a):
    class ticking(Restriction):
        slot: Slot
        every: Duration

        @handles(arrive, "slot")
        def begin(self, slot, event):
            notify_at(event.end + self.every)
            forward(slot, event)

        @handles(tick)
        def again(self, now):
            TICKS.append(now)
            if len(TICKS) < 4:
                notify_at(now - 1 + self.every)

    output = through(a, ticking("x", 10))
    engine = Engine(output)
    engine.push(a, 1, at=0)
    for time in (5, 15, 25, 35, 45, 55):
        engine.advance(time)
        engine = Engine.restore(engine.snapshot(), output)
    assert TICKS == [11, 21, 31, 41]


def test_a_failed_push_asks_for_nothing_and_forgets_no_deadline(a):
    broken = []

    def where(x):
        if broken:
            raise Broken
        return True

    engine = Engine(correlate(x=a, where=where, yields=lambda x: x, restrict=waking("x", lambda e: [e.end + 10])))
    engine.push(a, 1, at=5)
    blob = engine.next_deadline
    broken.append(True)
    for _ in range(2):
        with pytest.raises(Broken):
            engine.push(a, 2, at=1)
        assert engine.next_deadline == blob == 16
    broken.clear()
    engine.push(a, 2, at=1)
    assert engine.next_deadline == 12


def test_forward_in_a_clause_for_tick_is_refused_with_a_hint(a):
    class slipping(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def hold(self, slot, event):
            notify_at(event.end)

        @handles(tick)
        def slip(self, now):
            forward(now)

    engine = Engine(through(a, slipping("x")))
    engine.push(a, 1, at=3)
    with pytest.raises(InvalidArgument, match=r"arrive\(slot, event\)"):
        engine.advance(10)
    assert engine.next_deadline == 4


def test_forward_in_a_clause_for_start_is_refused(a):
    class slipping(Restriction):
        slot: Slot

        @handles(start)
        def slip(self):
            forward()

    with pytest.raises((UnhandledOperation, InvalidArgument), match="forward"):
        Engine(through(a, slipping("x")))


# --------------------------------------------------------------------------------------------- expire, set_aside, again


class expiring(Restriction):
    """Let every event leave that is older than ``n`` events."""

    slot: Slot
    n: int

    @handles(push, "slot")
    def let_go(self, slot, entry):
        for old in memory(slot)[self.n :]:
            expire(slot, old)
            expire(slot, old)  # twice is once
        forward(slot, entry)


def test_what_expires_leaves_at_the_end_of_the_batch_and_is_still_met_in_it(a, b):
    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=expiring("x", 1), name="both")
    engine = Engine(both)
    engine.push(b, "p")
    assert values(engine.push(a, 1)) == [(1, "p")]
    assert values(engine.push(a, 2)) == [(2, "p")]
    assert values(engine.push(b, "q")) == [(2, "q")]
    assert engine.stats.slots["both", "x"] == (1, 0)
    engine._check_invariants()


def test_an_event_that_expires_in_the_batch_of_its_partner_meets_it(a):
    pairs = correlate(x=a, y=a, yields=lambda x, y: (x, y), restrict=expiring("x", 1), name="pairs")
    engine = Engine(pairs)
    assert values(engine.push(a, 1)) == [(1, 1)]
    assert values(engine.push(a, 2)) == [(2, 2), (2, 1), (1, 2)]  # 1 leaves x after the batch of 2
    assert values(engine.push(a, 3)) == [(3, 3), (3, 2), (3, 1), (2, 3)]


def test_expiry_is_not_displacement(a, b):
    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | expiring("x", 1))
    trace = [(b, "p"), (a, 1), (a, 2)]
    assert [(e.value, e.weight) for e in run(both, trace)] == [((1, "p"), 1), ((2, "p"), 1)]


def test_an_entry_that_expires_and_is_displaced_in_one_batch_is_displaced(a, b):
    for restrict in (expiring("x", 1) | most_recently("x"), most_recently("x") | expiring("x", 1)):
        both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | restrict)
        engine = Engine(both)
        engine.push(b, "p")
        engine.push(a, 1)
        assert sorted(weighted(engine.push(a, 2))) == [((1, "p"), -1), ((2, "p"), 1)]
        engine._check_invariants()
        assert engine.stats.retained == 2


def test_a_failed_push_expires_nothing(a, b):
    def yields(x, y):
        return 1 // x, y

    both = correlate(x=a, y=b, yields=yields, restrict=expiring("x", 1), name="both")
    engine = Engine(both)
    engine.push(a, 1)
    engine.push(b, "p")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            engine.push(a, 0)
        engine._check_invariants()
        assert engine.stats.slots["both", "x"] == (1, 0)
    assert values(engine.push(b, "q")) == [(1, "q")]


class displacing_all(Restriction):
    """Displace all but the newest, and again what has left already."""

    slot: Slot
    gone: Any = state(())

    @handles(push, "slot")
    def replace(self, slot, entry):
        for old in (*memory(slot)[1:], *self.gone):
            displace(slot, old)
            displace(slot, old)
        self.gone = (*self.gone, entry)
        forward(slot, entry)


def test_displacing_what_has_left_does_nothing(a, b):
    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | displacing_all("x"))
    engine = Engine(both)
    engine.push(b, "p")
    assert weighted(engine.push(a, 1)) == [((1, "p"), 1)]
    assert weighted(engine.push(a, 2)) == [((1, "p"), -1), ((2, "p"), 1)]
    assert weighted(engine.push(a, 3)) == [((2, "p"), -1), ((3, "p"), 1)]
    engine._check_invariants()


def test_a_new_event_that_is_displaced_at_once_is_neither_new_nor_gone(a, b):
    class refusing(Restriction):
        slot: Slot

        @handles(push, "slot")
        def refuse(self, slot, entry):
            if entry.value < 0:
                displace(slot, entry)
                displace(slot, entry)
            forward(slot, entry)

    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | refusing("x"))
    engine = Engine(both)
    engine.push(b, "p")
    assert engine.push(a, -1) == []
    assert values(engine.push(a, 1)) == [(1, "p")]
    assert engine.stats.retained == 2


def test_an_event_that_a_gate_lets_through_twice_is_two_events(a, b):
    class twice(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def double(self, slot, event):
            forward(slot, event)
            forward(slot, event)

    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=affinely("x", "y") | twice("x"))
    engine = Engine(both)
    engine.push(a, 1)
    engine._check_invariants()
    assert engine.stats.retained == 2
    engine = Engine.restore(engine.snapshot(), both)
    assert values(engine.push(b, "p")) == [(1, "p")]
    assert values(engine.push(b, "q")) == [(1, "q")]
    assert values(engine.push(b, "r")) == []


def test_an_event_that_is_kept_and_let_through_again_later_is_another_event(a):
    class repeating(Restriction):
        """Let each event through at once, and again ten units later."""

        slot: Slot
        kept: Any = state(())

        @handles(arrive, "slot")
        def keep(self, slot, event):
            self.kept = (*self.kept, event)
            notify_at(event.end + 10)
            forward(slot, event)

        @handles(tick)
        def repeat(self, now):
            due = [event for event in self.kept if event.end + 10 < now]
            self.kept = tuple(event for event in self.kept if event not in due)
            for event in due:
                arrive(self.slot, event)

    output = through(a, retracting() | most_recently("x", n=2) | repeating("x"))
    engine = Engine(output)
    got = weighted(engine.push(a, 1, at=0)) + weighted(engine.push(a, 2, at=1))
    engine = Engine.restore(engine.snapshot(), output)
    got += weighted(engine.advance(11))
    engine._check_invariants()
    got += weighted(engine.advance(12))
    assert got == [(1, 1), (2, 1), (1, -1), (1, 1), (2, -1), (2, 1)]
    assert engine.stats.waiting == 0


def test_what_is_set_aside_is_named_with_its_slot_and_the_reason_and_survives_a_restore(a):
    class positive(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def let_through(self, slot, event):
            if event.value > 0:
                forward(slot, event)
            else:
                set_aside(slot, event, "not positive")

    output = through(a, positive("x"))
    engine = Engine(output)
    assert engine.push(a, -3, at=(4, 6)) == []
    assert values(engine.push(a, 3)) == [3]
    ((event, slot, reason),) = engine.late
    assert (event.value, event.start, event.end, event.weight, event.reactive) == (-3, 4, 6, 1, "a")
    assert (slot, reason) == ("x", "not positive")
    assert Engine.restore(engine.snapshot(), output).late == engine.late


def test_a_failed_push_sets_nothing_aside(a):
    class complaining(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def complain(self, slot, event):
            set_aside(slot, event, "first")
            if event.value == 0:
                raise Broken

    engine = Engine(through(a, complaining("x")))
    engine.push(a, 1)
    with pytest.raises(Broken):
        engine.push(a, 0)
    assert [event.value for event, _, _ in engine.late] == [1]


# --------------------------------------------------------------------------------------------------------------- state


class tallying(Restriction):
    """Count events by value, in place, and remember the order of the first of each; let through what came twice."""

    slot: Slot
    counts: dict[Any, int] = state({})
    order: list[Any] = state([])
    seen: set[Any] = state(set())

    @handles(arrive, "slot")
    def count(self, slot, event):
        self.counts[event.value] = self.counts.get(event.value, 0) + 1
        if event.value not in self.seen:
            self.seen.add(event.value)
            self.order.append(event.value)
        if event.value == "bad":
            raise Broken
        if self.counts[event.value] > 1:
            forward(slot, event)


def test_state_that_is_changed_in_place_is_not_shared_by_engines(a):
    output = through(a, tallying("x"))
    for _ in range(2):
        engine = Engine(output)
        assert [values(engine.push(a, value)) for value in (1, 1, 2, 1)] == [[], [1], [], [1]]


def test_state_that_is_changed_in_place_is_not_shared_by_keys(a):
    output = through(a, key_by(x=lambda x: x[0]) | tallying("x"))
    engine = Engine(output)
    trace = [("p", 1), ("q", 1), ("p", 1), ("q", 1)]
    assert [values(engine.push(a, value)) for value in trace] == [[], [], [("p", 1)], [("q", 1)]]
    (installed,) = [one for one in engine._program.joins[0].installed if isinstance(one.restriction, tallying)]
    assert [copy.order for copy in installed.copies.values()] == [[("p", 1)], [("q", 1)]]


def test_state_that_is_changed_in_place_is_as_before_when_a_push_fails(a):
    output = through(a, tallying("x"))
    engine = Engine(output)
    for first in (True, False):
        if not first:
            engine.push(a, 1)
        before = engine.snapshot()
        for _ in range(2):
            with pytest.raises(Broken):
                engine.push(a, "bad")
            assert engine.snapshot() == before
    assert values(engine.push(a, 1)) == [1]


def test_state_that_is_changed_in_place_survives_a_restore_apart_from_the_engine_saved(a):
    output = through(a, tallying("x"))
    engine = Engine(output)
    engine.push(a, 1)
    blob = engine.snapshot()
    restored = Engine.restore(blob, output)
    assert values(restored.push(a, 1)) == [1]
    assert engine.snapshot() == blob


@pytest.mark.parametrize("name", ["count", "slot", "configuration", "sen"])
def test_an_attribute_that_is_no_state_may_not_be_assigned(a, name):
    class slipping(Restriction):
        slot: Slot
        seen: int = state(0)

        @handles(arrive, "slot")
        def slip(self, slot, event):
            setattr(self, name, event)

    engine = Engine(through(a, slipping("x")))
    with pytest.raises(InvalidArgument, match=rf"{name} = state\(…\)") as caught:
        engine.push(a, 1)
    assert "seen" in str(caught.value)


def test_an_attribute_that_is_no_state_may_not_be_assigned_outside_either():
    restriction = waking("x", lambda event: [])
    with pytest.raises(InvalidArgument, match="state"):
        restriction.asks = print


# --------------------------------------------------------------------------------------------------------------- notes


class grumbling(Restriction):
    slots: Slots
    where: str = ""

    def _grumble(self, place):
        if place == self.where:
            raise Broken

    @handles(arrive, "slots")
    def at_the_gate(self, slot, event):
        self._grumble("arrive")
        notify_at(event.end)
        forward(slot, event)

    @handles(push, "slots")
    def in_memory(self, slot, entry):
        self._grumble("push")
        forward(slot, entry)

    @handles(select)
    def at_the_end(self, matches):
        self._grumble("select")
        forward(matches)

    @handles(tick)
    def in_time(self, now):
        self._grumble("tick")


def push_and_advance(engine, source):
    engine.push(source, 1, at=1)
    engine.advance(10)


@pytest.mark.parametrize(
    ("where", "clause"),
    [("arrive", "at_the_gate"), ("push", "in_memory"), ("select", "at_the_end"), ("tick", "in_time")],
)
@pytest.mark.parametrize("is_keyed", [False, True])
def test_an_error_in_a_clause_names_clause_and_restriction(a, where, clause, is_keyed):
    restrict: Any = grumbling("x", where=where)
    engine = Engine(through(a, key_by(x=lambda x: x) | restrict if is_keyed else restrict))
    with pytest.raises(Broken) as caught:
        push_and_advance(engine, a)
    notes = notes_of(caught.value)
    assert clause in notes
    assert f"grumbling('x', where={where!r})" in notes
    assert "the body" not in notes


def test_an_error_in_a_body_names_the_body_and_no_clause(a):
    def where(x):
        raise Broken

    output = correlate(x=a, where=where, yields=lambda x: x, restrict=grumbling("x"), name="a body that fails")
    with pytest.raises(Broken) as caught:
        run(output, [(a, 1)])
    assert "a body that fails" in notes_of(caught.value)
    assert "clause" not in notes_of(caught.value)


def test_an_error_in_a_clause_of_a_nested_correlation_names_that_one(a):
    inner = correlate(x=a, yields=lambda x: x, restrict=grumbling("x", where="push"), name="inner")
    outer = correlate(p=inner, yields=lambda p: p, restrict=grumbling("p"), name="outer")
    with pytest.raises(Broken) as caught:
        run(outer, [(a, 1)])
    assert "grumbling('x', where='push')" in notes_of(caught.value)
    assert "grumbling('p')" not in notes_of(caught.value)


def test_an_error_that_has_notes_of_its_own_gets_ours_too(a):
    class noting(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def fail(self, slot, event):
            error = Broken()
            error.add_note("in the harbour of Rotterdam")
            raise error

    with pytest.raises(Broken) as caught:
        run(through(a, noting("x")), [(a, 1)])
    assert "'fail' of noting('x')" in notes_of(caught.value)


# ------------------------------------------------------------------------------------------------ select and retraction


class choosing(Restriction):
    """Choose what may leave matches out."""

    @handles(select)
    def choose(self, matches):
        forward(matches)


class arranging(choosing):
    consumes: ClassVar[bool] = False


class arranging_further(arranging):
    """A subclass of what says that it leaves nothing out."""


@pytest.mark.parametrize("beside", [retracting(), retracting() | optionally("y")])
def test_a_select_clause_beside_retracting_is_refused_unless_it_says_that_it_leaves_nothing_out(a, b, beside):
    def build(restrict):
        return Engine(correlate(x=a, y=b, where=lambda x, y: x == y, yields=lambda x, y: x, restrict=restrict))

    for restrict in (beside | choosing(), choosing() | beside):
        with pytest.raises(InvalidArgument, match="choosing"):
            build(restrict)
    for kind in (arranging, arranging_further):
        build(beside | kind())
        build(kind() | beside)


def test_choosing_alone_needs_to_say_nothing(a):
    assert values(run(through(a, choosing()), [(a, 1)])) == [1]


def test_a_lazy_choice_acts_for_the_key_of_its_own_clause_whoever_asks_for_it(a):
    """Each concerns the copy of the restriction, and so the key, that the clause runs for."""

    class once_a_key(Restriction):
        slot: Slot

        @handles(select)
        def choose(self, matches):
            forward(self._each(matches))

        def _each(self, matches):
            for match in matches:
                pause(self.slot)
                yield match

    for outer in (None, first_match()):
        keyed = key_by(x=lambda x: x[0]) | once_a_key("x")
        restrict = keyed if outer is None else outer | keyed
        engine = Engine(through(a, restrict))
        got = [values(engine.push(a, value)) for value in ("p1", "q1", "p2", "q2")]
        assert got == [["p1"], ["q1"], [], []]
        assert engine.stats.waiting == 2


# -------------------------------------------------------------------------------------- what is checked when it is made


class by_function(Restriction):
    slot: Slot
    by: Callable[[Any], Any]


class by_typing(Restriction):
    slot: Slot
    by: typing.Callable[[Any], Any]


class by_optional(Restriction):
    slot: Slot
    by: Callable[[Any], Any] | None = None


class lasting_for(Restriction):
    slot: Slot
    duration: Duration
    step: Duration = 0


def without_strings(**annotations):
    """A class whose annotations are objects: as without ``from __future__ import annotations``."""
    return type("made", (Restriction,), {"__annotations__": {"slot": Slot, **annotations}})


FUNCTIONS = [
    by_function,
    by_typing,
    without_strings(by=typing.Callable),
    without_strings(by=typing.Callable[[Any], Any]),
    without_strings(by=collections.abc.Callable),
    without_strings(by=collections.abc.Callable[[Any], Any]),
]


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("wrong", [3, None, "length", ()])
def test_a_function_is_checked_when_the_restriction_is_made(kind, wrong):
    with pytest.raises(InvalidArgument, match=r"expected a function but got by="):
        kind("x", wrong)
    kind("x", len)
    kind("x", partial(max, 3))


def test_a_function_that_may_be_missing_may_be_none():
    by_optional("x")
    by_optional("x", by=None)
    by_optional("x", by=len)


@pytest.mark.parametrize("kind", [lasting_for, without_strings(duration=Duration)])
@pytest.mark.parametrize("wrong", [1.5, 1.0, True, "5", None, (1,), len])
def test_a_duration_is_checked_when_the_restriction_is_made(kind, wrong):
    with pytest.raises(InvalidArgument, match=r"duration="):
        kind("x", wrong)
    kind("x", 5)
    kind("x", timedelta(seconds=5))


def test_a_duration_with_a_default_is_checked_too():
    with pytest.raises(InvalidArgument, match="step="):
        lasting_for("x", 5, step=1.5)
    with pytest.raises(InvalidArgument, match="step="):
        lasting_for("x", 5, step=None)


def test_a_duration_with_a_rest_is_refused_when_the_engine_knows_the_unit(a):
    output = through(a, lasting_for("x", timedelta(milliseconds=1500)))
    Engine(output)
    with pytest.raises(InvalidArgument, match="whole time units"):
        Engine(output, unit=timedelta(seconds=1))


def test_a_clause_reads_time_units(a):
    class showing(Restriction):
        slot: Slot
        duration: Duration
        seen: Any = state(())

        @handles(arrive, "slot")
        def show(self, slot, event):
            forward(slot, event.with_value(self.duration))

    output = through(a, showing("x", timedelta(seconds=90)))
    assert values(run(output, [(a, None)])) == [90_000_000]
    assert values(run(output, [(a, None)], unit=timedelta(seconds=30))) == [3]


# --------------------------------------------------------------------------------------------------------------- memory


def test_memory_in_a_tick_is_of_the_key_of_the_copy(a):
    class counting(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def ask(self, slot, event):
            notify_at(event.value[1])
            forward(slot, event)

        @handles(tick)
        def count(self, now):
            TICKS.append((now, [entry.value for entry in memory(self.slot)]))

    engine = Engine(through(a, key_by(x=lambda x: x[0]) | counting("x")))
    for value in (("p", 10), ("q", 20), ("p", 30)):
        engine.push(a, value)
    engine.advance(25)
    assert TICKS == [(11, [("p", 30), ("p", 10)]), (21, [("q", 20)])]


def test_memory_shows_what_was_stored_before_in_the_same_step(a):
    class looking(Restriction):
        slot: Slot

        @handles(push, "slot")
        def look(self, slot, entry):
            TICKS.append([stored.value for stored in memory(slot)])
            forward(slot, entry)

    run(through(map_concat(a, list), looking("x") | most_recently("x")), [(a, "pq"), (a, "r")])
    assert TICKS == [["p"], ["q"], ["r"]]
    TICKS.clear()
    run(through(map_concat(a, list), most_recently("x") | looking("x")), [(a, "pq"), (a, "r")])
    assert TICKS == [["p"], ["q", "p"], ["r", "q"]]


def test_the_answer_of_memory_is_the_clauses_own_list(a, b):
    class clearing(Restriction):
        slot: Slot

        @handles(push, "slot")
        def clear(self, slot, entry):
            memory(slot).clear()
            forward(slot, entry)

    assert len(run(cartesian(a, b, restrict=clearing("a")), [(a, 1), (a, 2), (b, 3)])) == 2


# ------------------------------------------------------------------------------------------------------- what is held

HELD: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "tuple": ((), lambda held, event: (*held, event)),
    "list": ([], lambda held, event: [*held, event]),
    "dict by slot": ({}, lambda held, event: {**held, "x": [*held.get("x", []), event]}),
    "dict by value": ({}, lambda held, event: {**held, event.value: event}),
    "dict of lists": ({}, lambda held, event: {**held, event.value % 2: [*held.get(event.value % 2, []), event]}),
    "set": (frozenset(), lambda held, event: held | {event}),
}


@pytest.mark.parametrize("kind", HELD)
def test_events_held_in_a_state_of_any_shape_wait_and_survive_a_snapshot(a, kind):
    """1.8: held events count as waiting; `state`: plain data or events, saved."""
    initial, add = HELD[kind]

    class holding(Restriction):
        slot: Slot
        held: Any = state(initial)

        @handles(arrive, "slot")
        def hold(self, slot, event):
            self.held = add(self.held, event)

    output = through(a, holding("x"))
    engine = Engine(output)
    for number in range(3):
        engine.push(a, number)
    assert (engine.stats.waiting, engine.stats.retained) == (3, 0)
    assert Engine.restore(engine.snapshot(), output).stats == engine.stats


def test_an_event_that_two_states_hold_is_one_event_after_a_restore_too(a):
    class best_last(Restriction):
        """Hold events until a zero comes; then let all through, the largest last."""

        slot: Slot
        held: Any = state(())
        best: Any = state(None)

        @handles(arrive, "slot")
        def hold(self, slot, event):
            if event.value:
                self.held = (*self.held, event)
                if self.best is None or event.value > self.best.value:
                    self.best = event
                return
            held, best = self.held, self.best
            self.held, self.best = (), None
            for other in held:
                if other is not best:
                    arrive(slot, other)
            arrive(slot, best)

    output = through(a, best_last("x"))
    engine = Engine(output)
    for number in (2, 3, 1):
        engine.push(a, number)
    restored = Engine.restore(engine.snapshot(), output)
    assert values(engine.push(a, 0)) == values(restored.push(a, 0)) == [2, 1, 3]
