"""What restrictions keep: state that is copied, saved and rolled back, and the events in it (SEMANTICS 1.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cartesius import (
    Engine,
    Restriction,
    Slot,
    arrive,
    correlate,
    forward,
    handles,
    memory,
    push,
    state,
)
from cartesius.errors import InvalidArgument
from restrictions import key_by

if TYPE_CHECKING:
    from collections.abc import Callable
from tests.unit.cartesius.clause_examples import Broken, through, values, waking

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


class superseding(Restriction):
    """Of what is in memory only the newest may be used often; the older ones once more."""

    slot: Slot

    @handles(push, "slot")
    def limit_older(self, slot, entry):
        for older in memory(slot)[1:]:
            older.uses = 1
        forward(slot, entry)


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_uses_that_are_set_of_older_events_are_as_before_when_a_push_fails(a, b, tier):
    divided = correlate(a=a, b=b, yields=lambda a, b: 10 // a, restrict=superseding("a"))
    engine, other = (Engine(divided, tier=tier) for _ in range(2))
    for one in (engine, other):
        one.push(b, 0), one.push(a, 5)
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(a, 0)
    assert engine.snapshot() == before
    for reactive, value in [(b, 1), (a, 2), (b, 3), (b, 4)]:
        assert engine.push(reactive, value) == other.push(reactive, value)
