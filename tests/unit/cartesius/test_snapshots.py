"""Snapshots: of which program they are, when they may be taken, and that an engine is nothing that is copied."""

import copy
import gc
import json
import math
import os
import pickle
import subprocess
import sys
import zlib
from collections import namedtuple
from contextlib import nullcontext
from enum import Enum
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Update,
    correlate,
    displace,
    forward,
    handles,
    memory,
    push,
    storable,
)
from cartesius.data.codec import MAGIC, decode, encode
from cartesius.data.inflating import deflated, inflated, undisturbed
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch
from restrictions import as_table, key_by, most_recently, retracting, tumbling, versioned
from restrictions.streams import stream_table_join
from restrictions.tables import filter_table, inner_join, left_join, map_table, outer_join
from restrictions.windows import accumulated, filtered, first, keeping, last

left, right, depth, draught = (
    Reactive("left"),
    Reactive("right"),
    Reactive("depth", table=True),
    Reactive("draught", table=True),
)


def at_least(least):
    class above(Restriction):
        slot: Slot

        @handles(push, "slot")
        def look(self, slot, entry):
            if self.is_enough(entry):
                forward(slot, entry)

        def is_enough(self, entry):
            return entry.value >= least

    return above


def test_a_restriction_whose_clauses_changed_is_another_program():
    """A clause is code: the class may have the same name and the same fields."""
    programs = [correlate(x=left, yields=lambda x: x, restrict=at_least(n)("x"), name="high") for n in (1, 1, 2)]
    blob = Engine(programs[0]).snapshot()
    assert Engine.restore(blob, programs[1]).outputs == (programs[1],)
    with pytest.raises(SnapshotMismatch, match="belongs to another one"):
        Engine.restore(blob, programs[2])


LIMIT = 3


def near(value):
    return _scaled(value) > LIMIT


def _scaled(value):
    return value * 2


class Scale:
    factor = 1

    def of(self, value):
        return value * self.factor


class Kind(Enum):
    TUG = 1


SCALES = {"EUR": [1.0]}


def body(x):
    found = Scale().of(x) if near(x) else None
    return found and found * SCALES["EUR"][0] * Kind.TUG.value


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("near", lambda value: _scaled(value) < LIMIT),
        ("_scaled", lambda value: value * 3),
        ("LIMIT", 4),
        ("Scale", type("Scale", (), {"of": lambda self, value: value, "__module__": __name__})),
        ("Scale", type("Scale", (), {**{name: vars(Scale)[name] for name in ("of", "__module__")}, "factor": 2})),
        ("SCALES", {"EUR": [1.5]}),
        ("Kind", Enum("Kind", {"TUG": 2}, module=__name__)),
    ],
)
def test_what_an_untraced_body_calls_is_part_of_the_program(monkeypatch, name, other):
    program = correlate(x=left, yields=body)
    blob = Engine(program).snapshot()
    Engine.restore(blob, program)
    monkeypatch.setitem(globals(), name, other)
    with pytest.raises(SnapshotMismatch, match="belongs to another one"):
        Engine.restore(blob, program)


def test_a_function_of_another_version_of_python_is_another_and_the_message_thinks_of_it(monkeypatch):
    """Who has but installed another Python would look for what differs in vain."""
    program = correlate(x=left, yields=body)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 10))
        blob = Engine(program).snapshot()
    with pytest.raises(SnapshotMismatch, match="or the minor version of Python differs"):
        Engine.restore(blob, program)


@pytest.mark.parametrize("blob", [None, "a text", 5])
def test_what_is_no_bytes_is_refused(blob):
    with pytest.raises(InvalidArgument, match="restore: expected the bytes of a snapshot but got"):
        Engine.restore(blob, correlate(x=left, yields=lambda x: x))


def test_data_of_a_class_of_restrictions_is_part_of_the_program(monkeypatch):
    class few(Restriction):
        most = 2

        @handles(push)
        def keep(self, slot, entry):
            forward(slot, entry)
            for older in memory(slot)[self.most :]:
                displace(slot, older)

    program = correlate(x=left, yields=lambda x: x, restrict=few())
    blob = Engine(program).snapshot()
    Engine.restore(blob, program)
    monkeypatch.setattr(few, "most", 3)
    with pytest.raises(SnapshotMismatch, match="belongs to another one"):
        Engine.restore(blob, program)


SEEN: dict[int, str] = {}
SEEN_LATER: dict[int, str] = {}
found_so_far: list[int] = []
n: list[int] = []
TABLE = {number: str(number) for number in range(5_000)}
MADE = [math.floor]
HUGE = [10**5000]


class Ship:
    made = 0

    def __init__(self):
        Ship.made += 1


def remembering(x):
    SEEN[x] = SEEN.get(x) or str(x)
    return SEEN[x]


