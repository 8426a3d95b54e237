"""The law of null keys: whoever matches or groups by a key sets aside what has none, in every tier and any bucket.

Each operator that takes a key is compared with plain code over the whole trace, which knows of null that it equals
nothing; and each event is in exactly one of the results, the memory that may still give some, and ``engine.late``.
"""

from __future__ import annotations

import inspect
import math
import random
import re
from collections import Counter
from decimal import Decimal
from itertools import product
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

import restrictions
from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from restrictions import (
    as_table,
    key_by,
    most_recently,
    optionally,
    retracting,
    session,
    streams,
    tables,
    take,
    tumbling,
    without,
)
from restrictions.streams import group_by, interval_join, join, stream_table_join
from restrictions.tables import aggregate, count, foreign_join, reduce, to_table
from tests.laws.spark_model import MicroBatches, Row, planned

A, B = Reactive("a"), Reactive("b")
T, U = Reactive("t", table=True), Reactive("u", table=True)
NAN = float("nan")
OTHERS = {
    "ordered_by": "it compares matches with each other, and nobody is matched by it",
    "distinct_until_changed": "a change is one from null, or to null (SEMANTICS 1.18)",
}
"""What takes a key that nobody is matched or grouped by, and why it sets nothing aside."""


@attrs.frozen
class Item:
    """An event of a trace: of which input, its key, its value, and when; times ascend."""

    slot: int
    key: float | None
    v: int
    at: int

    @property
    def is_null(self):
        return self.key is None or math.isnan(self.key)


def meet(x, y):
    return not x.is_null and x.key == y.key


def pairs(trace, near=lambda x, y: True, missing=()):
    """Join by equality of keys, and what has no partner on the sides of which the other may be missing."""
    left, right = ([one for one in trace if one.slot == slot] for slot in (0, 1))
    found = [(x, y) for x, y in product(left, right) if meet(x, y) and near(x, y)]
    if 1 in missing:
        found += [(x, None) for x in left if not any(x is one for one, _ in found)]
    if 0 in missing:
        found += [(None, y) for y in right if not any(y is one for _, one in found)]
    return Counter((x and x.v, y and y.v) for x, y in found)


def by_key(trace, of=len, key=lambda item: item.key):
    groups = {}
    for item in trace:
        if not item.is_null:
            groups.setdefault(key(item), []).append(item)
    return {repr(key): repr(of(items)) for key, items in groups.items()}


def sessions(trace, gap):
    found = {}
    for item in trace:
        if item.is_null:
            continue
        mine = found.setdefault(item.key, [])
        if mine and item.at - mine[-1][-1].at <= gap:
            mine[-1].append(item)
        else:
            mine.append([item])
    return Counter(len(one) for mine in found.values() for one in mine)


def named(trace, *, is_left):
    """Join each event of the stream with the row that is there when it comes."""
    rows, found = {}, Counter()
    for item in trace:
        if item.slot == 1:
            rows[repr(item.key)] = item.v
        elif not item.is_null and repr(item.key) in rows:
            found[item.v, rows[repr(item.key)]] += 1
        elif is_left:
            found[item.v, None] += 1
    return found


def foreign(trace, *, is_left):
    left, right = {}, {}
    for item in trace:
        (left if item.slot == 0 else right)[item.v if item.slot == 0 else repr(item.key)] = item
    found = {}
    for key, item in left.items():
        other = None if item.is_null else right.get(repr(item.key))
        if other is not None or is_left:
            found[repr(key)] = repr((item.at, other and other.v))
    return found


def last_rows(trace):
    return {item.v: item for item in trace}


def without_answer(trace):
    left, right = ([one for one in trace if one.slot == slot] for slot in (0, 1))
    return Counter(x.v for x in left if not any(meet(x, y) and x.at < y.at <= x.at + 3 for y in right))


def three(trace):
    """A left join of x with y by key, and with z by another value, which x may have without a key."""
    left, right, third = ([one for one in trace if one.slot == slot] for slot in (0, 1, 2))
    found = Counter()
    for x in left:
        ys, zs = [y for y in right if meet(x, y)] or [None], [z for z in third if z.v == x.v] or [None]
        found.update((x.v, y and y.v, z and z.at) for y, z in product(ys, zs))
    return found


def values(x, y):
    return None if x is None else x.v, None if y is None else y.v


