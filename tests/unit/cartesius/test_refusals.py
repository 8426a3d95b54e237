"""What is refused at the doors of the library, with the reason, and corners that nothing else visits."""

from __future__ import annotations

import functools
import json
import operator
import typing
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from fractions import Fraction
from functools import partial
from operator import attrgetter
from typing import Any

import attrs
import pytest

from cartesius import (
    CartesiusError,
    Delete,
    Duration,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Slots,
    Update,
    arrive,
    controls,
    correlate,
    forward,
    handles,
    state,
    storable,
)
from cartesius.batching.world import World
from cartesius.data.codec import decode, encode, text_of, unpack
from cartesius.data.queues import Queue
from cartesius.data.records import wrap
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch
from cartesius.expressions.expressions import Expression, evaluator
from cartesius.language.annotations import kind_of
from cartesius.language.fingerprints import describe
from restrictions import as_table, cartesian, key_by, most_recently, optionally, retracting
from restrictions.streams import distinct_until_changed


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def refused(match):
    return pytest.raises(InvalidArgument, match=match)


# ----------------------------------------------------------------------------------------------------------- engines


@pytest.mark.parametrize("unit", [5, None, timedelta(0), timedelta(seconds=-1)])
def test_a_unit_is_a_positive_timedelta(left, unit):
    with refused("Engine: expected what one unit of time means"):
        Engine(cartesian(left), unit=unit)


@pytest.mark.parametrize("lateness", [-1, timedelta(seconds=-1)])
def test_a_lateness_is_not_negative(left, lateness):
    with refused("Engine: expected a lateness ≥ 0"):
        Engine(cartesian(left), lateness=lateness)


@pytest.mark.parametrize("lateness", [1.5, "2", True])
def test_a_lateness_is_a_duration(left, lateness):
    with refused("Engine: expected a duration, an int of time units or a timedelta, but got lateness="):
        Engine(cartesian(left), lateness=lateness)


def test_an_output_that_is_named_twice_is_given_once(left):
    output = cartesian(left)
    assert len(Engine(output, output).push(left, 1)) == 1


def test_late_events_can_be_taken_so_that_they_do_not_pile_up(left):
    engine = Engine(cartesian(left))
    engine.advance(10)
    engine.push(left, "slow", at=3)
    ((event, name, reason),) = engine.take_late()
    assert (event.value, name, reason) == ("slow", "left", "its end 3 is before the clock 10")
    assert engine.late == engine.take_late() == []


def test_the_name_of_an_input_is_not_the_input(left):
    name: Any = "left"
    with refused("give the reactive itself, not its name"):
        Engine(cartesian(left)).push(name, 1)


def test_another_reactive_of_the_same_name_is_another(left):
    with refused("that of the same name is another object"):
        Engine(cartesian(left)).push(Reactive("left"), 1)


# ------------------------------------------------------------------------------------------------------------ tables


def test_a_bare_row_goes_into_a_table_that_declares_its_key():
    ships = Reactive("ships", table=True, key="mmsi")
    engine = Engine(correlate(s=ships, yields=lambda s: s.name, restrict=retracting() | as_table("s")))
    assert [e.value for e in engine.push(ships, {"mmsi": 7, "name": "EVA"})] == [Update(7, "EVA")]
    with refused("expected a row with the key 'mmsi' for the table 'ships'"):
        engine.push(ships, {"name": "EVA"})
    with refused("expected a row of 'ships' with a value for its key 'mmsi' but got None"):
        engine.push(ships, {"mmsi": None, "name": "EVA"})
    with refused("expected a row of 'ships' with a value for its key"):
        engine.push(ships, Update(None, {"name": "EVA"}))


def test_a_table_of_one_row_takes_bare_rows_without_a_key():
    tugs = Reactive("tugs", table=True, key=None)
    engine = Engine(correlate(t=tugs, yields=lambda t: t, restrict=retracting() | as_table("t")))
    assert [e.value for e in engine.push(tugs, 3) + engine.push(tugs, Delete("any"))] == [Update((), 3), Delete(())]


def test_a_table_without_a_declared_key_takes_changes_alone():
    table = Reactive("table", table=True)
    with refused(r"expected an Update or a Delete for the table 'table' but got 3"):
        Engine(correlate(t=table, yields=lambda t: t)).push(table, 3)


