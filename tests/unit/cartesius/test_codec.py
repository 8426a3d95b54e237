"""The codec of snapshots: exact to the type, damage is noticed, and nothing but plain data goes in (SEMANTICS 1.16)."""

from __future__ import annotations

import enum
import math
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, storable
from cartesius.data import codec
from cartesius.data.codec import decode, encode, stored_module
from cartesius.data.queues import Queue
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch
from restrictions import cartesian, key_by, most_recently


@storable
class Colour(enum.Enum):
    RED = 1
    GREEN = "green"


@storable
class Flag(enum.IntEnum):
    OFF = 0
    ON = 1


@storable
class Right(enum.Flag):
    READ = 1
    WRITE = 2


@storable
class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 128


@storable
@attrs.frozen(cache_hash=True)
class Hashed:
    a: Any
    b: Any


@storable
@attrs.frozen(cache_hash=True, slots=False)
class HashedDict:
    a: Any


@storable
@dataclass
class Square:
    side: int

    @cached_property
    def area(self):
        return self.side**2


@storable
@attrs.frozen
class Position:
    latitude: float
    longitude: Any


@storable
@dataclass(frozen=True)
class Berth:
    name: str
    depth: Decimal


@storable
class Pair(NamedTuple):
    first: Any
    second: Any


class Unregistered:
    def __repr__(self):
        return "an Unregistered"


ZONES = [
    None,
    UTC,
    timezone(timedelta(hours=5, minutes=45)),
    timezone(timedelta(hours=-3), "BRT"),
    ZoneInfo("America/New_York"),
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**63 - 2, max_value=2**200),
    st.floats(),
    st.sampled_from([math.nan, -0.0, 0.0, math.inf, -math.inf, 2**53 + 1, float(2**53), 1, 1.0, True]),
    st.text(),
    st.binary(),
    st.decimals(),
    st.dates(),
    st.builds(
        lambda d, zone, fold: d.replace(tzinfo=zone, fold=fold),
        st.datetimes(),
        st.sampled_from(ZONES),
        st.integers(0, 1),
    ),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from(
        [*Colour, *Flag, *Right, Right.READ | Right.WRITE, Right(0), Bits(0), Bits(129), Bits(-1), Bits(6)]
    ),
)
hashable = st.recursive(
    scalars.filter(lambda v: not (isinstance(v, Decimal) and v.is_snan())),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(Pair, inner, inner),
        st.builds(Position, st.floats(), inner),
        st.builds(Hashed, inner, inner),
        st.builds(HashedDict, inner),
        st.builds(Berth, st.text(), st.decimals(allow_nan=False)),
    ),
    max_leaves=5,
)
storables = st.recursive(
    st.one_of(scalars, hashable),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(hashable, inner, max_size=3),
        st.sets(hashable, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Position, st.floats(), inner),
    ),
    max_leaves=12,
)


def exact(value):
    """A form of ``value`` that is equal exactly for values that agree to the type, NaN with NaN, 0.0 not with -0.0."""
    kind = type(value).__name__
    if isinstance(value, Position):
        return kind, exact(value.latitude), exact(value.longitude)
    if isinstance(value, Berth):
        return kind, value.name, exact(value.depth)
    if isinstance(value, (list, tuple)):
        return kind, [exact(part) for part in value]
    if isinstance(value, Record):
        return kind, [(exact(key), exact(part)) for key, part in value._fields.items()]
    if isinstance(value, dict):
        return kind, [(exact(key), exact(part)) for key, part in value.items()]
    if isinstance(value, (set, frozenset)):
        return kind, sorted(map(repr, map(exact, value)))
    if isinstance(value, datetime):
        zone = value.tzinfo
        name = zone.key if isinstance(zone, ZoneInfo) else (zone.utcoffset(None), zone.tzname(None)) if zone else None
        return kind, value.replace(tzinfo=None).isoformat(), value.fold, type(zone).__name__, name
    if isinstance(value, Decimal):
        return kind, value.as_tuple()
    return kind, repr(value)