def keyed(*restrict, yields=lambda x, y: (x.v, y.v)):
    found = key_by(x="id", y="id")
    for one in restrict:
        found |= one
    return correlate(x=A, y=B, yields=yields, restrict=found)


@attrs.frozen
class Case:
    """A program whose results over a trace are known.

    Args:
        operator: What takes the key.
        program: The program.
        expected: What comes of a trace in the end: results with their numbers, or rows.
        lacking: The inputs whose events without a key nobody wants.
        inputs: The inputs, by slot.
        kept: The inputs whose events stay in memory, if they have a key.
        by_bucket: Whether the bridge spreads its rows over buckets.
        schema: That of its results, where the bridge cannot tell.
    """

    operator: str
    program: Reactive
    expected: Any
    lacking: tuple[int, ...] = (0, 1)
    inputs: tuple[Reactive, ...] = (A, B)
    kept: tuple[int, ...] = ()
    by_bucket: bool = False
    schema: t.StructType | None = None


Z = Reactive("z")
TOTAL = t.StructType([t.StructField("value", t.LongType())])
SPANS = {"inner": (), "left": (1,), "right": (0,), "full": (0, 1)}


def near(x, y):
    return -3 <= y.at - x.at <= 3


def lacking(how):
    """The side that must be there is one that nobody wants without a key."""
    return {"inner": (0, 1), "left": (1,), "right": (0,), "full": ()}[how]


CASES = {
    "keyed": Case("key_by", keyed(), pairs, kept=(0, 1), by_bucket=True),
    "keyed, left": Case(
        "key_by", keyed(optionally("y"), retracting(), yields=values), lambda trace: pairs(trace, missing=(1,)),
        lacking=(1,), kept=(0, 1),
    ),
    "keyed, full": Case(
        "key_by", keyed(optionally("x", "y"), retracting(), yields=values), lambda trace: pairs(trace, missing=(0, 1)),
        lacking=(), kept=(0, 1),
    ),
    "keyed beside another": Case(
        "key_by",
        correlate(
            x=A, y=B, z=Z, where=lambda x, z: x.v == z.v,
            yields=lambda x, y, z: (x.v, None if y is None else y.v, None if z is None else z.t),
            restrict=key_by(x="id", y="id") | optionally("y", "z") | retracting(),
        ),
        three, lacking=(1,), inputs=(A, B, Z),
    ),
    "first of each": Case(
        "key_by", correlate(x=A, yields=lambda x: x.v, restrict=key_by(x="id") | take(1, "x")),
        lambda trace: Counter({item.key: item.v for item in reversed(trace) if not item.is_null}.values()),
        lacking=(0,), inputs=(A,), by_bucket=True,
    ),
    "absence": Case(
        "key_by",
        correlate(
            x=A, y=B, yields=lambda x: x.v, restrict=key_by(x="id", y="id") | without("y", after="x", within=3)
        ),
        without_answer, lacking=(1,),
    ),
    "join": Case(
        "join", join(A, B, 3, 3, key="id"),
        lambda trace: pairs(trace, near), by_bucket=True,
    ),
    **{
        f"interval_join, {how}{', eager' * eager}": Case(
            "interval_join", interval_join(A, B, -3, 3, key="id", how=how, eager=eager),
            lambda trace, how=how: pairs(trace, near, SPANS[how]), lacking=lacking(how), by_bucket=not eager,
        )
        for how in SPANS for eager in (False, True) if how != "inner" or not eager
    },
    "group_by": Case(
        "group_by", group_by(A, "id", combine=lambda n, _: n + 1, initial=0), by_key, lacking=(0,), inputs=(A,)
    ),
    "aggregate": Case(
        "aggregate", aggregate(A, count, by="id", restrict=tumbling(5)),
        lambda trace: by_key(trace, key=lambda item: (item.key, item.at // 5)), lacking=(0,), inputs=(A,),
        by_bucket=True, schema=TOTAL,
    ),
    "aggregate in sessions": Case(
        "aggregate", aggregate(A, count, by=lambda x: x.id, restrict=session(2)),
        lambda trace: sessions(trace, 2), lacking=(0,), inputs=(A,),
    ),
    "to_table": Case(
        "to_table", to_table(A, key="id"), lambda trace: by_key(trace, of=lambda items: items[-1].v),
        lacking=(0,), inputs=(A,), kept=(0,),
    ),
    "stream_table_join": Case(
        "stream_table_join", stream_table_join(A, U, on="id"), lambda trace: named(trace, is_left=False),
        lacking=(0,), inputs=(A, U),
    ),
    "stream_table_join, left": Case(
        "stream_table_join", stream_table_join(A, U, on="id", how="left"), lambda trace: named(trace, is_left=True),
        lacking=(), inputs=(A, U),
    ),
    "foreign_join": Case(
        "foreign_join", foreign_join(T, U, on="id"), lambda trace: foreign(trace, is_left=False),
        lacking=(0,), inputs=(T, U),
    ),
    "foreign_join, left": Case(
        "foreign_join", foreign_join(T, U, on="id", how="left"), lambda trace: foreign(trace, is_left=True),
        lacking=(), inputs=(T, U),
    ),
    "reduce": Case(
        "reduce", reduce(T, count, by="id"), lambda trace: by_key(last_rows(trace).values()),
        lacking=(0,), inputs=(T,),
    ),
    "as_table": Case(
        "as_table", correlate(x=A, yields=lambda x: (x.id, x.v), restrict=as_table(lambda found: found[0])),
        lambda trace: {repr(item.key): repr((item.key, item.v)) for item in trace}, lacking=(), inputs=(A,),
    ),
}  # fmt: skip
TRACES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([None, NAN, 1.0, 1.0, 2.0]), st.integers(0, 3)), max_size=14
)
CUTS = st.lists(st.tuples(st.sampled_from(["many", "push", "restore"]), st.integers(1, 6)), max_size=5)


