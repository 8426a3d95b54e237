"""What leaving a restriction out changes, and why what is new does not come as written."""

from __future__ import annotations

import attrs
import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.show.differences import compared
from cartesius.show.rebuilding import Rebuilding
from cartesius.show.recordings import recording_of
from cartesius.show.replays import Replay
from restrictions import affinely, aligning, cartesian, first_match, in_event_time, most_recently, only, within


def changed(output, trace, off, **when):
    engine = Engine(output, trace=True)
    for reactive, value in trace:
        engine.push(reactive, value, **when)
    recording = recording_of(engine, "test")
    written = Replay(recording, recording.outputs, 1000)
    other = Replay(recording, Rebuilding({}, frozenset({off}), recording.outputs).outputs, 1000)
    return [(one.kind, one.step, one.given.event.value, one.written, one.reasons) for one in compared(written, other)]


A, B = Reactive("a"), Reactive("b")


def test_what_is_new_says_what_had_become_of_its_parts():
    """The reason is that of `Engine.why`, as it was when the result would have come."""
    (one,) = changed(cartesian(A, B, restrict=affinely("b")), [(A, 1), (B, "x"), (A, 2)], 0)
    assert one == ("new", 3, (2, "x"), None, ("a 2 @ 3 is in the memory of a", "b 'x' @ 2 left b: used up"))
    (one,) = changed(cartesian(A, B, restrict=most_recently("a")), [(A, 1), (A, 2), (B, "x")], 0)
    reasons = "a 1 @ 1 left a: displaced by most_recently('a')", "b 'x' @ 3 is in the memory of b"
    assert one == ("new", 3, (1, "x"), None, reasons)


def test_what_a_gate_does_not_let_through_is_said_by_its_name():
    positive = only("a", lambda n: n > 0)
    (one,) = changed(cartesian(A, B, restrict=positive), [(A, -1), (B, "x")], 0)
    assert one[:3] == ("new", 2, (-1, "x"))
    assert one[4][0] == f"a -1 @ 1 was not let through by {positive!r}"


def test_where_all_parts_are_there_a_choice_is_the_reason():
    output = correlate(a=A, b=B, yields=lambda a, b: (a, b), restrict=first_match())
    (one,) = changed(output, [(A, 1), (A, 2), (B, "x")], 0)
    assert one[:3] == ("new", 3, (1, "x"))
    assert one[4][-1] == "all its parts are in memory: a condition, or a choice, did not take them together"


def test_what_is_gone_says_what_had_become_of_its_parts_in_the_changed_program():
    program = cartesian(A, B, restrict=affinely("a") | aligning("a", "b"))
    new, gone = changed(program, [(A, 1), (A, 2), (B, "x"), (B, "y")], 1)
    held = "a 2 @ 2 is held by aligning('a', 'b')"
    assert new == ("new", 3, (2, "x"), None, (held, "b 'x' @ 3 is in the memory of b"))
    assert gone == ("gone", 4, (2, "y"), None, ("a 2 @ 2 left a: used up", "b 'y' @ 4 is in the memory of b"))


def test_what_comes_at_another_step_is_neither_new_nor_gone():
    program = correlate(x=A, yields=lambda x: x, restrict=in_event_time(1))
    trace = [(A, 10), (A, 20), (A, 30)]
    assert changed(program, trace, 0) == [
        ("moved", 1, 10, 3, ()),
        ("new", 2, 20, None, ("a 20 @ 2 is held by in_event_time(1)",)),
        ("new", 3, 30, None, ("a 30 @ 3 is held by in_event_time(1)",)),
    ]


def test_equal_results_count_as_often_as_they_come():
    program = correlate(x=A, yields=lambda x: 0, restrict=only("x", lambda n: n > 1))
    engine = Engine(program, trace=True)
    for n in (1, 2, 1):
        engine.push(A, n, at=5)
    recording = recording_of(engine, "test")
    replays = [Replay(recording, Rebuilding({}, frozenset(off), [program]).outputs, 9) for off in ((), (0,))]
    assert [(one.kind, one.step) for one in compared(*replays)] == [("new", 1), ("new", 3)]
    assert [(one.kind, one.step) for one in compared(*reversed(replays))] == [("gone", 1), ("gone", 3)]


class Equal:
    """Has no text of its own."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)


class Odd(Equal):
    """Raises when it is compared."""

    def __eq__(self, other):
        raise LookupError

    __hash__ = Equal.__hash__


@attrs.frozen(repr=False)
class Plain:
    """A class whose fields make it equal."""

    value: object


MADE = [Equal, Plain, lambda value: [Equal(value)], lambda value: {"at": Plain(value)}, lambda value: {8, 16, value}]


@pytest.mark.parametrize("made", MADE)
def test_results_of_equal_values_are_equal_whatever_their_text(made):
    program = correlate(a=A, b=B, yields=lambda a, b: made((a, b)), restrict=affinely("b"))
    found = changed(program, [(A, 1), (B, "x"), (B, "x"), (A, 1)], 0)
    assert [(kind, step) for kind, step, *_ in found] == [("new", 4), ("new", 4)]
    late = correlate(x=A, yields=lambda x: made((x,)), restrict=in_event_time(1))
    found = changed(late, [(A, 10), (A, 20), (A, 30)], 0)
    assert [(kind, step, written) for kind, step, _, written, _ in found] == [
        ("moved", 1, 3),
        ("new", 2, None),
        ("new", 3, None),
    ]


@pytest.mark.parametrize("made", [Plain, Equal, lambda value: [Plain(value)]])
def test_results_of_one_step_are_compared_by_value_and_count_however_many_there_are(made):
    trace = [*((A, n) for n in range(240)), (B, "x")]
    at_once = correlate(a=A, b=B, yields=lambda a, b: made(a // 2), restrict=within(999, "a", "b") | affinely("a"))
    assert changed(at_once, trace, 1, at=5) == []
    one = correlate(a=A, b=B, yields=lambda a, b: made(a // 2), restrict=affinely("b"))
    found = changed(one, [*trace[:6], trace[-1]], 0, at=5)  # of six, each twice, one comes as written
    assert [(kind, step) for kind, step, *_ in found] == [("new", 7)] * 5


def test_results_that_cannot_be_compared_are_taken_by_their_text():
    program = correlate(a=A, b=B, yields=lambda a, b: Odd(a), restrict=affinely("b"))
    assert {kind for kind, *_ in changed(program, [(A, 1), (B, "x")], 0)} == {"new", "gone"}
