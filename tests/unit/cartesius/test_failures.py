"""Where something raised: in which correlation, for which outputs, and whether a deadline was due."""

from __future__ import annotations

import dataclasses
from typing import Any

import attrs
import pyarrow as pa
import pytest

from cartesius import Engine, Reactive, Update, correlate, restricting, run_frames
from cartesius.batching.world import Failure
from cartesius.errors import InvalidArgument, shortened
from restrictions import key_by, most_recently, only, retracting, versioned, within, without
from restrictions.streams import interval_join
from restrictions.tables import foreign_join, inner_join, to_table

level, quiet = Reactive("level"), Reactive("quiet")
inverse = correlate(x=level, yields=lambda x: 1 / x, restrict=most_recently("x"), name="inverse")
silent = correlate(x=level, yields=lambda x: x, restrict=without(quiet, after="x", within=5), name="silent")
inverse_of_silent = correlate(x=silent, yields=lambda x: 1 / x, restrict=most_recently("x"), name="inverse of silent")


def failure_of(engine, call, *arguments, error=ZeroDivisionError, **options):
    with pytest.raises(error) as caught:
        getattr(engine, call)(*arguments, **options)
    return engine.take_failure(), getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize("tier", [None, "in_place", "reference"])
def test_a_body_that_raises_is_told_with_the_outputs_that_are_made_from_it(tier):
    twice = correlate(y=inverse, yields=lambda y: 2 * y, restrict=most_recently("y"), name="twice")
    other = correlate(x=level, yields=lambda x: x, restrict=most_recently("x"), name="other")
    engine = Engine(other, twice, inverse, tier=tier)
    engine.push(level, 2, at=1)
    expected = Failure("inverse", "yields (1 / x)", ("twice", "inverse"), None)
    assert failure_of(engine, "push", level, 0, at=2)[0] == expected
    assert engine.take_failure() is None


def test_so_is_what_a_restriction_calls():
    kept = correlate(x=level, yields=lambda x: x, restrict=only("x", lambda x: 1 / x > 0), name="kept")
    failure, notes = failure_of(Engine(kept), "push", level, 0, at=1)
    assert failure == Failure("kept", "yields x", ("kept",), None)
    assert any("only" in note for note in notes)


def test_a_deadline_is_told_apart_from_the_event_that_moves_the_clock():
    engine = Engine(inverse_of_silent, lateness=0)
    engine.push(level, 0, at=1)
    expected = Failure("inverse of silent", "yields (1 / x)", ("inverse of silent",), 6)
    for call, arguments in (("push", (level, 1, 20)), ("advance", (20,)), ("close", ())):
        failure, notes = failure_of(engine, call, *arguments)
        assert failure == expected
        assert "while a deadline of without(quiet, after='x', within=5) was due, at 6" in notes


def test_what_is_refused_before_it_begins_has_none_whatever_failed_before():
    engine = Engine(inverse)
    with pytest.raises(ZeroDivisionError):
        engine.push(level, 0, at=1)
    engine.push(level, 1, at=1)
    assert failure_of(engine, "push", quiet, 1, at=2, error=InvalidArgument)[0] is None


def test_a_row_of_a_batch_is_told_as_a_push_is():
    engine = Engine(inverse)
    failure, _ = failure_of(engine, "push_many", {level: {"value": [1, 0, 2]}})
    assert failure == Failure("inverse", "yields (1 / x)", ("inverse",), None)


def test_long_bodies_and_values_are_shortened():
    text = "y" * 400
    same = correlate(x=level, where=lambda x: x.a != text, yields=lambda x: x.b, name="same")
    failure, notes = failure_of(Engine(same), "push", level, {"a": "z" * 5000}, at=1, error=AttributeError)
    assert failure is not None
    assert failure.pattern == f"where (x.a != '{'y' * 291}… (111 characters more) yields x.b"
    assert max(map(len, notes)) < 700
    assert shortened("a" * 9, 8) == "aaaaaaaa… (1 characters more)"