def items(drawn, case):
    """Return a trace: an input has a slot, and times ascend."""
    return [Item(slot % len(case.inputs), key, v, at) for at, (slot, key, v) in enumerate(drawn, 1)]


def pushed(case, item):
    value = {"id": item.key, "v": item.v, "t": item.at}
    reactive = case.inputs[item.slot]
    if reactive is T:
        return Update(item.v, value)
    return Update(item.key, {"v": item.v}) if reactive is U else value


def batch_of(case, trace):
    found = {}
    for slot, reactive in enumerate(case.inputs):
        mine = [(order, item) for order, item in enumerate(trace) if item.slot == slot]
        keys = pa.array([item.key for _, item in mine], pa.float64(), from_pandas=False)
        v, at = [item.v for _, item in mine], [item.at for _, item in mine]
        columns = {"v": v, "key": keys} if reactive is U else {"id": keys, "v": v, "t": at}
        columns |= {"at": at, "order": [order for order, _ in mine]} | ({"key": v} if reactive is T else {})
        found[reactive] = columns
    return {reactive: columns for reactive, columns in found.items() if len(columns["v"])}


def told(event):
    return repr(event.value), event.start, event.end, event.weight


def late(engine):
    return [(told(found), slot, reason) for found, slot, reason in engine.late]


def run(case, trace, tier=None, cut=()):
    """Return what comes out, and the engine."""
    engine, out, rest = Engine(case.program, tier=tier), [], list(trace)
    for way, n in [*cut, ("push", len(trace))]:
        now, rest = rest[:n], rest[n:]
        if way == "restore":
            engine = Engine.restore(engine.snapshot(), case.program)
        if way == "many" and now:
            out += events_of(engine.push_many(batch_of(case, now)))
        else:
            out += [found for item in now for found in engine.push(case.inputs[item.slot], pushed(case, item), item.at)]
    return out, engine


def in_the_end(case, out, engine):
    """Return results with their numbers, or the rows of a table."""
    closing = engine.close()
    if not case.program.table:
        found = Counter()
        for one in [*out, *closing]:
            found[shown(one.value)] += one.weight
        return +found
    rows = {}
    for one in [*out, *closing]:
        if isinstance(one.value, Delete):
            rows.pop(repr(one.value.key), None)
        else:
            rows[repr(one.value.key)] = one.value.value
    return rows


def shown(value):
    if isinstance(value, tuple):
        return tuple(part.v if hasattr(part, "v") else part for part in value)
    return value