@given(value=storables)
@example(value=[2**53 + 1, 1, 1.0, True, -0.0, math.nan, math.inf])
@example(value={1: "int", "1": "str", (1,): "tuple", None: "none", b"1": "bytes"})
@example(value=["i", ["t", 1], ("t", 1), {"t": 1}, [["i", "ff"]]])  # looks like the codec's own tags
@example(value={"__type__": "Position", "$": []})
@example(value="\ud800\x00é")
@example(value=datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"), fold=1))
@example(value=[Decimal("1.10"), Decimal("-0"), Decimal("NaN"), Decimal("1E+5"), Decimal("Infinity")])
@example(value=-(2**4000))
def test_what_is_stored_comes_back_to_the_type(value):
    assert exact(decode(encode(value))) == exact(value)


@given(value=storables)
def test_encoding_is_canonical_enough_to_be_repeated(value):
    blob = encode(value)
    again = decode(encode(decode(blob)))
    assert exact(again) == exact(value)


def test_a_dictionary_keeps_its_order():
    assert list(decode(encode({"b": 1, "a": 2, "c": 3}))) == ["b", "a", "c"]


def test_a_record_may_have_fields_called_as_the_methods_of_a_mapping():
    record = Record({"items": 1, "keys": None, "get": "x"})
    assert decode(encode(record)) == record


@given(value=storables, data=st.data())
def test_a_flipped_byte_is_noticed(value, data):
    blob = bytearray(encode(value))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SnapshotMismatch):
        decode(bytes(blob))


@given(value=storables, data=st.data())
def test_a_truncated_or_extended_blob_is_noticed(value, data):
    blob = encode(value)
    with pytest.raises(SnapshotMismatch):
        decode(blob[: data.draw(st.integers(0, len(blob) - 1))])
    with pytest.raises(SnapshotMismatch):
        decode(blob + data.draw(st.binary(min_size=1, max_size=4)))


@given(blob=st.binary())
def test_any_bytes_are_refused_without_another_error(blob):
    with pytest.raises(SnapshotMismatch):
        decode(blob)


def test_a_pickle_is_refused():
    import pickle

    with pytest.raises(SnapshotMismatch):
        decode(pickle.dumps({"a": 1}))


def _local():
    return 1


class Sub(int):
    pass


Loose = namedtuple("Loose", "a")


