"""What may be spread over buckets, and what is refused with its reason."""

from __future__ import annotations

import pytest

from cartesius import (
    Reactive,
    Restriction,
    Slots,
    arrive,
    correlate,
    each,
    forward,
    handles,
    one_or_more,
    repeated,
    select,
)
from cartesius.analysis.partitioning import Partitioning
from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, instant, now, require
from dsl.units import hours, minutes
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    combine_latest,
    key_by,
    most_recently,
    optionally,
    retracting,
    session,
    sliding,
    tumbling,
    versioned,
    without,
)
from restrictions.tables import aggregate, combine_updates, count, reduce, to_table
from restrictions.windows import dstream, istream, last, on_close, rstream

ship = Reactive("ship", table=True, key="mmsi")
crew = Reactive("crew", table=True, key="id")
berth = Reactive("berth", table=True, key="id")
left, right, wind = Reactive("left"), Reactive("right"), Reactive("wind")
SPLIT = {"ship": "mmsi", "left": "k", "right": "k"}


vessel = Source("ship", key="mmsi", mmsi=int, eta=instant, berth=str, stale_after=30 * minutes)
UNTIL_NOON = RulePack("until noon", subject=vessel, only=vessel.berth != "A")
with UNTIL_NOON:
    require(vessel.eta - now <= 24 * hours)


class choosing(Restriction):
    @handles(select)
    def choose(self, matches):
        return forward(matches)


class gate(Restriction):
    slots: Slots

    @handles(arrive, "slots")
    def let(self, slot, event):
        forward(slot, event)


def moored(restrict):
    return correlate(
        ship=ship,
        berth=berth,
        where=lambda ship, berth: ship.berth == berth.id,
        yields=lambda ship, berth: (ship.mmsi, berth.depth),
        restrict=restrict,
        name="moored",
    )


def per_key(restrict):
    return cartesian(left, right, restrict=key_by(left="k", right="k") | restrict)


TABLE = moored(optionally("berth") | retracting() | as_table("ship"))

SOUND = {
    "foreign key": TABLE,
    "on top of a table": correlate(row=TABLE, yields=lambda row: row[1], restrict=retracting() | as_table("row")),
    "keyed by a traced function": moored(retracting() | as_table(lambda row: row[0])),
    "zip per key": per_key(most_recently("left", "right") | aligning("left", "right")),
    "consumption per key": per_key(affinely("left", "right")),
    "key by function": cartesian(
        left, right, restrict=key_by(left=lambda x: x.k, right=lambda x: x["k"]) | most_recently("left")
    ),
    "by equality": correlate(
        left=left, right=right, where=lambda left, right: left.k == right.k, yields=lambda left, right: (left, right)
    ),
    "stream with table": correlate(
        ship=ship,
        left=left,
        where=lambda ship, left: ship.mmsi == left.k,
        yields=lambda ship, left: ship,
        restrict=retracting(),
    ),
    "by the table's key": correlate(
        ship=ship, left=left, where=lambda key_ship, left: key_ship == left.k, yields=lambda ship, left: ship
    ),
    "keyed with unkeyed": cartesian(left, wind, restrict=key_by(left="k") | most_recently("left", "wind")),
    "absence by key": correlate(
        left=left,
        yields=lambda left: left,
        restrict=key_by(left="k", right="k") | without(right, after="left", within=5),
    ),
    "absence by an equality": correlate(
        left=left,
        right=right,
        where=lambda left, right: left.k == right.k,
        yields=lambda left: left,
        restrict=without("right", after="left", within=5),
    ),
    "absence of what every bucket has": correlate(
        left=left, yields=lambda left: left, restrict=without(wind, after="left", within=5)
    ),
    "windowed join": correlate(
        left=left,
        right=right,
        where=lambda left, right: left.k == right.k,
        yields=lambda left, right: left,
        restrict=tumbling(5),
    ),
    "latest in windows, per key": per_key(tumbling(5) | most_recently("left", "right")),
    "totals by key": reduce(ship, count, by="mmsi"),
    "folds of the rows of a table": combine_updates(ship, 0, lambda total, ship: total + ship.length),
    "rows that the clock changes": UNTIL_NOON.table(),
    "sessions of a key": per_key(session(5)),
    "what reports of windows of a key add": per_key(tumbling(5, report=on_close) | istream()),
    "all that they have": per_key(session(5) | rstream()),
    "the last event in windows of a key": per_key(tumbling(5, content=last())),
    "totals in sessions by key": aggregate(left, count, by="k", restrict=session(5)),
    "versions of the rows of a table, and of a key": correlate(
        left=left,
        ship=ship,
        where=lambda left, ship: left.k == ship.mmsi,
        yields=lambda left, ship: left,
        restrict=key_by(left="k") | versioned("left", "ship", retention=5),
    ),
    "totals in windows by key": aggregate(left, count, by="k", restrict=sliding(6, 3)),
    "broadcast alone": combine_latest(wind, berth),
    "two levels": correlate(
        pair=per_key(most_recently("left", "right")),
        ship=ship,
        where=lambda pair, ship: pair[0].k == ship.mmsi,
        yields=lambda pair, ship: (pair[1].n, ship.name),
    ),
}

