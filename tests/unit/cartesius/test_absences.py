"""Absent slots, as any restriction may declare them: which they are, what counts of them, and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cartesius import Absent, Engine, Reactive, Restriction, Slot, Slots, correlate, forward, handles, run, select
from cartesius.correlations.absences import is_among
from cartesius.errors import InvalidArgument
from restrictions import cartesian, fifo, key_by, most_recently, within, without

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.matches import Match


class unseen(Restriction):
    """Let a row come if no event of ``never`` is there that fits it: a restriction as a user may write it."""

    never: Absent[Slot]

    def due(self, slot: Slot, entry: Entry) -> Time:
        return entry.end + 5

    @handles(select)
    def choose(self, matches: Iterable[Match]) -> None:
        forward(iter([match for match in matches if not is_among(self.never, match.parts, lambda _: True)]))


class none_of(Restriction):
    """Let a row come if no event of any of ``never`` is there that fits it."""

    never: Absent[Slots]

    @handles(select)
    def choose(self, matches: Iterable[Match]) -> None:
        free = [m for m in matches if not any(is_among(slot, m.parts, lambda _: True) for slot in self.never)]
        forward(iter(free))


def inputs(*names: str) -> list[Reactive]:
    return [Reactive(name) for name in names]


def slots_of(engine: Engine) -> dict[str, int]:
    return {slot: retained for (_, slot), (retained, _) in engine.stats.slots.items()}


def test_an_absent_slot_is_no_part_of_the_product():
    a, b, c = inputs("a", "b", "c")
    output = correlate(x=a, z=c, y=b, yields=lambda x, y, z: (x, y, z), restrict=unseen("z"))
    engine = Engine(output)
    found = [engine.push(*push) for push in ((a, 1), (a, 2), (b, 3), (c, 4), (b, 5))]
    assert [[event.value for event in events] for events in found] == [[], [], [(2, 3, None), (1, 3, None)], [], []]
    assert engine.stats.tuples == 4
    assert slots_of(engine) == {"x": 2, "z": 1, "y": 2}


def test_the_order_of_candidates_is_as_ever():
    a, b, c = inputs("a", "b", "c")
    output = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=unseen(c) | fifo())
    assert [event.value for event in run(output, [(a, 1), (a, 2), (b, 3)])] == [(1, 3), (2, 3)]


def test_links_through_an_absent_slot_do_not_join_the_others():
    """x.k == z.k and z.k == y.k say which z count; they do not say that x.k == y.k."""
    a, b, c = inputs("a", "b", "c")
    output = correlate(
        x=a,
        z=c,
        y=b,
        where=lambda x, y, z: (x.k == z.k) & (z.k == y.k),
        yields=lambda x, y: (x.k, y.k),
        restrict=unseen("z"),
    )
    trace: list[Any] = [(a, {"k": 1}), (c, {"k": 1}), (b, {"k": 2}), (b, {"k": 1}), (a, {"k": 2})]
    assert [event.value for event in run(output, trace)] == [(1, 2), (2, 1), (2, 2)]


def test_a_hidden_slot_is_called_after_its_reactive_and_keyed_by_that_name():
    ship, alarm = inputs("ship", "alarm")
    output = correlate(x=ship, yields=lambda x: x.k, restrict=key_by(x="k", alarm="k") | unseen(alarm))
    engine = Engine(output)
    assert set(engine.inputs) == {"ship", "alarm"}
    assert slots_of(engine) == {"x": 0, "alarm": 0}
    engine.push(alarm, {"k": 1})
    assert [len(engine.push(ship, {"k": key})) for key in (1, 2)] == [0, 1]


def test_two_restrictions_share_a_hidden_slot():
    a, c = inputs("a", "c")
    restrict = without(c, after="a", within=3) | without("c", before="a", within=9)
    engine = Engine(correlate(a=a, yields=lambda a: a, restrict=restrict))
    engine.push(c, "c", at=1)
    assert slots_of(engine) == {"a": 0, "c": 1}
    engine.advance(10)
    assert slots_of(engine) == {"a": 0, "c": 1}  # the longer of the two needs it
    engine.advance(11)
    assert slots_of(engine) == {"a": 0, "c": 0}


def test_a_hidden_slot_makes_way_for_variables_of_its_name():
    a, c, other = inputs("a", "c", "other")
    output = correlate(a=a, c=other, yields=lambda a, c: (a, c), restrict=unseen(c))
    engine = Engine(output)
    assert slots_of(engine) == {"a": 0, "c": 0, "c#2": 0}
    engine.push(c, "forbidding")
    assert engine.push(a, 1) == engine.push(other, 2) == []


def test_hidden_slots_of_one_name_are_told_apart():
    a, b = inputs("a", "b")
    first, second = cartesian(a, restrict=fifo()), cartesian(a)
    output = correlate(x=b, yields=lambda x: x, restrict=unseen(first) | unseen(second))
    assert {"x", "cartesian(a)", "cartesian(a)#2"} <= set(slots_of(Engine(output)))


def test_a_reactive_that_is_bound_means_its_slot():
    a, c = inputs("a", "c")
    output = correlate(x=a, z=c, where=lambda x, z: x == z, yields=lambda x: x, restrict=unseen(c))
    assert [event.value for event in run(output, [(c, 1), (a, 1), (a, 2)])] == [2]
    by_name = correlate(x=a, z=c, where=lambda x, z: x == z, yields=lambda x: x, restrict=unseen("c"))
    assert [event.value for event in run(by_name, [(c, 1), (a, 1), (a, 2)])] == [2]


def test_a_field_may_name_several():
    a, b, c = inputs("a", "b", "c")
    output = correlate(x=a, y=b, where=lambda x, y: x == y, yields=lambda x: x, restrict=none_of("y", c))
    trace = [(a, 1), (b, 2), (a, 2), (a, 3), (c, 0), (a, 4)]
    assert [event.value for event in run(output, trace)] == [1, 3]


def test_what_no_restriction_says_to_forget_is_kept():
    a, b, c = inputs("a", "b", "c")
    output = correlate(x=a, y=b, yields=lambda x, y: x, restrict=none_of(c) | most_recently("x"))
    engine = Engine(output)
    for reactive in (c, a, a, a):
        engine.push(reactive, 1)
    engine.advance(100)
    assert slots_of(engine) == {"x": 1, "y": 0, "c": 1}


def test_a_reactive_that_is_bound_twice_is_ambiguous():
    a, c = inputs("a", "c")
    with pytest.raises(InvalidArgument) as refused:
        correlate(x=a, y=c, z=c, yields=lambda x: x, restrict=unseen(c))
    assert str(refused.value) == (
        "unseen(c): expected one slot in never but Reactive('c') is bound to y, z; use the variable's name"
    )


def test_what_is_absent_need_not_be_named_to_let_the_others_expire():
    a, b, c = inputs("a", "b", "c")
    engine = Engine(correlate(a=a, b=b, yields=lambda a, b: (a, b), restrict=within(5, "a", "b") | unseen(c)))
    engine.push(a, 1, at=1)
    engine.advance(7)
    assert engine.stats.retained == 0


def test_a_condition_on_it_that_fails_leaves_the_push_undone():
    a, c = inputs("a", "c")
    output = correlate(
        a=a, c=c, where=lambda a, c: c.n > a.n, yields=lambda a: a.n, restrict=without("c", after="a", within=3)
    )
    engine = Engine(output)
    engine.push(a, {"n": 1}, at=1)
    engine.push(c, {"n": "many"}, at=2)
    before = engine.snapshot()
    with pytest.raises(TypeError) as failed:
        engine.advance(9)
    assert any("in the body of" in note for note in failed.value.__notes__)
    assert engine.snapshot() == before


def test_what_is_forgotten_is_known_after_a_restore_and_not_after_a_failure():
    a, c = inputs("a", "c")
    fails = [True]

    def body(x: Any) -> Any:
        if fails:
            raise RuntimeError
        return x

    calm = correlate(a=a, yields=lambda a: a, restrict=without(c, before="a", within=3), name="calm")
    output = correlate(x=calm, yields=body)
    engine = Engine(output)
    engine.push(c, "c", at=1)
    engine.push(a, "A", at=7)
    with pytest.raises(RuntimeError):
        engine.advance(8)  # the event is forgotten at 5, the row is decided at 7
    assert slots_of(engine) == {"a": 0, "c": 1, "x": 0}
    fails.clear()
    assert engine.push(a, "B", at=(4, 9)) == []
    assert [event.value for event in engine.advance(8)] == ["A"]
    assert engine.late == []
    for one in (engine, Engine.restore(engine.snapshot(), output)):
        assert one.push(a, "C", at=(4, 9)) == []
        assert [event.value for event, _, _ in one.late] == ["C"]
