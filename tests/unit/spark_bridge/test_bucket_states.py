"""The state of a bucket between calls: kept or decoded, the same; and refused, with the reason, if it is another's."""

from __future__ import annotations

import itertools
import json
import random

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import SnapshotMismatch
from restrictions import aligning, as_table, cartesian, key_by, most_recently, retracting, within
from spark_bridge import bucket_states
from spark_bridge.bucket_states import BucketStates
from spark_bridge.buckets import Buckets, Input, Row
from spark_bridge.engine_cache import EngineCache, Kept
from spark_bridge.schemas import result_schema

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
    return Buckets(outputs, tuple(used), schemas, frozenset(), BucketStates(outputs, tuple(used), query))


def make_rows(seed, count, sources=2):
    draw = random.Random(seed)
    return [
        Row(0, time, draw.randrange(sources), json.dumps({"k": f"key {draw.randrange(60)}", "n": draw.randrange(9)}))
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
    expected = program.run(0, None, all_rows, 0, holds=holds)
    expected = [*expected.rows, *program.run(0, expected.state, [], 300, holds=holds).rows]
    state, found = None, []
    places = [0, *sorted(cuts), 150]
    for first, last in itertools.pairwise(places):
        outcome = program.run(0, state, all_rows[first:last], 0, holds=holds)
        state, found = outcome.state, found + outcome.rows
    found += program.run(0, state, [], 300, holds=holds).rows
    assert found == expected


def test_a_kept_engine_gives_what_a_decoded_one_gives(engines):
    kept, decoded = buckets_of(*PROGRAM, query="q"), buckets_of(*PROGRAM)
    state = other = None
    for number in range(4):
        call = make_rows(number, 90, 3)
        one, two = kept.run(0, state, call), decoded.run(0, other, call)
        state, other = one.state, two.state
        assert one.rows == two.rows
    assert (engines.hits, engines.misses) == (3, 0)
    assert state == other


def test_only_the_very_state_that_it_wrote_is_taken_from_the_cache(engines):
    """A call is repeated, another worker goes on, an old checkpoint comes back: each time the blob decides."""
    program, elsewhere = buckets_of(latest, query="q"), buckets_of(latest)
    calls = [make_rows(number, 50) for number in range(4)]
    first = program.run(0, None, calls[0])
    second = program.run(0, first.state, calls[1])
    again = program.run(0, first.state, calls[1])  # a retry: the engine has gone on, and may not be used
    assert (again.rows, again.state) == (second.rows, second.state)
    assert (engines.hits, engines.misses) == (1, 1)
    third = elsewhere.run(0, second.state, calls[2])  # another worker
    fourth = program.run(0, third.state, calls[3])
    assert fourth.rows == elsewhere.run(0, third.state, calls[3]).rows
    assert engines.hits == 1
    assert program.run(0, fourth.state, []).state != fourth.state  # its version is another
    assert engines.hits == 2


def test_equal_versions_with_other_rows_are_told_apart(engines):
    program = buckets_of(latest, query="q")
    first = program.run(0, None, make_rows(0, 50)).state
    here, there = program.run(0, first, make_rows(1, 50)), buckets_of(latest).run(0, first, make_rows(2, 50))
    follow = make_rows(3, 50)
    assert program.run(0, there.state, follow).rows == buckets_of(latest).run(0, there.state, follow).rows
    assert here.state != there.state
    assert engines.hits == 1


def test_an_engine_whose_call_failed_is_not_used_again(engines, monkeypatch):
    program = buckets_of(latest, query="q")
    state = program.run(0, None, make_rows(0, 50)).state
    monkeypatch.setattr(program, "_use", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        program.run(0, state, make_rows(1, 5))
    monkeypatch.undo()
    assert len(engines) == 0
    assert program.run(0, state, make_rows(1, 50)).rows == buckets_of(latest).run(0, state, make_rows(1, 50)).rows


def test_queries_and_buckets_have_engines_of_their_own(engines):
    one, two = buckets_of(latest, query="one"), buckets_of(latest, query="two")
    states = {(name, bucket): program.run(bucket, None, make_rows(bucket, 40)).state
              for name, program in (("one", one), ("two", two)) for bucket in (0, 1)}  # fmt: skip
    assert len(engines) == 4
    for (name, bucket), state in states.items():
        program = one if name == "one" else two
        expected = buckets_of(latest).run(bucket, state, make_rows(9, 40)).rows
        assert program.run(bucket, state, make_rows(9, 40)).rows == expected
    assert engines.hits == 4


def test_the_cache_forgets_the_least_recently_used(engines):
    engine = buckets_of(latest).states.open(0, None).engine
    for bucket in range(5):
        engines.put("q", bucket, Kept("d", engine, None, 2**18))
    assert len(engines) == 4
    assert engines.take("q", 0, "d") is None
    assert engines.take("q", 1, "d") is not None
    assert engines.take("q", 1, "d") is None  # it is at work
    engines.put("q", 9, Kept("d", engine, None, 2**30))  # alone it may be as large as it is
    assert len(engines) == 1


def test_an_engine_with_suspended_strands_is_not_kept(engines):
    engine = buckets_of(latest).states.open(0, None).engine
    for join in engine._program.joins:
        join.is_in_place = False
    engines.put("q", 0, Kept("d", engine, None, 1))
    assert len(engines) == 0


def test_a_changed_program_is_told_what_changed():
    state = buckets_of(latest).run(2, None, make_rows(0, 50)).state
    with pytest.raises(SnapshotMismatch) as caught:
        buckets_of(latest_over(1)).run(2, state, [])
    text = str(caught.value)
    assert "the state of this program but that of bucket 2, version 1 belongs to another one" in text
    assert "in 'latest' where= differs: - 0, + 1;" in text
    assert "spark_bridge.migrate" in text


def test_another_order_is_refused_both_ways():
    program = buckets_of(latest)
    for holds in (False, True):
        state = program.run(0, None, make_rows(0, 5), holds=holds).state
        with pytest.raises(SnapshotMismatch, match=r"bucket 0, version 1 with.* rows that wait.*keep order="):
            program.run(0, state, [], holds=not holds)


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
    state = buckets_of(named).run(1, None, make_rows(0, 5, 1)).state
    schema = t.StructType([t.StructField(name, kind) for name, kind in fields])
    inputs = (attrs.evolve(INPUTS[0], schema=schema, fields=tuple(schema.names)),)
    with pytest.raises(SnapshotMismatch) as caught:
        buckets_of(named, inputs=inputs).run(1, state, [])
    assert told in str(caught.value)
    assert "bucket 1, version 1" in str(caught.value)
