"""The law of splitting: what a program says may be spread over buckets gives the same in any number of them.

Programs are drawn from stacks of restrictions, left and right of `key_by`, with and without an equality; about half of
them are accepted. What `explain` says of them, what `partition_by` derives and what the bridge accepts is one answer.
"""

from __future__ import annotations

import random
import re
from functools import partial, reduce
from operator import or_
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from pyspark.sql import types as t

import restrictions as r
from cartesius import Engine, Reactive, correlate, one_or_more, repeated
from cartesius.analysis.partition_choice import NoPartition, chosen_partition
from cartesius.analysis.partitioning import Partitioning, Unsplittable
from cartesius.errors import InvalidArgument
from restrictions.windows import first, last
from tests.laws.bridge_programs import INDEXES, drawn_from
from tests.laws.spark_model import planned
from tests.laws.test_bridge import EXAMPLES, MODES, check
from tests.oracle.tier_programs import Case

A, B, C = Reactive("in0"), Reactive("in1"), Reactive("in2")
UNIT = 1_000
BY_TIME = ("batch", "event_time")
"""The modes in which every bucket uses its rows in the order of their times."""
SEQUENCES: dict[str, Any] = {
    f"in sequence, {contiguity}, {after}": partial(r.in_sequence, "a", "b", contiguity=contiguity, after_match=after)
    for contiguity in ("relaxed", "strict", "any")
    for after in ("no_skip", "past_last")
} | {
    "backwards": lambda: r.in_sequence("b", "a"),
    "three": lambda: r.in_sequence("a", "b", "c"),
    "three strict": lambda: r.in_sequence("c", "a", "b", contiguity="strict"),
    "with what has no key": lambda: r.in_sequence("a", "c"),
}
OTHERS: dict[str, Any] = {
    "within": lambda: r.within(4 * UNIT, "a", "b"),
    "latest": lambda: r.most_recently("a", "b"),
    "latest of one": lambda: r.most_recently("a"),
    "first of one": lambda: r.earliest("b"),
    "once": lambda: r.affinely("a", "b"),
    "twice": lambda: r.at_most(2, "a"),
    "aligned": lambda: r.aligning("a", "b"),
    "take": lambda: r.take(3, "a"),
    "take results": lambda: r.take(3),
    "every second": lambda: r.every_nth(2),
    "first match": r.first_match,
    "momentarily": lambda: r.momentarily("b"),
    "oldest first": r.fifo,
    "only": lambda: r.only("a", lambda a: a.n != 1),
    "in order": lambda: r.in_event_time(0),
    "windows": lambda: r.tumbling(5 * UNIT),
    "sliding windows": lambda: r.sliding(6 * UNIT, 3 * UNIT),
    "sessions": lambda: r.session(3 * UNIT),
    "sessions of the last events": lambda: r.session(3 * UNIT, content=last(2)),
    "windows of the first events": lambda: r.tumbling(5 * UNIT, content=first(2)),
    "windows by twos": lambda: r.tumbling(5 * UNIT, tick=2),
    "versions": lambda: r.versioned("a", "b", retention=8 * UNIT),
    "versions of one": lambda: r.versioned("b"),
    "absent after": lambda: r.without(C, after="a", within=3 * UNIT),
    "absent between": lambda: r.without(C, between=("a", "b")),
    "perhaps": lambda: r.optionally("b") | r.retracting(),
    "perhaps the third": lambda: r.optionally("c") | r.retracting(),
}
STACKS = SEQUENCES | OTHERS
WHERE: dict[str, Any] = {
    "none": None,
    "equal": lambda a, b: a.k == b.k,
    "equal, and more": lambda a, b: (a.k == b.k) & (a.n <= b.n),
    "by another": lambda a, b: a.j == b.j,
    "by a third": lambda a, b, c: (a.k == c.k) & (c.k == b.k),
    "all": lambda a, b, c: (a.k == b.k) & (b.k == c.k),
}
OF_THREE = ("by a third", "all")
NEED_THREE = {"three", "three strict", "with what has no key", "perhaps the third"}
KEYS: dict[str, dict[str, Any]] = {
    "none": {},
    "both": {"a": "k", "b": "k"},
    "one": {"a": "k"},
    "all": {"a": "k", "b": "k", "in2": "k"},
}
BINDINGS: dict[str, Any] = {"an event": A, "several": repeated(A, 2), "a run": one_or_more(A)}


def of_two(a, b):
    return {"a": a.n, "b": b.n}


def of_three(a, b, c):
    return {"a": a.n, "b": b.n, "c": c.n}


def of_a_list(a, b):
    return {"b": b.n}