def remembering_otherwise(x):
    return SEEN_LATER.setdefault(x, str(x))


def counting(x):
    return x if isinstance(Ship(), Ship) else None


def looking(x):
    """It names what its module has, but means something else: a field, a path."""
    if x is None:
        sys.stderr.write("odd")
    return (x.n, os.path.basename("x")) if isinstance(x, Row) else (x, len(found_so_far) * 0)


def naming(x):
    return (HUGE, MADE, TABLE) and x


class Row:
    n = 1


@pytest.mark.parametrize("body", [remembering, remembering_otherwise, counting, looking, naming])
def test_what_changes_while_it_runs_is_no_part_of_the_program(body, monkeypatch):
    """A cache, a count, a list of the script's, where Python looks for modules; nor the items of large tables."""
    program = correlate(x=left, yields=body)
    before = Engine(program).snapshot()
    engine = Engine(program)
    engine.push(left, 1, at=1)
    found_so_far.append(1)
    n.append(1)
    monkeypatch.setattr(sys, "path", [*sys.path, "/elsewhere"])
    assert Engine.restore(engine.snapshot(), program).stats.events == 1
    Engine.restore(before, program)
    for made in (SEEN, SEEN_LATER):
        made.clear()
    Engine.restore(engine.snapshot(), program)


def test_explain_lists_what_an_untraced_body_calls():
    text = Engine(correlate(x=left, yields=body)).explain()
    assert "calls         near, line " in text
    assert "calls         _scaled, line " in text
    assert "calls         Scale.of, line " in text


def test_a_fingerprint_is_the_same_in_every_process():
    """A set of texts among the constants of a body has another order in each."""
    text = (
        "from cartesius import Engine, Reactive, correlate\n"
        "def kind(v):\n    return v in {'tanker', 'tug', 'ferry', 'pilot', 'barge'}\n"
        "print(Engine(correlate(x=Reactive('x'), yields=lambda x: kind(x) if x else None))._fingerprint())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", text],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    "content",
    [
        last(),
        first(2),
        accumulated(0, lambda total, value: total + value),
        filtered(lambda value: value > 1),
        keeping(lambda events: events[-1:]),
    ],
    ids=repr,
)
def test_windows_with_a_content_can_be_saved(content):
    def program(content):
        return correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=tumbling(5, content=content), name="met")

    engine = Engine(program(content))
    for value in (1, 2, 3):
        engine.push(left, value, at=value)
    restored = Engine.restore(engine.snapshot(), program(content))
    expected = engine.push(right, 7, at=4)
    assert expected
    assert restored.push(right, 7, at=4) == expected
    with pytest.raises(SnapshotMismatch, match="belongs to another one"):
        Engine.restore(engine.snapshot(), program(last(7)))


VERSIONED = [
    correlate(x=depth, yields=lambda x: x, restrict=versioned("x") | retracting() | as_table("x"), name="kept"),
    map_table(depth, lambda metres: 3 * metres, restrict=versioned("x")),
    filter_table(depth, lambda metres: metres > 1, restrict=versioned("x")),
    *(join(depth, draught, restrict=versioned("left", "right")) for join in (inner_join, left_join, outer_join)),
]
changes = st.tuples(
    st.sampled_from([depth, draught]), st.sampled_from("AB"), st.sampled_from([None, 1, 2]), st.integers(0, 9)
)


@given(program=st.sampled_from(VERSIONED), trace=st.lists(changes, max_size=10), lateness=st.sampled_from([None, 3]))
def test_versions_go_on_from_a_snapshot_at_any_place(program, trace, lateness):
    """Also after a deletion of what never was: it is the cause of nothing that comes later."""
    engine = Engine(program, lateness=lateness)
    for table, key, value, at in trace:
        if table not in engine.inputs.values():
            continue
        restored = Engine.restore(engine.snapshot(), program, lateness=lateness)
        change = Delete(key) if value is None else Update(key, value)
        assert restored.push(table, change, at=at) == engine.push(table, change, at=at)


def test_a_deletion_of_what_never_was_is_no_cause():
    engine = Engine(VERSIONED[0])
    engine.push(depth, Update("A", 1), at=0)
    engine.push(depth, Delete("B"), at=0)
    (gone,) = engine.push(depth, Delete("A"), at=1)
    assert (gone.start, gone.end) == (1, 1)