def test_rows_that_a_failed_push_has_shown_are_undone(left):
    def yields(row):
        if row == "bad":
            raise ZeroDivisionError
        return row

    shown = correlate(x=left, yields=lambda x: x, restrict=most_recently("x") | as_table(lambda x: 0), name="shown")
    after = correlate(row=shown, yields=yields)
    engine = Engine(after)
    engine.push(left, "good")
    with pytest.raises(ZeroDivisionError):
        engine.push(left, "bad")
    assert engine.query(shown) == {0: "good"}


# ------------------------------------------------------------------------------------------------------- restrictions


def test_one_slot_is_expected_where_a_reactive_is_bound_to_two(left):
    class gate(Restriction):
        slot: Slot

    with refused("expected one slot in slot but Reactive"):
        correlate(x=left, y=left, yields=lambda x: x, restrict=gate(left))


def test_a_clause_names_fields_that_there_are(left):
    class gate(Restriction):
        slot: Slot

        @handles(arrive, "slots")
        def see(self, slot, event):
            forward(slot, event)

    with refused("expected the name of a field of slots in handles"):
        cartesian(left, restrict=gate("left"))


def test_a_key_is_a_function_or_none(left):
    wrong: Any = 7
    with refused("distinct_until_changed: expected a function but got key=7"):
        distinct_until_changed(left, key=wrong)


def test_conditions_on_three_slots_cannot_be_left_out_in_part(left, right):
    with refused("optionally: expected conditions between two slots"):
        correlate(
            x=left,
            y=right,
            z=Reactive("third"),
            where=lambda x, y, z: x.a + y.b == z.c,
            yields=lambda x: x,
            restrict=optionally("z") | retracting(),
        )


def test_a_condition_on_no_slot_that_fails_lets_nothing_through(left, right):
    no = 1
    never = correlate(
        x=left,
        y=right,
        where=lambda x, y: (x == y) & (no == 2),
        yields=lambda x: x,
        restrict=optionally("y") | retracting(),
    )
    assert Engine(never).push(left, 1) == []


def test_a_body_in_direct_style_meets_only_under_equal_keys_also_where_parts_may_miss(left, right):
    @correlate(x=left, y=right, restrict=optionally("y") | retracting() | key_by(x="k", y="k"))
    def pairs(x, y):
        yield x.n, None if y is None else y.n

    engine = Engine(pairs)
    engine.push(right, {"k": "a", "n": 1})
    got = engine.push(left, {"k": "b", "n": 2}) + engine.push(left, {"k": "a", "n": 3})
    assert [e.value for e in got] == [(2, None), (3, 1)]


def test_a_continuation_may_be_thrown_into_inside_its_clause_and_later(left, right):
    class refusing(Restriction):
        slot: Slot
        signal: Slot
        held = state(None)

        @controls(arrive, "slot")
        def hold(self, slot, event, resume):
            if event.value == "now":
                return resume.throw(ZeroDivisionError("now"))
            self.held = resume
            return None

        @handles(arrive, "signal")
        def refuse(self, slot, event):
            self.held.throw(ZeroDivisionError("later"))

    engine = Engine(correlate(x=left, y=right, yields=lambda x: x, restrict=refusing("x", "y")))
    with pytest.raises(ZeroDivisionError, match="now"):
        engine.push(left, "now")
    engine.push(left, "hold")
    with pytest.raises(ZeroDivisionError, match="later"):
        engine.push(right, "go")


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (Slot, "slot"), (Slots, "slots"), (Duration, "duration"), ("Duration | None", "duration"),
        (Callable, "function"), (Callable[[int], int], "function"), (typing.Callable, "function"),
        ("Callable[[Any], Any]", "function"), ("Callable[[Any], Any] | None", "plain"), (int, "plain"),
        ("int", "plain"), ([], "plain"),
    ],
)  # fmt: skip
def test_an_annotation_says_what_a_field_holds(annotation, kind):
    assert kind_of(annotation) == kind


# --------------------------------------------------------------------------------------------------- codec and others


def test_what_is_stored_by_another_version_or_type_is_told():
    @storable
    @attrs.frozen
    class Ship:
        name: str

    packed = json.loads(text_of(Ship("EVA")))
    assert unpack(packed) == Ship("EVA")
    with pytest.raises(SnapshotMismatch, match="is not registered here"):
        unpack([packed[0], packed[1] + "Gone", *packed[2:]])
    with pytest.raises(SnapshotMismatch, match="its definition changed"):
        unpack([*packed, 1])
    with pytest.raises(SnapshotMismatch, match="of an unknown kind '§'"):
        unpack(["§", 1])