def table_of(case, rows):
    """Return rows as the plain code has them."""
    if case.operator == "aggregate" and "session" in repr(case.program.pattern.restrictions):
        return Counter(rows.values())
    found = {}
    for key, value in rows.items():
        if case.operator == "aggregate":
            found_window = re.match(r"\((.*), Window\(start=(\d+)", key)
            assert found_window is not None
            group, start = found_window.groups()
            found[repr((float(group), int(start) // 5))] = repr(value)
        elif case.operator == "foreign_join":
            found[key] = repr((value[0].t, value[1] and value[1].v))
        else:
            found[key] = repr(value.v if case.operator == "to_table" else value)
    return found


@pytest.mark.parametrize("name", CASES)
@given(drawn=TRACES)
def test_results_are_those_of_plain_code(name, drawn):
    case = CASES[name]
    trace = items(drawn, case)
    out, engine = run(case, trace)
    aside = Counter((item.at, item.slot) for item in trace if item.is_null and item.slot in case.lacking)
    slots = [one.reactive for one in (found for found, _, _ in engine.late)]
    assert Counter(found.end for found, _, _ in engine.late) == Counter(at for at, _ in aside)
    assert Counter(slots) == Counter(case.inputs[slot].name for _, slot in aside)
    assert all(reason.startswith("its key is null, by ") for _, _, reason in engine.late)
    if case.kept:
        there = [item for item in trace if not item.is_null and item.slot in case.kept]
        rows = len({item.key for item in there}) if case.operator == "to_table" else len(there)
        assert engine.stats.retained == rows  # what came out unmatched for good is not kept
    found = in_the_end(case, out, engine)
    expected = case.expected(trace)
    assert (table_of(case, found) if case.program.table else found) == expected


@pytest.mark.parametrize("name", CASES)
@given(drawn=TRACES, cut=CUTS)
def test_all_tiers_agree(name, drawn, cut):
    case = CASES[name]
    trace = items(drawn, case)
    expected, reference = run(case, trace, tier="reference")
    out, engine = run(case, trace, cut=cut)
    assert list(map(told, out)) == list(map(told, expected))
    assert late(engine) == late(reference)
    assert list(map(told, engine.close())) == list(map(told, reference.close()))


SCHEMA = t.StructType(
    [t.StructField("at", t.TimestampType()), t.StructField("id", t.LongType()), t.StructField("v", t.LongType())]
)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.by_bucket])
@given(drawn=TRACES, seed=st.integers(0, 2**32))
def test_the_number_of_buckets_is_of_no_account(name, drawn, seed):
    case = CASES[name]
    trace = items([(slot, None if key is None or math.isnan(key) else int(key), v) for slot, key, v in drawn], case)
    rows = [Row(case.inputs[item.slot].name, item.at, {"at": item.at, "id": item.key, "v": item.v}) for item in trace]
    found = []
    for buckets in (1, 2, 7):
        schemas = {reactive.name: SCHEMA for reactive in case.inputs}
        told_of: dict[str, Any] = {} if case.schema is None else {"schema": case.schema}
        plan = planned(
            case.program, schemas, is_streaming=False, close=True, unbounded=True, buckets=buckets, **told_of
        )
        model = MicroBatches(plan, random.Random(seed))
        model.run_batch(rows)
        results = Counter((repr(row["value"]), repr(row["key"]), row["end"]) for row in model.results)
        letters = Counter((row["kind"], row["source"], row["reason"], row["payload"]) for row in model.letters)
        found.append((results, letters))
    assert found[0] == found[1] == found[2]
    aside = [item for item in trace if item.is_null and item.slot in case.lacking]
    assert Counter(kind for kind, *_ in found[0][1].elements()) == Counter({"dead": len(aside)} if aside else {})


@given(keys=st.lists(st.sampled_from([None, NAN, (1, None), (1, NAN), (), 1]), max_size=8), is_tier=st.booleans())
def test_the_row_of_any_key_is_found_again(keys, is_tier):
    engine, rows = Engine(T, tier="reference" if is_tier else None), {}
    joined = Engine(foreign_join(T, U, on=lambda x: 1), tier="reference" if is_tier else None)
    for n, drawn in enumerate(keys):
        key = float("nan") if drawn is NAN else (1, float("nan")) if drawn == (1, NAN) else drawn
        change = Delete(key) if repr(key) in rows and n % 2 else Update(key, n)
        rows = {other: value for other, value in rows.items() if other != repr(key)}
        rows |= {repr(key): n} if isinstance(change, Update) else {}
        for one in (engine, joined):
            one.push(T, change)
        joined = Engine.restore(joined.snapshot(), *joined.outputs) if n % 3 == 0 else joined
    assert joined.stats.retained == len(rows)
    joined.push(U, Update(1, "x"))
    assert {repr(key): value[0] for key, value in joined.query(joined.outputs[0]).items()} == rows


NO_KEYS = [NAN, Decimal("NaN"), complex(NAN), np.float32(NAN), np.datetime64("NaT", "us"), pd.NaT]


@pytest.mark.parametrize("tier", [None, "reference"])
@pytest.mark.parametrize("key", [*NO_KEYS, *[(1, key) for key in NO_KEYS]], ids=repr)
def test_what_does_not_equal_itself_is_the_key_of_nothing(key, tier):
    """Of whatever type: a dict would find it by its identity, and rows of pandas have one NaT for all."""
    by_key = correlate(x=A, y=B, yields=lambda x, y: 1, restrict=key_by(x="k", y="k"))
    equated = correlate(x=A, y=B, where=lambda x, y: x.k == y.k, yields=lambda x, y: 1)
    looked_up = stream_table_join(A, to_table(B, key="k"), on="k", how="left")
    counted = aggregate(A, count, by="k", restrict=tumbling(10))
    for program, known, aside in ((by_key, [], 2), (equated, [], 0), (looked_up, [None], 1), (counted, [], 1)):
        engine = Engine(program, tier=tier)
        sources = [one for one in (B, A) if one in engine.inputs.values()]
        assert [event.value[1] for one in sources for event in engine.push(one, {"k": key}, at=1)] == known
        assert len(engine.late) == aside


@pytest.mark.parametrize("ids", [[1, 2, 3], [1, None, 3]], ids=["no null", "a null"])
def test_a_key_function_that_does_not_trace_is_called_once_a_row_of_a_batch(ids):
    asked = []

    def key(row):
        asked.append(row.id)
        return [row.id][0]

    both = correlate(
        x=A, y=B, yields=lambda x, y: (x.id, y.id), restrict=key_by(x=key, y=key) | most_recently("x", "y")
    )
    cases = [(both, (A, B)), (to_table(A, key=key), (A,))]
    for program, sources in cases[: 1 if None in ids else 2]:  # what makes a table of nulls goes row by row
        asked.clear()
        engine = Engine(program)
        engine.push_many({source: {"id": ids, "order": [n, n + 2, n + 4]} for n, source in enumerate(sources)})
        assert engine._why_row_by_row == ""
        assert Counter(asked) == Counter(ids * len(sources))


@pytest.mark.parametrize("tier", ["reference", None, "batch"])
@pytest.mark.parametrize(
    "made",
    [
        lambda key: to_table(A, key=key),
        lambda key: correlate(x=A, yields=lambda x: x, restrict=as_table(key) | retracting() | most_recently("x", n=9)),
        lambda key: aggregate(A, count, by=key, restrict=tumbling(9)),
        lambda key: group_by(A, key, combine=lambda n, _: n + 1, initial=0),
        lambda key: streams.distinct_until_changed(A, key=key),
    ],
    ids=["to_table", "as_table", "aggregate", "group_by", "distinct_until_changed"],
)
def test_a_key_that_traces_means_what_it_means_in_a_body(made, tier):
    """A comparison with a null is unknown, and only what is true stops `|`: no operator asks Python instead."""
    rows = [(None, 2), (3, None), (0, 0)]
    engine = Engine(made(lambda row: (row.id > 1) | (row.v == 2)), tier=None if tier == "batch" else tier)
    if tier == "batch":
        given = events_of(engine.push_many({A: {"id": [a for a, _ in rows], "v": [b for _, b in rows]}}))
    else:
        given = [event for a, b in rows for event in engine.push(A, {"id": a, "v": b})]
    if isinstance(given[0].value, Update):
        keys = [event.value.key for event in given]
        assert [key[0] if isinstance(key, tuple) else key for key in keys] == [True, True, False]
    else:
        assert [event.value.id for event in given] == [None, 0]  # the second has the key of the first


def test_every_operator_that_takes_a_key_is_a_case():
    found = set()
    for module in (restrictions, streams, tables):
        for name in module.__all__ if hasattr(module, "__all__") else dir(module):
            one = getattr(module, name)
            names = set(getattr(one, "_fields", ()))
            if callable(one) and not names:
                try:
                    names = set(inspect.signature(one).parameters)
                except (TypeError, ValueError):
                    continue
            if names & {"key", "keys", "by", "on"}:
                found.add(name)
    assert found == {case.operator for case in CASES.values()} | set(OTHERS)
