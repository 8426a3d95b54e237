"""A partitioning is read off the program; where none is sound, the reason is said, or one bucket is asked for."""

from __future__ import annotations

import pytest

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import (
    aligning,
    as_table,
    cartesian,
    combine_latest,
    key_by,
    most_recently,
    optionally,
    retracting,
    without,
)
from restrictions.tables import foreign_join, inner_join
from spark_bridge.partition_choice import chosen_partition

left, right, wind = Reactive("left"), Reactive("right"), Reactive("wind")
ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")
gauge = Reactive("gauge", table=True, key="id")
WHOLE, TEXT = "a whole number", "string"
COLUMNS = {
    "left": {"n": WHOLE, "k": WHOLE, "name": TEXT},
    "right": {"k": WHOLE, "n": WHOLE, "name": TEXT},
    "ship": {"mmsi": WHOLE},
    "berth": {"id": TEXT},
    "gauge": {"id": TEXT},
    "wind": {"k": TEXT},
}


def per_key(restrict, left_key="k", right_key="k"):
    return cartesian(left, right, restrict=key_by(left=left_key, right=right_key) | restrict)


moored = correlate(
    ship=ship,
    berth=berth,
    where=lambda ship, berth: ship.berth == berth.id,
    yields=lambda ship, berth: (ship.mmsi, berth),
    restrict=optionally("berth") | retracting() | as_table("ship"),
    name="moored",
)

CHOICES = {
    "the key of a key_by": (per_key(most_recently("left", "right")), {"left": "k", "right": "k"}),
    "also of different names": (per_key(aligning("left", "right"), "n", "k"), {"left": "n", "right": "k"}),
    "an equality": (
        correlate(
            left=left, right=right, where=lambda left, right: left.name == right.name, yields=lambda left, right: left
        ),
        {"left": "name", "right": "name"},
    ),
    "of two equalities the first, as the frames have it": (
        correlate(
            left=left,
            right=right,
            where=lambda left, right: (left.name == right.name) & (left.k == right.k),
            yields=lambda left, right: left,
        ),
        {"left": "k", "right": "k"},
    ),
    "a foreign key leaves the named table whole": (moored, {"ship": "mmsi"}),
    "a chain of them, too": (
        foreign_join(ship, foreign_join(berth, gauge, on="gauge"), on="berth"),
        {"ship": "mmsi"},
    ),
    "tables of one key are split alike": (inner_join(berth, gauge), {"berth": "id", "gauge": "id"}),
    "what has no key is whole": (
        cartesian(left, wind, restrict=key_by(left="k") | most_recently("left", "wind")),
        {"left": "k"},
    ),
    "what is counted over all keys is whole": (
        correlate(
            left=left,
            right=right,
            where=lambda left, right: left.k == right.k,
            yields=lambda left, right: left,
            restrict=most_recently("left"),
        ),
        {"right": "k"},
    ),
    "an absence by key": (
        correlate(
            left=left,
            yields=lambda left: left,
            restrict=key_by(left="k", right="k") | without(right, after="left", within=5),
        ),
        {"left": "k", "right": "k"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("program", "expected"), CHOICES.values(), ids=CHOICES)
def test_it_is_read_off_the_program(program, expected):
    used = {name: COLUMNS[name] for name in COLUMNS if name in inputs_of(program)}
    assert chosen_partition((program,), used) == expected


def inputs_of(reactive):
    if reactive.pattern is None:
        return {reactive.name}
    return {name for slot in reactive.pattern.slots.values() for name in inputs_of(slot)}


def test_several_outputs_agree_on_one():
    by_n = per_key(most_recently("left", "right"), "n", "n")
    by_k = per_key(most_recently("left", "right"))
    columns = {name: COLUMNS[name] for name in ("left", "right")}
    assert chosen_partition((by_k,), columns) == {"left": "k", "right": "k"}
    with pytest.raises(InvalidArgument, match="meet without being equal in the column of the partition"):
        chosen_partition((by_k, by_n), columns)


def test_columns_of_different_types_are_not_split_together():
    both = cartesian(left, wind, restrict=key_by(left="k", wind="k") | most_recently("left", "wind"))
    columns = {name: COLUMNS[name] for name in ("left", "wind")}
    assert chosen_partition((both,), columns) == {"left": "k"}


def test_where_nothing_is_keyed_the_caller_has_to_say_one_bucket():
    with pytest.raises(InvalidArgument, match=r"nothing in it is keyed, or equated, .*or say buckets=1"):
        chosen_partition((combine_latest(left, right),), {name: COLUMNS[name] for name in ("left", "right")})


def test_what_is_wrong_with_the_best_is_said():
    whole = correlate(
        left=left,
        right=right,
        where=lambda left, right: left.k == right.k,
        yields=lambda left, right: left,
        restrict=most_recently("left", "right"),
    )
    with pytest.raises(InvalidArgument, match=r"most_recently\('left', 'right'\) counts left over all keys"):
        chosen_partition((whole,), {name: COLUMNS[name] for name in ("left", "right")})