@attrs.frozen
class Stored:
    value: str

    def tell(self):
        return self.value


class Oddly(tzinfo):
    """A zone of one's own."""

    def utcoffset(self, moment):
        return timedelta(0)

    def tzname(self, moment):
        return "odd"

    def dst(self, moment):
        return None


def test_a_zone_of_ones_own_cannot_be_saved():
    with pytest.raises(NotStorable, match="expected a time zone of datetime or zoneinfo"):
        text_of(datetime(2026, 1, 1, tzinfo=Oddly()))


def test_dicts_with_keys_of_any_kind_survive():
    value = {1: "a", (2, 3): None, "k": {4.5}}
    assert decode(encode(value)) == value


def test_a_description_is_canonical():
    assert describe({2, 1}) == describe({1, 2})
    assert describe(frozenset({1})) != describe({1})
    assert "partial of" in describe(partial(int, base=2))
    assert describe(attrgetter("a")) == "operator.attrgetter('a')"
    assert describe(Fraction(1, 3)) == "Fraction(1, 3)"
    assert describe([1].append) == f"method of {describe([1])}: list.append"
    assert describe(len) == "builtins.len"
    assert describe(Stored("a").tell) != describe(Stored("b").tell)


def test_queues_and_records_are_values():
    assert Queue([1, 2]) == Queue([1]).append(2)
    assert Queue([1]) != [1]
    assert hash(Queue([1, 2])) == hash(Queue([3, 4]))
    assert repr(Queue([1])) == "Queue([1])"
    record = wrap({"a": 1})
    assert ("a" in record, list(record), len(record)) == (True, ["a"], 1)
    with pytest.raises(AttributeError, match="a record cannot be changed"):
        record.a = 2


def test_what_is_no_expression_cannot_be_evaluated():
    with pytest.raises(TypeError, match="not an expression"):
        evaluator(Expression(), {})


def test_a_duration_has_whole_units():
    world = World(timedelta(seconds=1))
    assert world.units(timedelta(minutes=1), "call", "gap") == 60
    with refused("call: expected gap in whole time units"):
        world.units(timedelta(milliseconds=1), "call", "gap")
    with refused("call: expected a duration"):
        world.units("1", "call", "gap")


@pytest.mark.parametrize("wrong", [7, "where"])
def test_a_body_is_a_function(left, wrong):
    with refused("correlate: expected a function but got yields="):
        correlate(x=left, yields=wrong)


def test_every_refusal_is_of_one_family():
    assert issubclass(InvalidArgument, CartesiusError)
    assert issubclass(InvalidArgument, ValueError)


class Incomparable:
    """A function that nobody may compare."""

    def __call__(self, *_: object) -> int:
        return 1

    def __eq__(self, other):
        raise TypeError(other)

    __hash__ = object.__hash__


def kinds_of(kind: type[Restriction]) -> list[type[Restriction]]:
    return [kind, *(one for inner in kind.__subclasses__() for one in kinds_of(inner))]


@pytest.mark.parametrize("function", [Incomparable(), functools.cmp_to_key(operator.sub)], ids=["own", "key"])
def test_nothing_of_the_users_is_compared_to_print_it(function):
    """A key made by `functools.cmp_to_key` raises where it is compared with None, a default."""
    kinds = [kind for kind in kinds_of(Restriction) if kind.__module__.startswith("restrictions.")]
    printed = 0
    for kind in kinds:
        for field in kind._defaults:
            one = object.__new__(kind)
            values = {name: ("x",) if what == "slots" else "x" for name, what in kind._fields.items()}
            vars(one)["configuration"] = {**values, **kind._defaults, field: function}
            printed += f"{field}=" in repr(one)
    assert printed > 20


@pytest.mark.parametrize("option", ["durable", "trace"])
def test_whether_an_engine_is_durable_or_traces_is_true_or_false(option):
    given: Any = {option: "no"}
    with pytest.raises(InvalidArgument, match=f"Engine: expected {option} to be True or False but got {option}='no'"):
        Engine(Reactive("a"), **given)
