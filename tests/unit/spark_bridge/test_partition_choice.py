"""A partitioning is read off the program; where none is sound, the reason is said, or one bucket is asked for."""

from __future__ import annotations

import pytest

from cartesius import Reactive, correlate, repeated
from cartesius.analysis.partition_choice import chosen_partition
from cartesius.analysis.partitioning import Partitioning
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    combine_latest,
    in_event_time,
    key_by,
    most_recently,
    optionally,
    retracting,
    sliding,
    take,
    without,
)
from restrictions.streams import distinct_until_changed, filter_, interval_join, map_, merge, scan, take_until
from restrictions.tables import (
    changelog,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    reduce,
    to_table,
)

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
    "of two equalities the first that is written": (
        correlate(
            left=left,
            right=right,
            where=lambda left, right: (left.name == right.name) & (left.k == right.k),
            yields=lambda left, right: left,
        ),
        {"left": "name", "right": "name"},
    ),
    "a foreign key leaves the named table whole": (moored, {"ship": "mmsi"}),
    "a chain of them, too": (
        foreign_join(ship, foreign_join(berth, gauge, on="gauge"), on="berth"),
        {"ship": "mmsi"},
    ),
    "tables of one key are split alike": (inner_join(berth, gauge), {"berth": "id", "gauge": "id"}),
    "also where a row of one is enough": (left_join(berth, gauge), {"berth": "id", "gauge": "id"}),
    "or where a row of either is": (outer_join(berth, gauge), {"berth": "id", "gauge": "id"}),
    "and on top of that": (
        left_join(outer_join(berth, gauge), filter_table(gauge, lambda gauge: gauge.height > 0)),
        {"berth": "id", "gauge": "id"},
    ),
    "a table alone, by its key": (filter_table(ship, lambda ship: ship.length > 100), {"ship": "mmsi"}),
    "what has no memory, by the whole row": (map_(filter_(left, lambda x: x.n > 0), lambda x: x.n), {"left": "*"}),
    "also of several sources": (merge(map_(left, lambda x: x.n), right), {"left": "*", "right": "*"}),
    "also windows of one source": (
        correlate(x=left, yields=lambda x, window: (x.n, window.start), restrict=sliding(6, 3)), {"left": "*"}
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


def test_outputs_that_have_nothing_in_common_are_split_each_by_its_own():
    of_streams = per_key(most_recently("left", "right"))
    columns = {name: COLUMNS[name] for name in ("ship", "berth", "left", "right")}
    assert chosen_partition((moored, of_streams), columns) == {"ship": "mmsi", "left": "k", "right": "k"}


def test_columns_of_different_types_are_not_split_together():
    both = cartesian(left, wind, restrict=key_by(left="k", wind="k") | most_recently("left", "wind"))
    columns = {name: COLUMNS[name] for name in ("left", "wind")}
    assert chosen_partition((both,), columns) == {"left": "k"}


def test_where_nothing_is_keyed_the_caller_has_to_say_one_bucket():
    with pytest.raises(InvalidArgument, match=r"nothing in it is keyed, or equated, .*or say buckets=1"):
        chosen_partition((combine_latest(left, right),), {name: COLUMNS[name] for name in ("left", "right")})


def test_columns_of_types_that_rows_are_not_spread_by_are_named():
    by_k = per_key(most_recently("left", "right"))
    with pytest.raises(InvalidArgument, match=r"types that rows are not spread by: left\.k, right\.k; cast them"):
        chosen_partition((by_k,), {"left": {}, "right": {}})


OF_ALL_ROWS = {
    "the order of arrival": scan(left, lambda total, x: total + x.n, initial=0),
    "what came before": distinct_until_changed(left),
    "how many there were": correlate(x=left, yields=lambda x: x, restrict=take(3)),
    "consumption": cartesian(left, wind, restrict=affinely("left")),
    "consumption of what every bucket has": cartesian(left, wind, restrict=affinely("wind")),
    "a gate": correlate(x=left, yields=lambda x: x, restrict=in_event_time(5)),
    "a signal": take_until(left, wind),
    "several at once": correlate(xs=repeated(left, 2), yields=lambda xs: xs),
    "totals": reduce(to_table(left, key="k"), count),
    "a row of a table": map_(changelog(ship), lambda change: change.key),
}  # fmt: skip


@pytest.mark.parametrize("program", OF_ALL_ROWS.values(), ids=OF_ALL_ROWS)
def test_what_depends_on_other_rows_is_not_split_by_the_whole_row(program):
    try:
        found = chosen_partition((program,), {name: COLUMNS[name] for name in COLUMNS if name in inputs_of(program)})
    except InvalidArgument:
        return
    assert "*" not in found.values()


ASKED = [
    cartesian(left, wind, restrict=most_recently("wind")),
    interval_join(left, wind, -5, 5),
    correlate(left=left, yields=lambda left: left, restrict=without(wind, after="left", within=5)),
]


@pytest.mark.parametrize("program", ASKED)
def test_what_would_take_room_in_every_bucket_has_to_be_asked_for(program):
    assert Partitioning((program,), {"left": "*"}).is_split(program)
    with pytest.raises(InvalidArgument, match="or say buckets=1"):
        chosen_partition((program,), {name: COLUMNS[name] for name in ("left", "wind")})


def test_of_a_table_the_whole_row_decides_nothing():
    split = Partitioning((map_table(ship, lambda ship: ship.name),), {})
    split.columns = {"ship": "*"}
    with pytest.raises(InvalidArgument, match="a row that changes itself would stay in its old bucket, as the key is"):
        split.check_table(ship)


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


def test_a_function_that_gives_a_column_is_that_column():
    """Also as a restriction runs it, where null in it is SQL's."""
    by = key_by(left=lambda row: row.k, right="k")
    program = cartesian(left, right, restrict=by | most_recently("left", "right"))
    assert chosen_partition((program,), {name: COLUMNS[name] for name in ("left", "right")}) == {
        "left": "k",
        "right": "k",
    }