@pytest.mark.parametrize(
    "value",
    [
        Unregistered(),
        _local,
        lambda: 1,
        object(),
        1j,
        range(3),
        Sub(3),
        Loose(1),
        Unregistered,
        OrderedDict(a=1),
        iter([]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_data_is_refused_with_the_remedy(value):
    for nested in (value, [value], {"k": (value,)}):
        with pytest.raises(NotStorable) as caught:
            encode(nested)
        assert type(value).__name__ in str(caught.value)
        assert "storable" in str(caught.value) or "use plain data" in str(caught.value)
        assert isinstance(caught.value, TypeError)


def test_a_class_that_could_be_registered_is_refused_with_storable_as_the_remedy():
    @attrs.frozen
    class Forgotten:
        a: int

    with pytest.raises(NotStorable, match="storable") as caught:
        encode([Forgotten(1)])
    assert "Forgotten" in str(caught.value)


@pytest.mark.parametrize("value", [Unregistered, int, 3, "Vessel"])
def test_storable_refuses_what_it_cannot_take_apart(value):
    with pytest.raises(InvalidArgument):
        storable(value)


# ---------------------------------------------------------------------------------------------------------- engines


def program(**options):
    left, right = Reactive("left"), Reactive("right")
    return left, right, cartesian(left, right, **options)


NESTED = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "dict": lambda inner: {"in": inner},
    "record": lambda inner: Record({"in": inner}),
    "queue": lambda inner: Queue([inner]),
    "frozenset": lambda inner: frozenset([inner]),
    "attrs": lambda inner: Position(inner, 1),
    "dataclass": lambda inner: Berth(inner, Decimal()),
    "named tuple": lambda inner: Pair(inner, 1),
}


@pytest.fixture
def usual_depth():
    """Python's own limit, whatever has been imported beside: other libraries raise it for good."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("usual_depth")
@pytest.mark.parametrize("kind", NESTED)
def test_what_is_nested_so_deep_that_it_could_not_be_read_is_not_written(kind):
    def deeper(frames):
        return decode(blob) if not frames else deeper(frames - 1)

    value: Any = 1
    written = 0
    while written < 50:
        for _ in range(20):
            value = NESTED[kind](value)
        try:
            blob = encode(value)
        except NotStorable as error:
            assert "nested deeper" in str(error)  # noqa: PT017 - how deep is Python's affair
            break
        written += 1
        deeper(200)  # whoever restores may have called more functions than whoever saved
    assert 5 < written < 50


@given(value=storables)
def test_a_payload_survives_in_memory(value):
    left, right, output = program()
    engine = Engine(output)
    engine.push(left, value)
    (expected,) = engine.push(right, 1)
    restored = Engine.restore(engine.snapshot(), output)
    got = restored.push(right, 1)[0]
    assert exact(engine.push(right, 1)[0].value[0]) == exact(got.value[0])
    assert exact(expected.value[0]) == exact(got.value[0])


def test_an_unstorable_payload_is_refused_at_the_snapshot_naming_slot_type_and_remedy():
    left, _, output = program()
    engine = Engine(output)
    engine.push(left, Unregistered())
    with pytest.raises(NotStorable) as caught:
        engine.snapshot()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "left" in text
    assert "Unregistered" in text
    assert "plain data" in text


def test_a_durable_engine_refuses_it_at_the_push_and_stays_as_it_was():
    left, right, output = program()
    engine = Engine(output, durable=True)
    engine.push(right, 1)
    before = engine.stats
    with pytest.raises(NotStorable) as caught:
        engine.push(left, [Unregistered()])
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "left" in text
    assert "Unregistered" in text
    assert engine.stats == before
    assert [event.value for event in engine.push(left, 2)] == [(2, 1)]


def test_a_flipped_byte_of_a_snapshot_is_noticed():
    left, _, output = program()
    engine = Engine(output)
    engine.push(left, {"k": 1})
    blob = engine.snapshot()
    for place in range(len(blob)):
        damaged = bytearray(blob)
        damaged[place] ^= 1
        with pytest.raises(SnapshotMismatch):
            Engine.restore(bytes(damaged), output)


def _one(x, y):
    return x.k == y.k


def _other(x, y):
    return x.k != y.k


def _keyed(limit):
    return lambda x, y: bool(x.k + limit == y.k)


OTHERS = {
    "another restriction": lambda a, b: cartesian(a, b, restrict=most_recently("left")),
    "another order of slots": lambda a, b: cartesian(b, a),
    "another number of slots": lambda a, b: cartesian(a),
    "another configuration": lambda a, b: cartesian(a, b, restrict=most_recently("right", n=2)),
    "another composition": lambda a, b: cartesian(a, b, restrict=most_recently("right") | key_by(right="k")),
    "another composition order": lambda a, b: cartesian(a, b, restrict=key_by(right="k") | most_recently("right")),
    "a table": lambda a, b: cartesian(Reactive("left", table=True), b),
    "another input": lambda a, b: cartesian(Reactive("other"), b),
    "another pattern": lambda a, b: correlate(x=a, y=b, where=_one, yields=lambda x, y: x),
    "another condition": lambda a, b: correlate(x=a, y=b, where=_other, yields=lambda x, y: x),
    "another yield": lambda a, b: correlate(x=a, y=b, where=_one, yields=lambda x, y: y),
    "a captured value": lambda a, b: correlate(x=a, y=b, where=_keyed(1), yields=lambda x, y: x),
    "another captured value": lambda a, b: correlate(x=a, y=b, where=_keyed(2), yields=lambda x, y: x),
    "another name of a variable": lambda a, b: correlate(
        u=a, v=b, where=lambda u, v: u.k == v.k, yields=lambda u, v: u
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_programs_snapshot_is_refused(name):
    left, right = Reactive("left"), Reactive("right")
    mine = OTHERS[name](left, right)
    blob = Engine(mine).snapshot()
    Engine.restore(
        blob, OTHERS[name](Reactive("left"), Reactive("right")) if name not in ("a table", "another input") else mine
    )
    for other, make in OTHERS.items():
        if other != name:
            with pytest.raises(SnapshotMismatch):
                Engine.restore(blob, make(left, right))


def test_a_snapshot_with_other_outputs_is_refused():
    left = Reactive("left")
    one, two = (correlate(x=left, yields=lambda x: x, name=name) for name in ("one", "two"))
    with pytest.raises(SnapshotMismatch):
        Engine.restore(Engine(one).snapshot(), one, two)


def test_a_function_that_captures_what_cannot_be_stored_is_refused_at_the_snapshot():
    left, captured = Reactive("left"), Unregistered()
    output = correlate(x=left, where=lambda x: captured is not None, yields=lambda x: x)
    engine = Engine(output)
    engine.push(left, 1)
    with pytest.raises(NotStorable, match="Unregistered"):
        engine.snapshot()


def test_a_registered_type_may_move_between_two_engines_of_one_program():
    left, right, output = program()
    engine = Engine(output)
    engine.push(left, Position(1.5, [Berth("A", Decimal("15.24"))]))
    restored = Engine.restore(engine.snapshot(), output)
    (event,) = restored.push(right, Colour.RED)
    assert event.value == (Position(1.5, [Berth("A", Decimal("15.24"))]), Colour.RED)


def test_a_type_given_to_a_reactive_is_registered():
    @attrs.frozen
    class Vessel:
        mmsi: int

    vessel = Reactive("vessel", type=Vessel)
    output = correlate(v=vessel, yields=lambda v: v.mmsi)
    engine = Engine(output, durable=True)
    engine.push(vessel, Vessel(7))
    assert Engine.restore(engine.snapshot(), output).stats == engine.stats


def test_clock_counters_and_ended_inputs_are_in_the_snapshot():
    left, right, output = program()
    engine = Engine(output)
    engine.push(left, 1, at=5)
    engine.advance(7)
    engine.end(left)
    restored = Engine.restore(engine.snapshot(), output)
    assert restored.clock == 7
    assert restored.stats == engine.stats
    with pytest.raises(InvalidArgument):
        restored.push(left, 2)
    restored.end(right)
    assert restored.done


def test_the_default_time_goes_on_after_a_restore():
    left, right, output = program()
    engine = Engine(output)
    engine.push(left, 1, at=41)
    (event,) = Engine.restore(engine.snapshot(), output).push(right, 2)
    assert (event.start, event.end) == (41, 42)


def test_uuids_and_dates_are_themselves():
    value = [UUID(int=7), date(2024, 2, 29), timedelta(-1, 5), frozenset([1])]
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("module", "stored"),
    [
        ("cartesius.module", "cartesius.module"),
        ("cartesius.room.module", "cartesius.module"),  # as snapshots had it before there were rooms
        ("dsl.room.module", "dsl.module"),
        ("cartesius", "cartesius"),
        ("builtins", "builtins"),
        ("somebody.room.module", "somebody.room.module"),
    ],
)
def test_a_room_is_no_part_of_what_a_type_is_stored_as(module: str, stored: str):
    assert stored_module(module) == stored


def test_what_an_object_remembers_of_its_fields_is_made_anew():
    square, hashed = Square(3), Hashed(1, "x")
    assert (square.area, hash(hashed)) == (9, hash(Hashed(1, "x")))
    restored, again = decode(encode((square, hashed)))
    assert vars(restored) == {"side": 3}
    assert (restored.area, hash(again), again) == (9, hash(hashed), hashed)


@storable
class Sighting(NamedTuple("Sighting", [("name", str), ("at", int)])):
    """A named tuple that takes attributes, as a class that is derived from one does."""


@pytest.mark.parametrize("made", [Square(3), Sighting("EVA", 5)])
def test_what_an_object_has_beside_its_fields_is_refused_and_not_lost(made):
    assert decode(encode(made)) == made
    vars(made)["note"] = "nine"
    with pytest.raises(NotStorable, match=rf"a {type(made).__name__} of its fields alone but .* has note besides"):
        encode(made)


def test_a_type_that_has_no_flags_any_more_is_told(monkeypatch):
    blob = encode(Right.READ | Right.WRITE)
    monkeypatch.setitem(codec._types, codec.registered_name(Right), Position)
    with pytest.raises(SnapshotMismatch, match="which is no Flag here"):
        decode(blob)
