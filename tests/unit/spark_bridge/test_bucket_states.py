"""The state of a bucket between calls: kept or decoded, the same; and refused, with the reason, if it is another's."""

from __future__ import annotations

import itertools
import random
import struct

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import SnapshotMismatch
from restrictions import aligning, as_table, cartesian, key_by, most_recently, retracting, within
from spark_bridge.columns.schemas import result_schema
from spark_bridge.running.buckets import Buckets
from spark_bridge.state import bucket_states
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.state.engine_cache import EngineCache, Kept
from spark_bridge.transport.arrivals import Input
from tests.unit.spark_bridge.bucket_rows import Row, by_output, layout_of, results, run

PAIR = t.StructType([t.StructField("k", t.StringType()), t.StructField("n", t.LongType())])
left, right, ship = Reactive("left"), Reactive("right"), Reactive("ship", table=True, key="k")
INPUTS = (
    Input("left", PAIR, ("k", "n"), is_split=True),
    Input("right", PAIR, ("k", "n"), is_split=True),
    Input("ship", PAIR, ("k", "n"), True, "k", is_split=True),
)


def latest_over(bound):
    return correlate(
        left=left,
        right=right,
        where=lambda left, right: left.n > bound,
        yields=lambda left, right: {"k": left.k, "l": left.n, "r": right.n},
        restrict=key_by(left="k", right="k") | most_recently("left", "right"),
        name="latest",
    )


latest = latest_over(0)
zipped = cartesian(
    left, right, restrict=key_by(left="k", right="k") | most_recently("left", "right") | aligning("left", "right")
)
near = correlate(
    left=left,
    right=right,
    yields=lambda left, right: (left.n, right.n),
    restrict=within(9, "left", "right"),
    name="near",
)
rows = correlate(
    ship=ship, left=left, where=lambda ship, left: ship.k == left.k, yields=lambda ship, left: (ship.n, left.n),
    restrict=most_recently("left") | key_by(left="k") | retracting() | as_table("ship"), name="rows",
)  # fmt: skip
PROGRAM = (latest, zipped, near, rows)


def buckets_of(*outputs, query="", inputs=INPUTS):
    used = [one for one in inputs if any(one.name in map(lambda s: s.name, o.pattern.slots.values()) for o in outputs)]
    frames = {one.name: one.schema for one in used}
    schemas = {output.name: result_schema(output, output.name, frames, None) for output in outputs}
    states = BucketStates(outputs, tuple(used), query)
    return Buckets(outputs, tuple(used), layout_of(schemas), frozenset(), states=states)


def make_rows(seed, count, sources=2):
    draw = random.Random(seed)
    return [
        Row(0, time, draw.randrange(sources), {"k": f"key {draw.randrange(60)}", "n": draw.randrange(9)})
        for time in range(count)
    ]


@pytest.fixture
def engines(monkeypatch):
    cache = EngineCache(limit=2**20)
    monkeypatch.setattr(bucket_states, "ENGINES", cache)
    return cache


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 150), max_size=3), st.booleans())
def test_a_program_goes_on_from_its_state_as_if_there_were_no_cuts(seed, cuts, holds):
    all_rows = make_rows(seed, 150, 3)
    program = buckets_of(*PROGRAM)
    expected = run(program, 0, None, all_rows, 0, holds=holds)
    expected = [*results(expected), *results(run(program, 0, expected.state, [], 300, holds=holds))]
    state, found = None, []
    places = [0, *sorted(cuts), 150]
    for first, last in itertools.pairwise(places):
        outcome = run(program, 0, state, all_rows[first:last], 0, holds=holds)
        state, found = outcome.state, found + results(outcome)
    found += results(run(program, 0, state, [], 300, holds=holds))
    assert by_output(found) == by_output(expected)


def test_a_kept_engine_gives_what_a_decoded_one_gives(engines):
    kept, decoded = buckets_of(*PROGRAM, query="q"), buckets_of(*PROGRAM)
    state = other = None
    for number in range(4):
        call = make_rows(number, 90, 3)
        one, two = run(kept, 0, state, call), run(decoded, 0, other, call)
        state, other = one.state, two.state
        assert results(one) == results(two)
    assert (engines.hits, engines.misses) == (3, 0)
    assert state == other


def test_only_the_very_state_that_it_wrote_is_taken_from_the_cache(engines):
    """A call is repeated, another worker goes on, an old checkpoint comes back: each time the blob decides."""
    program, elsewhere = buckets_of(latest, query="q"), buckets_of(latest)
    calls = [make_rows(number, 50) for number in range(4)]
    first = run(program, 0, None, calls[0])
    second = run(program, 0, first.state, calls[1])
    again = run(program, 0, first.state, calls[1])  # a retry: the engine has gone on, and may not be used
    assert (results(again), again.state) == (results(second), second.state)
    assert (engines.hits, engines.misses) == (1, 1)
    third = run(elsewhere, 0, second.state, calls[2])  # another worker
    fourth = run(program, 0, third.state, calls[3])
    assert results(fourth) == results(run(elsewhere, 0, third.state, calls[3]))
    assert engines.hits == 1
    assert run(program, 0, fourth.state, []).state != fourth.state  # its version is another
    assert engines.hits == 2