class Key:
    """Cannot be compared with another of its hash: that raises, as ``Decimal(1) == numpy.int64(1)`` does."""

    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return 1

    def __eq__(self, other):
        if isinstance(other, Key) and self is not other:
            raise TypeError(self.name)
        return self is other


left, right = Reactive("left"), Reactive("right")
ships, berths = Reactive("ships", table=True), Reactive("berths", table=True)
BY_KEY = {
    "key_by": correlate(
        x=left, y=right, yields=lambda x, y: (x.n, y.n), restrict=key_by(x="k", y="k") | most_recently("x", "y")
    ),
    "where": correlate(
        x=left, y=right, where=lambda x, y: x.k == y.k, yields=lambda x, y: (x.n, y.n), restrict=within(9, "x", "y")
    ),
    "interval_join": interval_join(left, right, -9, 9, key="k"),
    "foreign_join": foreign_join(ships, berths, on="k"),
    "inner_join": inner_join(to_table(left, key="k"), to_table(right, key="k")),
    "versioned": correlate(
        x=left,
        y=right,
        yields=lambda x, y: (x.n, y.n),
        restrict=retracting() | key_by(x="k", y="k") | versioned("x", retention=10),
    ),
}


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("name", BY_KEY)
def test_a_key_whose_comparison_raises_leaves_all_as_it_was(name, tier):
    """An index compared it when the change had begun, and the engine was broken."""
    engine, twin = (Engine(BY_KEY[name], lateness=9, tier=tier) for _ in range(2))
    one, other = Key("one"), Key("other")
    first, second = (ships, berths) if name == "foreign_join" else (left, right)

    def row(stream, n, key):
        value = {"n": n, "k": key}
        return Update(n if stream is ships else key, value) if stream.table else value

    for each in (engine, twin):
        each.push(first, row(first, 1, one))
    for _ in range(2):
        with pytest.raises(TypeError, match=r"one|other"):
            engine.push(first, row(first, 2, other))
    assert engine.stats == twin.stats
    engine._check_invariants()
    assert engine.push(second, row(second, 3, one)) == twin.push(second, row(second, 3, one)) != []


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    size: int


@attrs.frozen
class Defined(Exception):
    size: int


class Slotted(Exception):
    __slots__ = ("emitted", "size")


class Proud(Exception):
    """It has its own way with notes."""

    def add_note(self, note):
        raise RuntimeError(note)


ODD: Any = pytest.mark.parametrize("odd", [Frozen, Defined, Slotted, Proud])


def emitted_by(engine, value, error):
    """Return the values that an error carries out of a push; None: it carries nothing."""
    with pytest.raises(type(error)) as caught:
        engine.push(level, value)
    assert caught.value is error
    emitted = getattr(error, "emitted", None)
    return emitted if emitted is None else [event.value for event in emitted]


def raising(error):
    def raises(x):
        raise error

    return raises


@pytest.fixture(params=[None, "in_place", "reference"])
def same(request):
    """An engine that emits what is pushed."""
    return Engine(correlate(x=level, yields=lambda x: x), tier=request.param)


@ODD
def test_an_error_that_is_raised_again_carries_what_the_last_call_has_emitted(same, odd):
    error = odd(7)
    same.subscribe(same.outputs[0], raising(error))
    assert [emitted_by(same, value, error) for value in (1, 2, 3)] == [[1], [2], [3]]


@ODD
def test_of_a_push_that_did_not_happen_an_error_carries_nothing_whatever_it_carried_before(same, odd):
    error = odd(7)
    subscription = same.subscribe(same.outputs[0], raising(error))
    assert emitted_by(same, 1, error) == [1]
    subscription.cancel()
    fails = Engine(correlate(x=level, yields=raising(error)))
    assert emitted_by(fails, 1, error) is None


def test_an_error_carries_what_its_own_engine_has_emitted_not_what_another_has(same):
    error, other = OSError("full"), Engine(inverse)
    other.subscribe(inverse, raising(error))
    same.subscribe(same.outputs[0], lambda events: other.push(level, 2))
    assert emitted_by(same, 5, error) == [5]
    in_body = Engine(correlate(x=level, yields=lambda x: other.push(level, x)))
    assert emitted_by(in_body, 4, error) is None
    assert other.stats.events == 2


