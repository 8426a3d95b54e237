"""What holds at a moment is found by bisection: that is what asking each version says, and few are asked.

The same programs run over long histories, once with every version asked. `tests/oracle` compares what is found by
bisection with brute force, over short ones.
"""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.storage import version_memories
from cartesius.storage.version_memories import VersionMemory
from cartesius.storage.versions_in_order import Moment
from restrictions import affinely, as_table, key_by, optionally, retracting, versioned

FACT, STREAM = Reactive("fact"), Reactive("stream")
ROW, OTHER = Reactive("row", table=True), Reactive("other", table=True)


def looked_up(**options):
    return correlate(
        x=FACT,
        y=ROW,
        where=lambda x, *, key_y: x.k == key_y,
        yields=lambda x, y: (x.v, y.v, 12 // y.v),  # a version of 0 cannot be met
        restrict=retracting() | versioned("y", **options),
    )


def looked_up_or_not(**options):
    stack = key_by(x="k", y="k") | retracting() | optionally("y") | versioned("y", **options)
    return correlate(x=FACT, y=STREAM, yields=lambda x, y: (x.v, None if y is None else y.v), restrict=stack)


def of_whatever_key(**options):
    return correlate(x=FACT, y=ROW, yields=lambda x, y: (x.v, y.v), restrict=retracting() | versioned("y", **options))


def used_once(**options):
    stack = key_by(x="k", y="k") | affinely("x") | versioned("x", "y", **options)
    return correlate(x=FACT, y=STREAM, yields=lambda x, y: (x.v, y.v), restrict=stack)


def by_key(one, other, **options):
    return correlate(
        x=one,
        y=other,
        where=lambda *, key_x, key_y: key_x == key_y,
        yields=lambda x, y: (x, y.v),
        restrict=versioned("x", "y", **options) | retracting() | as_table("x"),
    )


def joined_twice(**options):
    return by_key(by_key(ROW, OTHER, **options), OTHER, **options)


def of_several_at_once(**options):
    same = key_by(x="k", y="k")
    pairs = correlate(x=FACT, y=STREAM, yields=lambda x, y: {"k": x.k, "v": x.v + y.v}, restrict=same)
    stack = same | retracting() | versioned("y", **options)
    return correlate(x=Reactive("asked"), y=pairs, yields=lambda x, y: (x.v, y.v), restrict=stack)


def stored_and_failed(**options):
    """A version of 6 is stored, as it wins over all others of its time, and then its row cannot be made."""
    stack = key_by(x="k", y="k") | retracting() | versioned("y", **options)
    return correlate(x=FACT, y=STREAM, yields=lambda x, y: (x.v, y.v, 12 // (6 - y.v)), restrict=stack)


PROGRAMS = [looked_up, looked_up_or_not, of_whatever_key, used_once, joined_twice, of_several_at_once]
TIMES = st.one_of(st.integers(0, 12), st.integers(0, 200))
ARRIVALS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(-1, 6), TIMES), min_size=20, max_size=70
)


def run(program, arrivals, options, snapshot_at, failed=None):
    """What comes of arrivals, but for those in ``failed``; where it is empty, those that fail are put there."""
    without, engine = {*(failed or ())}, Engine(program(**options))
    out: list[object] = []
    for place, (source, key, value, time) in enumerate(arrivals):
        if place == snapshot_at:
            engine = Engine.restore(engine.snapshot(), *engine.outputs)
        inputs = [*engine.inputs.values()]
        reactive = inputs[source % len(inputs)]
        row = {"k": key, "v": value}
        change = (Delete(key) if value < 0 else Update(key, row)) if reactive.table else row
        try:
            events = [] if place in without else engine.push(reactive, change, at=time)
            out.append([(one.value, one.start, one.end, one.weight) for one in events])
        except ZeroDivisionError as error:
            out.append(repr(error) if failed is None else [])
            if failed is not None:
                failed.append(place)
        engine._check_invariants()
        if place % 20 == 19:
            out.append(repr(engine.advance(time)))
    return out, [(repr(event.value), reason) for event, _, reason in engine.late], engine.stats.retained


@pytest.mark.parametrize("program", PROGRAMS)
@given(arrivals=ARRIVALS, retention=st.sampled_from([None, 3, 50]), snapshot_at=st.integers(0, 60))
def test_what_holds_is_found_as_if_each_were_asked(program, arrivals, retention, snapshot_at):
    options = {"retention": retention}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(version_memories, "LEAST", 1)
        found = run(program, arrivals, options, snapshot_at)
        patch.setattr(version_memories, "is_in_order", lambda _: False)
        assert found == run(program, arrivals, options, snapshot_at)


@pytest.mark.parametrize("program", [looked_up, stored_and_failed])
@given(arrivals=ARRIVALS, retention=st.sampled_from([None, 3, 50]))
def test_a_push_that_fails_leaves_no_version_behind(program, arrivals, retention):
    """A history is searched by numbers, and a version that is taken back has none."""
    failed: list[int] = []
    times = [(source, key, value, time % 6) for source, key, value, time in arrivals]  # many of one time
    found = run(program, times, {"retention": retention}, None, failed)
    event(f"{len(failed)} pushes failed" if len(failed) < 5 else "5 pushes failed, or more")
    assert found == run(program, times, {"retention": retention}, None, failed)


def asked(monkeypatch, engine, *pushes):
    """How many versions are asked whether they hold."""
    count = 0
    see = Moment.see

    def counted(moment, version):
        nonlocal count
        count += 1
        return see(moment, version)

    monkeypatch.setattr(Moment, "see", counted)
    for reactive, value, at in pushes:
        engine.push(reactive, value, at=at)
    monkeypatch.setattr(Moment, "see", see)
    return count


@pytest.mark.parametrize("program", [looked_up, looked_up_or_not])
@pytest.mark.parametrize("is_restored", [False, True])
def test_few_versions_are_asked_however_many_there_are(program, is_restored, monkeypatch):
    engine = Engine(program())
    _, other = engine.inputs.values()
    for number in range(2_000):
        row = {"k": 0, "v": 1}
        engine.push(other, Update(0, row) if other.table else row, at=2 * number)
    if is_restored:
        engine = Engine.restore(engine.snapshot(), *engine.outputs)
    fact = {"k": 0, "v": 5}
    assert asked(monkeypatch, engine, (FACT, fact, 1_001)) <= 8
    late = {"k": 0, "v": 2}
    assert asked(monkeypatch, engine, (other, Update(0, late) if other.table else late, 1_999)) <= 8
    assert asked(monkeypatch, engine, (FACT, fact, 1_999)) <= 8


def test_few_facts_are_asked_when_a_version_comes(monkeypatch):
    engine = Engine(looked_up())
    engine.push(ROW, Update(0, {"v": 1}), at=0)
    for number in range(2_000):
        engine.push(FACT, {"k": 0, "v": number}, at=number)
    assert asked(monkeypatch, engine, (ROW, Update(0, {"v": 2}), 1_990)) <= 100  # of two thousand; it concerns ten


def test_events_of_one_time_are_all_met():
    engine = Engine(looked_up())
    for number in range(200):
        engine.push(FACT, {"k": 0, "v": number}, at=7)
    found = engine.push(ROW, Update(0, {"v": 3}), at=7)
    assert sorted(event.value[0] for event in found) == list(range(200))
    engine._check_invariants()


def timelines_of(engine, name):
    (memory,) = [slot.memory for slot in engine._program.joins[0].slots if slot.name == name]
    assert isinstance(memory, VersionMemory)
    return memory._timelines


def test_what_is_asked_one_by_one_is_kept_in_no_order(monkeypatch):
    monkeypatch.setattr(version_memories, "LEAST", 1)
    engine = Engine(of_whatever_key(retention=10), lateness=0)
    for number in range(50):
        engine.push(ROW, Update(number % 3, {"k": 0, "v": 1}), at=number)
        engine.push(FACT, {"k": 0, "v": 1}, at=number)
    assert [one.versions for one in timelines_of(engine, "y").values()] == [[]]  # of three keys


def test_what_has_gone_leaves_nothing(monkeypatch):
    monkeypatch.setattr(version_memories, "LEAST", 1)
    engine = Engine(looked_up_or_not(retention=10), lateness=0)
    for number in range(200):
        engine.push(STREAM, {"k": number // 2, "v": 1}, at=2 * number)
        engine.push(FACT, {"k": number // 2, "v": 1}, at=2 * number)
    assert 0 < len(timelines_of(engine, "x")) < 20  # facts of a hundred keys have come