@pytest.mark.parametrize(
    "use",
    [
        lambda engine: engine.snapshot(),
        lambda engine: engine.stats,
        lambda engine: engine.query(engine.outputs[0]),
        lambda engine: engine.take_late(),
        lambda engine: engine.advance(3),
        lambda engine: engine.close(),
        lambda engine: engine.subscribe(engine.outputs[0], print),
        lambda engine: engine.push(left, 1),
        lambda engine: engine.push_many({left: {"value": [1]}}),
        lambda engine: engine.next_deadline,
        lambda engine: engine.pull(),
        lambda engine: engine.source(),
    ],
)
@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("pushes", [1, 3])
def test_what_runs_between_pushes_is_refused_inside_one(use, tier, pushes):
    engines = []

    def yields(x):
        return use(engines[0]) if x == pushes else x

    engines.append(Engine(correlate(x=left, yields=yields, name="impure"), tier=tier))
    for value in range(pushes):
        engines[0].push(left, value)
    with pytest.raises(InvalidArgument, match="expected a body that is pure"):
        engines[0].push(left, pushes)
    assert [event.value for event in engines[0].push(left, "next")] == ["next"]


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_engine_is_not_copied(copying):
    """Two engines would share one state."""
    with pytest.raises(NotStorable, match=r"copied or pickled; take a snapshot\(\)"):
        copying(Engine(left))


@given(text=st.binary(max_size=200), times=st.sampled_from([1, 2, 10, 100_000]))
def test_what_is_compressed_can_be_read_however_dense_it_is(text, times):
    assert inflated(deflated(text * times, 1)) == text * times


def test_a_small_blob_does_not_fill_the_memory():
    for text in (b"0" * (1 << 28), b"[" * (1 << 28)):
        packed = zlib.compress(text, 9)
        assert len(packed) < 1 << 19
        with pytest.raises(SnapshotMismatch, match="made to fill the memory"):
            decode(MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed)
    assert decode(encode(["0" * (1 << 24)])) == ["0" * (1 << 24)]


@pytest.mark.parametrize(
    "stored",
    [["i", "zz"], ["T", "now", 0, None], ["d", 1], ["t"] * 2, ["?"], [], [["t"]], ["E", "x"], {"a": 1}, ["p", 1 << 80]],
)
def test_what_no_snapshot_has_is_refused_by_name(stored):
    packed = zlib.compress(json.dumps(stored).encode())
    with pytest.raises(SnapshotMismatch, match="restore: "):
        Engine.restore(MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed, left)


@pytest.mark.parametrize("tier", ["reference", "in_place"])
def test_a_deadline_comes_back_to_the_restriction_that_asked_for_it(tier):
    """Beside one that is asked at the door, and is none of those that are asked inside."""
    report, ship = Reactive("report"), Reactive("ship", table=True)
    named = stream_table_join(report, ship, on="ship", retention=9)
    engine = Engine(named, tier=tier)
    engine.push(ship, Update(7, "EVA"), at=1)
    engine.push(ship, Delete(7), at=6)
    restored = Engine.restore(engine.snapshot(), named, tier=tier)
    assert restored.next_deadline == engine.next_deadline
    assert restored.advance(40) == engine.advance(40) == []
    assert restored.stats == engine.stats


@storable
class Reading(NamedTuple):
    """What a body makes, beside what is made by `namedtuple`."""

    height: float
    gauge: str = "inner"


Mark = namedtuple("Mark", "height gauge", defaults=["inner"])
storable(Mark)


@pytest.mark.parametrize("yields", [lambda tide: Reading(height=tide), lambda tide: Mark(height=tide)])
def test_a_body_may_make_named_tuples(yields):
    """Their fingerprint goes by a method of a class that is built in, which has no module."""
    tide = Reactive("tide")
    program = correlate(tide=tide, yields=yields)
    engine = Engine(program)
    engine.push(tide, 1.5)
    (made,) = Engine.restore(engine.snapshot(), program).push(tide, 2.5)
    assert made.value == (2.5, "inner")
    assert type(made.value) in (Reading, Mark)


def raising(error):
    raise error


@pytest.mark.parametrize("was_on", [True, False])
@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_collector_rests_while_much_is_made_and_is_as_before_then(was_on, error):
    try:
        gc.enable() if was_on else gc.disable()
        with pytest.raises(error) if error else nullcontext():
            assert undisturbed(lambda: raising(error) if error else gc.isenabled()) is False
        assert gc.isenabled() is was_on
    finally:
        gc.enable()


def test_restoring_and_reading_what_columns_own_leave_the_collector_as_it_was():
    left, right = Reactive("left"), Reactive("right")
    pairs = correlate(a=left, b=right, yields=lambda a, b: a.k, restrict=key_by(a="k", b="k") | most_recently("a", "b"))
    engine = Engine(pairs)
    engine.push_many({left: {"k": [1, 2], "order": [0, 1]}, right: {"k": [1], "order": [2]}})
    blob = engine.snapshot()
    assert gc.isenabled()
    assert Engine.restore(blob, pairs).snapshot() == blob
    with pytest.raises(SnapshotMismatch):
        Engine.restore(blob[:-1], pairs)
    assert gc.isenabled()
