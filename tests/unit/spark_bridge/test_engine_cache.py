"""What a worker makes once: a query's program, whatever task brings it, with all that was compiled for it."""

from __future__ import annotations

import gc
import random

from pyspark import cloudpickle
from pyspark.sql import types as t

from cartesius import Engine, Reactive
from cartesius.columns.bodies.column_texts import code_of
from cartesius.expressions.expressions import Apply
from cartesius.expressions.missing_values import _FORMS, Form, form_of
from dsl import RulePack, Source, require
from dsl.units import metres
from spark_bridge.running.buckets import Buckets
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.state.engine_cache import EngineCache, Kept, once_a_worker
from spark_bridge.transport.arrivals import Input
from spark_bridge.transport.emission import Layout

ship = Source("ship", key="id", id=int, draught=metres)


def pack_of(least):
    with RulePack("pack", subject=ship) as pack:
        require(ship.draught >= least * metres, "deep enough")
    return pack


def judge_of(pack):
    pattern = pack.table().pattern
    assert pattern is not None
    assert isinstance(pattern.yields, Apply)
    return pattern.yields.function


def test_the_program_of_a_query_is_made_once_and_that_of_another_anew():
    made = []

    def make():
        made.append(object())
        return made[-1]

    first = once_a_worker("query", make)
    assert once_a_worker("query", make) is first
    assert once_a_worker("another", make) is not first
    assert once_a_worker("query", make) is first
    assert once_a_worker("", make) is not once_a_worker("", make)
    assert len(made) == 4


def test_queries_that_are_long_gone_are_forgotten():
    first = once_a_worker("gone", object)
    for number in range(8):
        once_a_worker(f"query {number}", object)
    assert once_a_worker("gone", object) is not first


def test_the_size_is_that_of_the_blobs_whatever_is_put_taken_and_forgotten():
    """It is counted, not added up anew for each engine that is kept."""
    draw, cache, engine = random.Random(0), EngineCache(limit=300), Engine(Reactive("a"))
    for n in range(200):
        cache.put("query", draw.randrange(9), Kept(str(n % 3), engine, None, 0, draw.randrange(1, 150)))
        cache.take("query", draw.randrange(9), str(draw.randrange(3)))
        assert cache.size == sum(kept.size for kept in cache._kept.values())
        assert cache.size <= 300
    cache.clear()
    assert (len(cache), cache.size) == (0, 0)


def test_all_engines_of_a_pack_share_one_code_and_those_of_another_have_their_own():
    """Else each of a worker's buckets writes and compiles the same code."""
    judge, other = [judge_of(pack_of(least)) for least in (1, 1.0)]
    form = form_of(judge)
    assert isinstance(form, Form)
    assert form_of(judge) is form
    assert code_of(form, ("ship",)) is code_of(form, ("ship",))
    assert form_of(other) is not form
    place = id(judge)
    assert place in _FORMS
    del judge
    gc.collect()  # it is part of a cycle
    assert place not in _FORMS


def test_what_travels_with_each_task_of_a_query_arrives_once():
    program = pack_of(3).table()
    schema = t.StructType([t.StructField("id", t.LongType()), t.StructField("draught", t.DoubleType())])
    source = Input("ship", schema, ("id", "draught"), is_table=True, key="id")
    layout = Layout({}, (), t.StructType([]))
    states = [BucketStates((program,), (source,), query) for query in ("one", "one", "two", "", "")]
    tasks = [cloudpickle.dumps(Buckets((program,), (source,), layout, frozenset(), states=state)) for state in states]
    one, again, two, nameless, other = map(cloudpickle.loads, tasks)
    assert one is again
    assert len({id(runner) for runner in (one, two, nameless, other)}) == 4