def program(names, where, keys, binding, place):
    """Return a program, or raise what refuses it: restrictions in their order, with key_by at a place among them."""
    has_third = bool(NEED_THREE & set(names)) or where in OF_THREE
    stack = [STACKS[name]() for name in names]
    if KEYS[keys]:
        stack.insert(min(place, len(stack)), r.key_by(**KEYS[keys]))
    return correlate(
        slots={"a": BINDINGS[binding], "b": B} | ({"c": C} if has_third else {}),
        where=WHERE[where] if binding == "an event" else None,  # a list has no field
        yields=of_a_list if binding != "an event" else of_three if has_third else of_two,
        restrict=reduce(or_, stack) if stack else None,
        name="out",
    )


@st.composite
def programs(draw):
    """A program that a correlation accepts, mostly with a sequence, and what it is made of."""
    first = draw(st.lists(st.sampled_from(sorted(SEQUENCES)), min_size=draw(st.sampled_from([1, 1, 0])), max_size=1))
    names = [*first, *draw(st.lists(st.sampled_from(sorted(OTHERS)), max_size=2, unique=True))]
    made = (
        draw(st.permutations(names)),
        draw(st.sampled_from(["equal", "equal", "equal", *sorted(WHERE)])),
        draw(st.sampled_from(["none", "both", *sorted(KEYS)])),
        draw(st.sampled_from(["an event", "an event", "an event", "several", "a run"])),
        draw(st.integers(0, 3)),
    )
    try:
        return made, program(*made)
    except InvalidArgument:
        return made, None


def inputs_of(output):
    return list(dict.fromkeys(output.pattern.slots.values()))


def answers(output, buckets):
    """What explain, the choice and the bridge say of a program: by which columns it is split, or None."""
    schema = t.StructType([t.StructField("at", t.TimestampType()), *[t.StructField(n, t.LongType()) for n in "jkn"]])
    (said,) = [line for line in Engine(output).explain().splitlines() if line.startswith("  partitioning  ")]
    by = dict(re.findall(r"(in\d)\.(\w)", said)) if "  by " in said else None
    try:
        columns = {one.name: dict.fromkeys("jkn", "a number") for one in inputs_of(output)}
        chosen = chosen_partition((output,), columns, in_order=True)
    except InvalidArgument:
        chosen = None
    try:
        plan = planned(
            output, {one.name: schema for one in inputs_of(output)}, is_streaming=True, unbounded=True, buckets=buckets,
            watermark="1 second",
        )  # fmt: skip
    except NoPartition:
        return by, chosen, None
    return by, chosen, {one.input.name: one.partition for one in plan.sources if one.partition is not None}


@given(drawn=programs())
def test_explain_and_partition_by_and_the_bridge_give_one_answer(drawn):
    _, output = drawn
    assume(output is not None)
    said, chosen, accepted = answers(output, 2)
    if chosen is not None and set(chosen.values()) == {"*"}:
        assert said == {}
        assert accepted == chosen
        return
    assert said == chosen == accepted
    event("split" if chosen else "refused")


@pytest.mark.parametrize("mode", MODES)
@given(drawn=programs(), trace=st.binary(min_size=80, max_size=160), seed=st.integers(0, 2**32))
@EXAMPLES
def test_what_may_be_split_gives_the_same_in_any_number_of_buckets(mode, drawn, trace, seed):
    made, output = drawn
    assume(output is not None)
    draw = random.Random(seed)
    bytes_of = bytes([0, draw.choice(INDEXES), 1, *trace])
    rows = drawn_from(Case("window", (A, B, C), (output,)), bytes_of)
    try:
        chosen_partition((output,), {name: dict.fromkeys("jkn", "") for name in rows.inputs}, in_order=mode in BY_TIME)
    except InvalidArgument:
        event("refused")
        assume(False)
    for name in made[0]:
        event(f"split: {name}")
    for buckets in (1, 2, 7):
        trial = check(rows, mode, random.Random(seed), is_derived=True, buckets=buckets)
        assert trial.plan.count == buckets


BY_KEY = [
    "sessions",
    "sessions of the last events",
    "windows of the first events",
    "versions",
    "versions of one",
]


@pytest.mark.parametrize("name", BY_KEY)
@given(
    others=st.lists(st.sampled_from(["within", "once", "oldest first", "absent after"]), max_size=1),
    where=st.sampled_from(["none", "equal"]),
    mode=st.sampled_from(MODES),
    trace=st.binary(min_size=80, max_size=160),
    seed=st.integers(0, 2**32),
)
@EXAMPLES
def test_windows_and_versions_of_a_key_are_split_by_it(name, others, where, mode, trace, seed):
    try:
        output = program([name, *others], where, "both", "an event", 0)
    except InvalidArgument:
        assume(False)
    rows = drawn_from(Case("window", (A, B, C), (output,)), bytes([0, random.Random(seed).choice(INDEXES), 1, *trace]))
    for buckets in (2, 7):
        assert check(rows, mode, random.Random(seed), is_derived=True, buckets=buckets).plan.count == buckets