def test_a_call_that_a_subscriber_makes_adds_what_it_has_emitted(same):
    """Its own events are told later: who listens to a run is told at once."""
    error = KeyboardInterrupt()

    def listens(events):
        if events[0].value == 2:
            raise error

    same._listeners.append(listens)
    same.subscribe(same.outputs[0], lambda events: same.push(level, events[0].value + 1))
    assert emitted_by(same, 1, error) == [1, 2]


@ODD
def test_an_error_of_any_class_carries_what_was_emitted_and_breaks_nothing(same, odd):
    subscription = same.subscribe(same.outputs[0], raising(error := odd(7)))
    assert emitted_by(same, 1, error) == [1]
    subscription.cancel()
    assert [event.value for event in same.push(level, 2)] == [2]


@ODD
def test_an_error_that_has_come_before_carries_what_the_rows_of_its_own_batch_gave(odd):
    error = odd(7)

    def raises(x):
        return raising(error)(x) if x % 4 == 3 else x

    engine = Engine(correlate(x=level, yields=raises))
    for first in (0, 4):
        with pytest.raises(odd):
            engine.push_many({level: {"value": [first + n for n in range(4)]}})
        assert error.emitted["value"].to_pylist() == [first, first + 1, first + 2]


def pushed(error):
    yield Engine(correlate(x=level, yields=raising(error))), lambda engine: engine.push(level, 1)


def pushed_in_each_tier(error):
    for tier in (None, "in_place", "reference"):
        yield (
            Engine(correlate(x=level, yields=raising(error), restrict=most_recently("x")), tier=tier),
            lambda engine: engine.push(level, 1, at=1),
        )


def recorded(error):
    yield Engine(correlate(x=level, yields=raising(error)), trace=True), lambda engine: engine.push(level, 1)


def gated(error):
    yield (
        Engine(correlate(x=level, yields=lambda x: x, restrict=only("x", raising(error))), trace=True),
        lambda engine: engine.push(level, 1),
    )


def due(error):
    behind = correlate(x=silent, yields=raising(error), restrict=most_recently("x"))
    for tier in (None, "in_place", "reference"):
        engine = Engine(behind, tier=tier)
        engine.push(level, 1, at=1)
        yield engine, lambda engine: engine.advance(20)


def in_a_batch(error):
    def raises(x):
        return raising(error)(x) if x == 3 else x

    for tier in (None, "in_place"):
        yield (
            Engine(correlate(x=level, yields=raises), tier=tier),
            lambda engine: engine.push_many({"level": {"value": [1, 2, 3]}}),
        )


def in_frames(error):
    program, rows = correlate(x=level, yields=raising(error)), pa.table({"value": [1], "at": [1]})
    yield None, lambda _: run_frames(program, {"level": rows}, at="at")


def heard(error):
    engine = Engine(correlate(x=level, yields=lambda x: x))
    engine.subscribe(engine.outputs[0], raising(error))
    yield engine, lambda engine: engine.push(level, 1)


def taken_back(error):
    seen = []

    def raises(x):
        seen.append(x)
        return raising(error)(x) if len(seen) > 1 else x

    engine = Engine(correlate(x=level, yields=raises, restrict=most_recently("x") | retracting()), tier="in_place")
    engine.push(level, 1)
    yield engine, lambda engine: engine.push(level, 2)


def bound(error):
    def work(_):
        with restricting(most_recently("x")):
            raise error

    yield None, work


WAYS = [pushed, pushed_in_each_tier, recorded, gated, due, in_a_batch, in_frames, heard, taken_back, bound]


@ODD
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_users_raise_comes_out_as_it_is_whatever_its_class_refuses(way, odd):
    error = odd(7)
    for engine, call in way(error):
        with pytest.raises(odd) as caught:
            call(engine)
        assert caught.value is error
        if engine is not None:
            assert error.__notes__
            with pytest.raises(odd):  # it is not broken: the call may be made again
                call(engine)
