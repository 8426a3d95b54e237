"""Each correlation owns its operations, one of every family a slot: nobody sees another's (SOURCES A14)."""

from __future__ import annotations

import attrs
import pytest

from cartesius import (
    Engine,
    Reactive,
    Restriction,
    Slots,
    arrive,
    correlate,
    displace,
    forward,
    handles,
    push,
    run,
    select,
)
from restrictions import cartesian, most_recently


class watching(Restriction):
    """Write down what is seen, under a name."""

    slots: Slots
    name: str
    seen: list[tuple[object, ...]]

    @handles(arrive, "slots")
    def see_arrival(self, slot, event):
        self.seen.append((self.name, "arrive", slot.name, event.value))
        forward(slot, event)

    @handles(push, "slots")
    def see_push(self, slot, entry):
        self.seen.append((self.name, "push", slot.name, entry.value))
        forward(slot, entry)

    @handles(displace, "slots")
    def see_displacement(self, slot, entry):
        self.seen.append((self.name, "displace", slot.name, entry.value))
        forward(slot, entry)

    @handles(select)
    def see_matches(self, matches):
        self.seen.append((self.name, "select"))
        forward(matches)


def left_and_right():
    return Reactive("left"), Reactive("right")


def test_two_correlations_of_the_same_inputs_never_see_each_others_operations():
    left, right = left_and_right()
    seen = []
    one = cartesian(left, right, restrict=watching("left", name="one", seen=seen))
    two = cartesian(left, right, restrict=watching("right", name="two", seen=seen))
    Engine(one, two).push(left, 1)
    assert {name for name, *_ in seen if len(_) > 1} == {"one"}
    seen.clear()
    Engine(two, one).push(right, 2)
    assert {name for name, *_ in seen if len(_) > 1} == {"two"}


def test_two_slots_of_one_correlation_never_see_each_others_operations():
    left, right = left_and_right()
    seen = []
    restrict = watching("left", name="l", seen=seen) | watching("right", name="r", seen=seen)
    Engine(cartesian(left, right, restrict=restrict)).push(right, 5)
    assert [entry for entry in seen if len(entry) > 2] == [("r", "arrive", "right", 5), ("r", "push", "right", 5)]


def test_of_a_self_join_the_slots_are_still_two():
    left, _ = left_and_right()
    seen = []
    pairs = correlate(x=left, y=left, yields=lambda x, y: (x, y), restrict=watching("y", name="y", seen=seen))
    Engine(pairs).push(left, 7)
    assert [entry[1:] for entry in seen if len(entry) > 2] == [("arrive", "y", 7), ("push", "y", 7)]


def test_a_nested_correlation_keeps_its_displacements_to_itself():
    left, _ = left_and_right()
    seen = []
    inner = correlate(x=left, yields=lambda x: x, restrict=most_recently("x"), name="inner")
    outer = correlate(p=inner, yields=lambda p: p, restrict=watching("p", name="outer", seen=seen))
    engine = Engine(outer)
    engine.push(left, 1)
    engine.push(left, 2)
    assert "displace" not in {entry[1] for entry in seen}


def test_two_engines_of_one_program_never_see_each_others_events():
    left, right = left_and_right()
    output = cartesian(left, right, restrict=most_recently("left"))
    one, two = Engine(output), Engine(output)
    one.push(left, 1)
    assert two.push(right, "x") == []
    assert [event.value for event in one.push(right, "y")] == [(1, "y")]


@attrs.frozen
class Ship:
    name: str


@pytest.mark.parametrize(
    "payload",
    [None, True, 7, 2**70, 1.5, "text", b"bytes", (1, "a"), [1, [2]], {1, 2}, Ship("EVA"), object(), Ship, len],
)
def test_a_payload_may_be_of_any_type_and_comes_out_as_it_is(payload):
    left, right = left_and_right()
    ((first, second),) = [event.value for event in run(cartesian(left, right), [(left, payload), (right, "x")])]
    assert first is payload
    assert second == "x"
