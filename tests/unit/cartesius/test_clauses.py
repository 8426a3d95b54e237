"""What a clause of a restriction may do, and what it is refused (DESIGN 3; SEMANTICS 1.8 and 1.12)."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import (
    Engine,
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
    tick,
)
from cartesius.errors import InvalidArgument
from cartesius.plan import Node, Opaque
from restrictions import first_match, key_by, optionally, retracting
from tests.unit.cartesius.clause_examples import Broken, through, values


def notes_of(error):
    return "\n".join(error.__notes__)


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
    def plan(self) -> tuple[Node, ...]:
        return (Opaque(consumes=False),)


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

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

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