REFUSED = {
    "counts x over all keys": combine_updates(to_table(left, key="n"), 0, lambda total, row: total + row.length),
    "session(5) makes windows of the events of all keys; put a key_by": correlate(
        left=left,
        right=right,
        where=lambda left, right: left.k == right.k,
        yields=lambda left, right: left,
        restrict=session(5),
    ),
    "session(4) makes windows of the events of all keys": correlate(
        left=left, right=wind, yields=lambda left: left, restrict=key_by(left="k", right="k") | session(4)
    ),
    "istream() makes reports of the events of all keys; put a key_by": correlate(  # the report before is of all keys
        left=left, yields=lambda left: left, restrict=tumbling(5, report=on_close) | key_by(left="k") | istream()
    ),
    "dstream() makes reports of the events of all keys; put a key_by": correlate(
        left=left, yields=lambda left: left, restrict=tumbling(5) | dstream()
    ),
    "tumbling(5, tick=2) makes windows of the events of all keys, be they keyed": per_key(tumbling(5, tick=2)),
    "versioned('left', 'ship', retention=5) makes versions of the events of all keys; put a key_by": correlate(
        left=left,
        ship=ship,
        where=lambda left, ship: left.k == ship.mmsi,
        yields=lambda left, ship: left,
        restrict=versioned("left", "ship", retention=5),
    ),
    "totalling(count) totals over all keys": reduce(ship, count),
    "several buckets would have rows of one key; key": reduce(ship, count, by="berth"),
    "left and right meet without": correlate(
        left=left, yields=lambda left: left, restrict=without(right, after="left", within=5)
    ),
    "its partitioned part may be missing (left)": correlate(
        wind=wind, yields=lambda wind: wind, restrict=without(left, after="wind", within=5)
    ),
    "several buckets would have rows of one key": moored(retracting() | as_table("berth")),
    "meet without being equal": correlate(left=left, right=right, yields=lambda left, right: (left, right)),
    "and right meet without": correlate(
        left=left, right=right, where=lambda left, right: left.n == right.k, yields=lambda left, right: left
    ),
    "most_recently('left') counts left over all keys": cartesian(left, wind, restrict=most_recently("left")),
    "most_recently('ship') counts ship": correlate(ship=ship, yields=lambda ship: ship, restrict=most_recently("ship")),
    "affinely('berth') would count berth, of which each bucket has a copy": moored(affinely("berth")),
    "gate('left', 'wind') would count wind": cartesian(left, wind, restrict=key_by(left="k") | gate("left", "wind")),
    "choosing() chooses among the events of all keys": moored(choosing()),
    "its partitioned part may be missing (ship)": moored(optionally("ship", "berth") | retracting()),
}


@pytest.mark.parametrize("program", SOUND.values(), ids=SOUND)
def test_a_program_whose_parts_have_one_key_is_accepted(program):
    Partitioning((program,), SPLIT)


@pytest.mark.parametrize(("reason", "program"), REFUSED.items(), ids=str)
def test_a_program_whose_buckets_would_differ_is_refused(reason, program):
    with pytest.raises(InvalidArgument) as refusal:
        Partitioning((program,), SPLIT)
    assert reason in str(refusal.value)
    assert str(refusal.value).endswith("use buckets=1")
    Partitioning((program,), {})


def test_keys_that_are_not_the_partition_do_not_count():
    other = cartesian(left, right, restrict=key_by(left="n", right="n") | most_recently("left", "right"))
    with pytest.raises(InvalidArgument, match="meet without being equal"):
        Partitioning((other,), SPLIT)


def test_a_table_whose_rows_could_move_is_refused():
    split = Partitioning((TABLE,), {"crew": "ship"})
    with pytest.raises(InvalidArgument, match="a row that changes its 'ship' would stay in its old bucket"):
        split.check_table(crew)
    Partitioning((TABLE,), SPLIT).check_table(ship)


def test_it_knows_which_outputs_every_bucket_has():
    split = Partitioning((TABLE, SOUND["broadcast alone"]), SPLIT)
    assert [split.is_split(one) for one in (TABLE, SOUND["broadcast alone"], ship, berth)] == [True, False, True, False]


def listed(n, *, restrict=None, where=None):
    return correlate(xs=repeated(left, n), where=where, yields=lambda xs: xs, restrict=restrict, name="listed")


def test_the_events_of_a_list_meet_and_so_must_have_one_key_of_the_partition():
    for whole in (listed(1), listed(2, restrict=key_by(xs="k"))):
        assert Partitioning((whole,), SPLIT).is_split(whole)
    equal = correlate(
        y=right,
        xs=repeated(left, 2),
        where=lambda y, xs: each(xs, lambda x: x.k == y.k),
        yields=lambda y, xs: y.k,
    )
    assert Partitioning((equal,), SPLIT).is_split(equal)
    with pytest.raises(InvalidArgument, match="events of xs meet without being equal"):
        Partitioning((listed(2),), SPLIT)


def test_runs_are_of_one_key_of_the_partition():
    def rising(**restrict):
        return correlate(xs=one_or_more(left), yields=lambda xs: 1, **restrict)

    keyed = rising(restrict=key_by(xs="k"))
    assert Partitioning((keyed,), SPLIT).is_split(keyed)
    with pytest.raises(InvalidArgument, match=r"extending\('xs'\) counts xs over all keys"):
        Partitioning((rising(),), SPLIT)