FOUND = [
    ("sessions of all keys", (["sessions"], "equal", "none", "an event", 0)),
    ("versions of all keys", (["versions"], "equal", "none", "an event", 0)),
    ("batches of windows", (["windows by twos"], "equal", "both", "an event", 0)),
    ("strict, by an equality", (["in sequence, strict, no_skip", "within"], "equal", "none", "an event", 0)),
    ("strict, left of key_by", (["in sequence, strict, no_skip"], "none", "both", "an event", 1)),
    ("matches of all keys", (["take results"], "equal", "both", "an event", 1)),
    ("aligned without keys", (["aligned"], "equal", "none", "an event", 0)),
]


@pytest.mark.parametrize("made", [made for _, made in FOUND], ids=[name for name, _ in FOUND])
def test_what_is_common_to_all_keys_is_not_split(made):
    assert answers(program(*made), 2) == (None, None, None)


IN_ORDER = [
    (["in order"], "equal", "none", "an event", 0),
    (["in order", "latest", "once"], "none", "both", "an event", 0),
    (["latest of one", "momentarily", "in order"], "none", "both", "an event", 0),
    (["in sequence, strict, past_last", "within", "in order"], "none", "both", "an event", 0),
    (["absent between", "in order"], "none", "all", "an event", 0),
    (["backwards", "in order"], "equal", "none", "an event", 0),
    (["latest of one", "once", "in order"], "none", "both", "several", 0),
]


@pytest.mark.parametrize("made", IN_ORDER, ids=str)
def test_what_puts_events_in_order_is_split_where_rows_come_in_that_order(made):
    output = program(*made)
    columns = {one.name: dict.fromkeys("jkn", "a number") for one in inputs_of(output)}
    with pytest.raises(NoPartition, match=r"in_event_time\(0\) chooses among the events of all keys"):
        chosen_partition((output,), columns)
    assert set(chosen_partition((output,), columns, in_order=True).values()) == {"k"}
    (said,) = [line for line in Engine(output).explain().splitlines() if line.startswith("  partitioning  ")]
    assert said.endswith(", where rows are used in the order of their times")


@pytest.mark.parametrize("mode", BY_TIME)
@given(
    made=st.sampled_from(IN_ORDER),
    trace=st.binary(min_size=80, max_size=160),
    seed=st.integers(0, 2**32),
)
@EXAMPLES
def test_what_is_put_in_order_gives_the_same_in_any_number_of_buckets(mode, made, trace, seed):
    output = program(*made)
    bytes_of = bytes([0, random.Random(seed).choice(INDEXES), 1, *trace])
    rows = drawn_from(Case("window", (A, B, C), (output,)), bytes_of)
    assert check(rows, mode, random.Random(seed), is_derived=True, buckets=7).plan.count == 7


def test_what_comes_late_to_a_gate_by_another_one_or_by_a_correlation_is_not_split():
    behind = program(["in order", "aligned"], "none", "both", "an event", 0)
    held = correlate(
        x=A, yields=lambda x: {"k": x.k}, restrict=r.key_by(x="k", in2="k") | r.without(C, after="x", within=3)
    )
    derived = correlate(x=held, yields=lambda x: x, restrict=r.key_by(x="k") | r.in_event_time(5))
    for output in (behind, derived):
        with pytest.raises(NoPartition):
            chosen_partition((output,), in_order=True)


@pytest.mark.parametrize("what", ["absent after", "perhaps the third"])
def test_slots_are_not_equal_by_way_of_what_may_not_be_there(what):
    by_third = program([what], "by a third", "none", "an event", 0)
    with pytest.raises(Unsplittable, match="meet without being equal"):
        Partitioning((by_third,), {"in0": "k", "in1": "k", "in2": "k"})
    assert Partitioning((by_third,), {"in0": "k", "in2": "k"}).is_split(by_third)
    every = program([what], "all", "none", "an event", 0)
    assert Partitioning((every,), {"in0": "k", "in1": "k", "in2": "k"}).is_split(every)


def test_what_is_next_by_a_condition_on_a_part_that_comes_later_is_not_split():
    three = program(["three"], "by a third", "none", "an event", 0)
    assert Partitioning((three,), {"in0": "k", "in2": "k"}).is_split(three)  # each bucket has all that may come between
    with pytest.raises(Unsplittable, match="counts a over all keys"):
        Partitioning((three,), {"in0": "k", "in1": "k", "in2": "k"})


def test_the_same_right_of_key_by_is_split():
    for contiguity in ("strict", "relaxed", "any"):
        made = ([f"in sequence, {contiguity}, past_last", "within"], "none", "both", "an event", 0)
        assert answers(program(*made), 2) == ({"in0": "k", "in1": "k"},) * 3