def test_equal_versions_with_other_rows_are_told_apart(engines):
    program = buckets_of(latest, query="q")
    first = run(program, 0, None, make_rows(0, 50)).state
    here, there = run(program, 0, first, make_rows(1, 50)), run(buckets_of(latest), 0, first, make_rows(2, 50))
    follow = make_rows(3, 50)
    assert results(run(program, 0, there.state, follow)) == results(run(buckets_of(latest), 0, there.state, follow))
    assert here.state != there.state
    assert engines.hits == 1


def test_an_engine_whose_call_failed_is_not_used_again(engines, monkeypatch):
    program = buckets_of(latest, query="q")
    state = run(program, 0, None, make_rows(0, 50)).state
    monkeypatch.setattr("spark_bridge.running.buckets.Arrivals", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(program, 0, state, make_rows(1, 5))
    monkeypatch.undo()
    assert len(engines) == 0
    assert results(run(program, 0, state, make_rows(1, 50))) == results(
        run(buckets_of(latest), 0, state, make_rows(1, 50))
    )


def test_queries_and_buckets_have_engines_of_their_own(engines):
    one, two = buckets_of(latest, query="one"), buckets_of(latest, query="two")
    states = {(name, bucket): run(program, bucket, None, make_rows(bucket, 40)).state
              for name, program in (("one", one), ("two", two)) for bucket in (0, 1)}  # fmt: skip
    assert len(engines) == 4
    for (name, bucket), state in states.items():
        program = one if name == "one" else two
        expected = results(run(buckets_of(latest), bucket, state, make_rows(9, 40)))
        assert results(run(program, bucket, state, make_rows(9, 40))) == expected
    assert engines.hits == 4


def test_the_cache_forgets_the_least_recently_used(engines):
    engine = buckets_of(latest).states.open(0, None).engine
    for bucket in range(5):
        engines.put("q", bucket, Kept("d", engine, None, 0, 2**18))
    assert len(engines) == 4
    assert engines.take("q", 0, "d") is None
    assert engines.take("q", 1, "d") is not None
    assert engines.take("q", 1, "d") is None  # it is at work
    engines.put("q", 9, Kept("d", engine, None, 0, 2**30))  # alone it may be as large as it is
    assert len(engines) == 1


def test_an_engine_with_suspended_strands_is_not_kept(engines):
    engine = buckets_of(latest).states.open(0, None).engine
    for join in engine._program.joins:
        join.is_in_place = False
    engines.put("q", 0, Kept("d", engine, None, 0, 1))
    assert len(engines) == 0


def test_a_changed_program_is_told_what_changed():
    state = run(buckets_of(latest), 2, None, make_rows(0, 50)).state
    with pytest.raises(SnapshotMismatch) as caught:
        buckets_of(latest_over(1)).run(2, state, [])
    text = str(caught.value)
    assert "the state of this program but that of bucket 2, version 1 belongs to another one" in text
    assert "in 'latest' where= differs: - 0, + 1;" in text
    assert "spark_bridge.migrate" in text


def test_another_order_is_refused_both_ways():
    program = buckets_of(latest)
    for holds in (False, True):
        state = run(program, 0, None, make_rows(0, 5), holds=holds).state
        with pytest.raises(SnapshotMismatch, match=r"bucket 0, version 1 with.* rows that wait.*keep order="):
            run(program, 0, state, [], holds=not holds)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ([("k", t.StringType())], "'left' has no column 'n' (bigint) any more"),
        ([("k", t.StringType()), ("n", t.DoubleType())], "the column 'n' of 'left' was bigint and is double"),
        (
            [("k", t.StringType()), ("n", t.LongType()), ("m", t.LongType())],
            "'m' of 'left' is new; Frames.start ignores",
        ),
    ],
)
def test_other_columns_are_refused_by_name(fields, told):
    named = correlate(left=left, yields=lambda left: left.k, restrict=most_recently("left"), name="named")
    state = run(buckets_of(named), 1, None, make_rows(0, 5, 1)).state
    schema = t.StructType([t.StructField(name, kind) for name, kind in fields])
    inputs = (attrs.evolve(INPUTS[0], schema=schema, fields=tuple(schema.names)),)
    with pytest.raises(SnapshotMismatch) as caught:
        buckets_of(named, inputs=inputs).run(1, state, [])
    assert told in str(caught.value)
    assert "bucket 1, version 1" in str(caught.value)


SEALED = run(buckets_of(*PROGRAM), 7, run(buckets_of(*PROGRAM), 7, None, make_rows(0, 90, 3)).state, []).state


@given(st.dictionaries(st.integers(0, len(SEALED) - 1), st.integers(1, 255), min_size=1, max_size=3))
def test_no_flipped_byte_of_a_state_is_gone_on_from(flips):
    """Of a state that a program wrote: the bucket is named, and the version where that is not what was damaged."""
    damaged = bytearray(SEALED)
    for place, bits in flips.items():
        damaged[place] ^= bits
    with pytest.raises(SnapshotMismatch, match="bucket 7") as caught:
        buckets_of(*PROGRAM).run(7, bytes(damaged), {})
    numbers = struct.calcsize(">8sHiQ")  # magic, format, bucket and version come first
    assert "version 2" in str(caught.value) or min(flips) < numbers


@given(st.binary(max_size=300))
def test_foreign_bytes_are_no_state(foreign):
    with pytest.raises(SnapshotMismatch, match="expected the state of bucket 7 but got"):
        buckets_of(latest).run(7, foreign, {})
