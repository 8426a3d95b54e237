"""The clock in rules: what is stale, who is considered, and comparisons with `now`, against plain Python.

The oracle knows nothing of the library: it keeps the rows with their times and says, for each ship, what holds at the
time of the clock.
"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Update
from dsl import DimensionMismatch, InvalidRule, RulePack, Source, instant, not_, now, otherwise, require, when
from dsl.declarations.sources import declaration
from dsl.judgements.clocks import Crossings, comparisons_with_now
from dsl.judgements.presence import Presence
from dsl.meaning.evaluation import Situation, compiled
from dsl.units import hours, knots, metres, microseconds, minutes

ship = Source("ship", key="id", id=int, quay=str, eta=instant, notice=microseconds)
gauge = Source("gauge", key="quay", quay=str, height=metres, stale_after=4 * microseconds)
wind = Source("wind", key=None, velocity=knots, stale_after=6 * microseconds)


def harbour(*, ageing_ships: bool = False) -> RulePack:
    subject = ship
    if ageing_ships:
        subject = Source(
            "ship", key="id", id=int, quay=str, eta=instant, notice=microseconds, stale_after=5 * microseconds
        )
    only = (subject.eta - now <= 8 * microseconds) & not_(now > subject.eta + 3 * microseconds)
    made = RulePack("harbour", subject=subject, links=[gauge.quay == subject.quay], only=only)
    with made:
        require(wind.velocity <= 2 * knots, "wind")
        require((subject.eta - now >= subject.notice) | (gauge.height > 1 * metres), "notice")
        with when(now == subject.eta):
            require(gauge.height > 0 * metres, "height")
    return made


def truth(value: bool | None) -> float:
    return 0.5 if value is None else float(value)


def expected(row: dict[str, Any], height: float | None, velocity: float | None, clock: int) -> dict[str, float] | None:
    """What each requirement is worth, 0, ½ or 1; None: the ship is not considered."""
    eta, notice = row["eta"], row["notice"]
    near = None if eta is None else eta - clock <= 8
    not_over = None if eta is None else clock <= eta + 3
    if near is False or not_over is False:
        return None
    in_time = None if eta is None or notice is None else eta - clock >= notice
    here = None if eta is None else eta == clock
    return {
        "wind": truth(None if velocity is None else velocity <= 2),
        "notice": max(truth(in_time), truth(None if height is None else height > 1)),
        "height": max(1 - truth(here), truth(None if height is None else height > 0)),
    }


times = st.one_of(st.none(), st.integers(0, 25))
small = st.one_of(st.none(), st.integers(-1, 3))
steps = st.one_of(
    st.tuples(
        st.just("ship"),
        st.fixed_dictionaries({"id": st.integers(1, 2), "quay": st.sampled_from("AB"), "eta": times, "notice": small}),
    ),
    st.tuples(st.just("gauge"), st.fixed_dictionaries({"quay": st.sampled_from("AB"), "height": small})),
    st.tuples(st.just("wind"), st.fixed_dictionaries({"velocity": small})),
    st.tuples(st.just("gone"), st.integers(1, 2)),
    st.tuples(st.just("advance"), st.none()),
)


@settings(max_examples=settings().max_examples // 4)
@given(st.lists(st.tuples(steps, st.integers(0, 4)), max_size=12), st.booleans(), st.booleans(), st.booleans())
def test_the_table_is_what_plain_python_says_of_the_present_rows_and_the_clock(trace, ageing, restoring, following):
    pack = harbour(ageing_ships=ageing)
    table = pack.table()
    lateness = 0 if following else None
    engine = Engine(table, lateness=lateness)
    rows: dict[tuple[str, Any], tuple[dict[str, Any], int]] = {}
    shown: dict[int, Any] = {}
    time, clock = 0, -1
    for (what, given_), later in trace:
        time += later
        if what == "advance":
            events = engine.advance(time)
            clock = max(clock, time)
        else:
            source = "ship" if what == "gone" else what
            key = given_ if what == "gone" else given_.get({"ship": "id", "gauge": "quay"}.get(what))
            change = Delete(given_) if what == "gone" else given_
            if what == "gone":
                rows.pop(("ship", given_), None)
            else:
                rows[source, key] = (given_, time)
            clock = max(clock, time) if following else clock
            events = engine.push(pack.sources[source], change, at=time)
        for event in events:
            if isinstance(event.value, Delete):
                del shown[event.value.key]
            else:
                assert shown.get(event.value.key) != event.value.value, "no change without a change"
                shown[event.value.key] = event.value.value
        if restoring:
            engine = Engine.restore(engine.snapshot(), table, lateness=lateness)

        def value(source: str, key: Any, field: str, age: int) -> Any:
            row, since = rows.get((source, key), ({field: None}, 0))
            return None if clock - since >= age else row[field]  # noqa: B023 - it is called in the same turn of the loop

        wanted: dict[int, Any] = {}
        for (source, key), (row, since) in rows.items():
            if source == "ship":
                is_stale = ageing and clock - since >= 5
                known = {**row, "eta": None, "notice": None} if is_stale else row
                height = None if is_stale else value("gauge", row["quay"], "height", 4)
                wanted[key] = expected(known, height, value("wind", None, "velocity", 6), max(clock, since))
        worth = {key: found for key, found in wanted.items() if found is not None}
        assert shown.keys() == worth.keys()
        for key, verdict in shown.items():
            assert {reason.name for reason in verdict.failed} == {n for n, w in worth[key].items() if w == 0}
            least = min(worth[key].values())
            assert verdict.status == {0: "restricted", 0.5: "unknown", 1: "allowed"}[least]


# ---------------------------------------------------------------------------------------------------------- staleness


def windy(**options: Any) -> tuple[RulePack, Engine]:
    source = Source("wind", key=None, velocity=knots, stale_after=30 * minutes)
    pack = RulePack("port", subject=Source("ship", key="id", id=int))
    with pack:
        require(source.velocity <= 45 * knots, "wind")
    return pack, Engine(pack.table(), **options)


MINUTE = 60_000_000


def test_a_row_that_is_too_old_counts_as_missing_until_the_next():
    pack, engine = windy()
    engine.push(pack.sources["ship"], {"id": 7}, at=0)
    [event] = engine.push(pack.sources["wind"], {"velocity": 20.0}, at=10 * MINUTE)
    assert event.value.value.status == "allowed"
    assert engine.next_deadline == 40 * MINUTE
    assert engine.advance(40 * MINUTE - 1) == []
    [event] = engine.advance(40 * MINUTE)
    assert (event.end, event.value.value.status) == (40 * MINUTE, "unknown")
    [reason] = event.value.value.because
    assert (reason.missing, reason.stale) == (("wind",), ("wind",))
    assert engine.next_deadline is None
    [event] = engine.push(pack.sources["wind"], {"velocity": 20.0}, at=41 * MINUTE)
    assert event.value.value.status == "allowed"


def test_a_newer_row_takes_the_deadline_of_the_older_with_it():
    pack, engine = windy(lateness=0)
    engine.push(pack.sources["ship"], {"id": 7}, at=0)
    for time in range(5):
        engine.push(pack.sources["wind"], {"velocity": 20.0}, at=time * MINUTE)
        assert engine.next_deadline == (30 + time) * MINUTE
    assert engine.advance(33 * MINUTE) == []
    restored = Engine.restore(engine.snapshot(), pack.table(), lateness=0)
    assert restored.next_deadline == 34 * MINUTE
    assert [event.value.value.status for event in restored.advance(34 * MINUTE)] == ["unknown"]


def test_stale_and_missing_are_two_things():
    pack, engine = windy()
    [event] = engine.push(pack.sources["ship"], {"id": 7}, at=0)
    assert event.value.value.because[0].stale == ()
    engine.push(pack.sources["wind"], {"velocity": None}, at=0)
    [event] = engine.advance(30 * MINUTE)
    assert event.value.value.because[0].stale == ("wind",)
    [event] = engine.push(pack.sources["wind"], Delete(()), at=30 * MINUTE)
    assert (event.value.value.because[0].missing, event.value.value.because[0].stale) == (("wind",), ())


def test_the_time_is_known_of_a_subject_that_is_stale():
    boat = Source("boat", key="id", id=int, eta=instant, stale_after=3 * microseconds)
    pack = RulePack("port", subject=boat)
    with pack:
        require(boat.eta - now > 1 * microseconds, "in time")
    engine = Engine(pack.table())
    engine.push(pack.sources["boat"], {"id": 1, "eta": 12}, at=0)
    [event] = engine.advance(3)
    [reason] = event.value.value.because
    assert (reason.missing, reason.stale) == (("boat",), ("boat",))


def test_what_fails_without_the_stale_row_still_restricts():
    source = Source("wind", key=None, velocity=knots, stale_after=1 * hours)
    boat = Source("boat", key="id", id=int, length=metres)
    pack = RulePack("port", subject=boat)
    with pack:
        require((source.velocity <= 45 * knots) & (boat.length < 100 * metres), "both")
    engine = Engine(pack.table())
    engine.push(pack.sources["wind"], {"velocity": 10.0}, at=0)
    engine.push(pack.sources["boat"], {"id": 1, "length": 120.0}, at=0)
    engine.push(pack.sources["boat"], {"id": 2, "length": 20.0}, at=0)
    assert [(e.value.key, e.value.value.status) for e in engine.advance(60 * MINUTE)] == [(2, "unknown")]


def test_nothing_is_linked_through_the_fields_of_a_stale_row_but_its_key():
    quay = Source("quay", key="id", id=str, sensor=str, stale_after=10 * microseconds)
    tide = Source("tide", key="sensor", sensor=str, height=metres)
    sign = Source("sign", key="quay", quay=str, is_open=bool)
    boat = Source("boat", key="id", id=int, quay=str)
    links = [quay.id == boat.quay, tide.sensor == quay.sensor, sign.quay == quay.id]
    pack = RulePack("port", subject=boat, links=links)
    with pack:
        require(tide.height > 0 * metres, "tide")
        require(sign.is_open, "sign")
    engine = Engine(pack.table())
    for name, row in [
        ("quay", {"id": "A", "sensor": "s"}),
        ("tide", {"sensor": "s", "height": 1.0}),
        ("sign", {"quay": "A", "is_open": True}),
        ("boat", {"id": 1, "quay": "A"}),
    ]:
        out = engine.push(pack.sources[name], row, at=0)
    assert out[0].value.value.status == "allowed"
    [event] = engine.advance(10)
    assert [(reason.name, reason.missing, reason.stale) for reason in event.value.value.because] == [
        ("tide", ("tide",), ())
    ]


# ---------------------------------------------------------------------------------------------------------- the clock


def arrivals(**options: Any) -> tuple[RulePack, Engine]:
    boat = Source("boat", key="id", id=int, eta=instant)
    pack = RulePack("port", subject=boat)
    with pack:
        require(boat.eta - now >= 24 * hours, "announced a day ahead")
    return pack, Engine(pack.table(), **options)


HOUR = 60 * MINUTE


def test_a_verdict_changes_by_the_clock_alone_exactly_when_the_comparison_does():
    pack, engine = arrivals()
    engine.push(pack.sources["boat"], {"id": 1, "eta": 30 * HOUR}, at=0)
    assert engine.next_deadline == 6 * HOUR + 1
    assert engine.advance(6 * HOUR) == []
    [event] = engine.advance(100 * HOUR)
    assert (event.end, event.value.value.status) == (6 * HOUR + 1, "restricted")
    assert engine.next_deadline is None


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("first", ["ship", "berth"])
def test_what_grows_too_old_as_a_rule_changes_is_gone_before_the_rule_is_asked(first, tier, restored):
    """Missing data never read as safe: until 5 the berth is too shallow, from then on its depth is not known."""
    ship = Source("ship", key="id", id=int, eta=instant, dest=str)
    berth = Source("berth", key="name", name=str, depth=metres, stale_after=5 * microseconds)
    pack = RulePack("port", subject=ship, links=[berth.name == ship.dest])
    with pack:
        with when(ship.eta - now >= 3 * microseconds):
            require(berth.depth >= 100 * metres, "early")
        with otherwise():
            require(berth.depth >= 1 * metres, "late")
    outputs = pack.table(), pack.warnings()
    engine = Engine(*outputs, tier=tier)
    rows = {"ship": {"id": 1, "eta": 7, "dest": "N"}, "berth": {"name": "N", "depth": 2.0}}
    for name in sorted(rows, key=lambda name: name != first):
        engine.push(pack.sources[name], rows[name], at=0)
    assert [row.status for row in engine.query(outputs[0]).values()] == ["restricted"]
    if restored:
        engine = Engine.restore(engine.snapshot(), *outputs, tier=tier)
    told = engine.advance(20)
    assert {event.end for event in told} == {5}
    assert {event.value.value.status for event in told} == {"unknown"}


def test_nothing_is_polled():
    pack, engine = arrivals()
    engine.push(pack.sources["boat"], {"id": 1, "eta": 30 * HOUR}, at=0)
    before = engine.stats.tuples
    for minute in range(1, 300):
        engine.advance(minute * MINUTE)
    assert engine.stats.tuples == before


def test_a_row_that_is_newer_than_the_clock_says_the_time_itself():
    pack, engine = arrivals()
    [event] = engine.push(pack.sources["boat"], {"id": 1, "eta": 30 * HOUR}, at=7 * HOUR)
    assert event.value.value.status == "restricted"
    assert engine.clock < 7 * HOUR


def test_a_new_row_has_a_new_deadline_and_a_deleted_one_none():
    pack, engine = arrivals()
    boat = pack.sources["boat"]
    engine.push(boat, {"id": 1, "eta": 30 * HOUR}, at=0)
    engine.push(boat, {"id": 2, "eta": 30 * HOUR}, at=0)
    engine.push(boat, {"id": 1, "eta": 40 * HOUR}, at=1)
    assert engine.next_deadline == 6 * HOUR + 1
    engine.push(boat, Delete(2), at=2)
    assert engine.next_deadline == 16 * HOUR + 1
    engine.push(boat, {"id": 1, "eta": None}, at=3)
    assert engine.next_deadline is None


def test_a_situation_is_judged_at_a_time():
    pack, _ = arrivals()
    eta = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def status(when_: Any) -> str:
        return pack.check({"boat": {"id": 1, "eta": eta}}, now=when_).status

    assert status(eta - timedelta(hours=24)) == "allowed"
    assert status(eta - timedelta(hours=24) + timedelta(microseconds=1)) == "restricted"
    assert status(None) == "unknown"
    assert pack.check({"boat": {"id": 1, "eta": eta}}).because[0].missing == ("now",)
    with pytest.raises(DimensionMismatch, match="expected an instant for now"):
        status(datetime(2026, 3, 1, 12))


@given(
    st.integers(-20, 20),
    st.one_of(st.none(), st.integers(-20, 20)),
    st.one_of(st.none(), st.floats(-20, 20)),
    st.integers(-40, 60),
)
def test_a_crossing_is_the_first_time_with_another_truth_value(eta, other, margin, time):
    boat = Source("boat", key="id", id=int, eta=instant, other=instant, margin=microseconds, span=hours)
    known = declaration(boat)
    conditions = [
        boat.eta - now <= 5 * microseconds,
        now - boat.eta > boat.margin,
        -(boat.eta - now) == boat.margin,
        now + 3 * microseconds != boat.eta,
        (now >= boat.eta) & (boat.other - boat.margin < now) | not_(now == boat.other),
    ]
    row = {"id": 1, "eta": eta, "other": other, "margin": margin, "span": None}
    for condition in conditions:
        comparisons = comparisons_with_now(condition.term, known)
        found = Crossings(comparisons, known).after(row, time)
        evaluate = [compiled(each, {"boat": 0}) for each in comparisons]
        truths = [tuple(holds(Situation([row], each)) for holds in evaluate) for each in range(time, 100)]
        changes = [time + place for place in range(1, len(truths)) if truths[place] != truths[place - 1]]
        assert found == (changes[0] if changes else None)


def refused(make: Any) -> str:
    with pytest.raises((InvalidRule, DimensionMismatch)) as error:
        make()
    return str(error.value).splitlines()[0]


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (lambda b, w: 2 * (b.eta - now) > 3 * hours, "2 * (boat.eta - now) is more than a sum or a difference of now"),
        (lambda b, w: abs(b.eta - now) > 3 * hours, "abs(boat.eta - now) is more than a sum or a difference of now"),
        (
            lambda b, w: b.eta - now > w.since - b.eta,
            "it depends on 'wind', which changes while the clock stands still",
        ),
        (lambda b, w: (b.eta - now) - (now - b.eta) > 3 * hours, "it depends on now twice"),
    ],
)
def test_what_cannot_be_foreseen_is_refused_where_it_is_written(condition, reason):
    boat = Source("boat", key="id", id=int, eta=instant)
    source = Source("wind", key=None, since=instant)
    pack = RulePack("port", subject=boat)
    with pack:
        text = refused(lambda: require(condition(boat, source)))
        assert text.endswith(f"expected a comparison whose next change is known but {reason}")
        assert refused(lambda: when(condition(boat, source))) == text
    assert refused(lambda: RulePack("p", subject=boat, only=condition(boat, source))) == text


def test_the_clock_in_a_link_or_a_location_is_refused():
    boat = Source("boat", key="id", id=int, eta=instant)
    hour = Source("hour", key="number", number=int)
    text = refused(lambda: RulePack("p", subject=boat, links=[hour.number == (boat.eta - now) / (1 * hours)]))
    assert text.startswith("a link: expected a term that the clock does not change but got")


# ------------------------------------------------------------------------------------------------- who is considered


def expected_soon(**options: Any) -> tuple[RulePack, Engine]:
    boat = Source("boat", key="id", id=int, eta=instant, quay=str)
    quay = Source("quay", key="id", id=str, is_open=bool)
    soon = (boat.eta - now <= 24 * hours) & (boat.eta >= now)
    pack = RulePack("port", subject=boat, links=[quay.id == boat.quay], only=soon)
    with pack:
        require(quay.is_open, "open")
    return pack, Engine(pack.table(), **options)


def changes(events: list[Any]) -> list[Any]:
    return [
        (event.end, event.value.key, None if isinstance(event.value, Delete) else event.value.value.status)
        for event in events
    ]


def test_a_ship_is_considered_from_when_it_is_expected_soon_until_it_has_come_and_then_it_is_forgotten():
    pack, engine = expected_soon()
    boat = pack.sources["boat"]
    engine.push(pack.sources["quay"], {"id": "A", "is_open": True}, at=0)
    empty = engine.stats.retained
    assert changes(engine.push(boat, {"id": 1, "eta": 30 * HOUR, "quay": "A"}, at=0)) == []
    assert engine.stats.retained == empty + 1  # its row, as the clock will bring it
    assert engine.next_deadline == 6 * HOUR
    assert changes(engine.advance(6 * HOUR)) == [(6 * HOUR, 1, "allowed")]
    assert engine.query(pack.table()).keys() == {1}
    assert changes(engine.advance(31 * HOUR)) == [(30 * HOUR + 1, 1, None)]
    assert engine.stats.retained == empty
    assert engine.next_deadline is None
    assert engine.query(pack.table()) == {}


def test_a_ship_that_was_forgotten_comes_back_with_its_next_row():
    pack, engine = expected_soon(lateness=0)
    boat = pack.sources["boat"]
    assert changes(engine.push(boat, {"id": 1, "eta": HOUR, "quay": "A"}, at=0)) == [(0, 1, "unknown")]
    assert changes(engine.push(boat, {"id": 1, "eta": HOUR, "quay": "A"}, at=2 * HOUR)) == [(HOUR + 1, 1, None)]
    assert engine.stats.retained == 0
    assert changes(engine.push(boat, {"id": 1, "eta": 9 * HOUR, "quay": "A"}, at=2 * HOUR)) == [
        (2 * HOUR, 1, "unknown")
    ]


def test_a_ship_of_which_too_little_is_known_is_considered():
    pack, engine = expected_soon()
    [event] = engine.push(pack.sources["boat"], {"id": 1, "eta": None, "quay": "A"}, at=0)
    assert event.value.value.status == "unknown"


def test_a_ship_that_is_not_considered_costs_no_link():
    pack, engine = expected_soon()
    engine.push(pack.sources["boat"], {"id": 1, "eta": 300 * HOUR, "quay": "A"}, at=0)
    before = (engine.stats.tuples, engine.stats.visited)
    assert engine.push(pack.sources["quay"], {"id": "A", "is_open": False}, at=0) == []
    assert (engine.stats.tuples, engine.stats.visited) == before


def test_who_is_considered_may_depend_on_linked_sources():
    boat = Source("boat", key="id", id=int, quay=str, is_inbound=bool)
    quay = Source("quay", key="id", id=str, is_ours=bool)
    pack = RulePack("port", subject=boat, links=[quay.id == boat.quay], only=boat.is_inbound & quay.is_ours)
    with pack:
        require(quay.id != "C")
    engine = Engine(pack.table(), pack.warnings())
    told = [
        engine.push(pack.sources["boat"], {"id": 1, "quay": "A", "is_inbound": True}),
        engine.push(pack.sources["quay"], {"id": "A", "is_ours": False}),
        engine.push(pack.sources["quay"], {"id": "A", "is_ours": True}),
        engine.push(pack.sources["boat"], {"id": 1, "quay": "A", "is_inbound": False}),
    ]
    assert [[(e.reactive, type(e.value).__name__) for e in events] for events in told] == [
        [("port", "Update"), ("port.warnings", "Update")],
        [("port", "Delete"), ("port.warnings", "Delete")],
        [("port", "Update"), ("port.warnings", "Update")],
        [("port", "Delete"), ("port.warnings", "Delete")],
    ]
    assert engine.push(pack.sources["boat"], {"id": 1, "quay": "B", "is_inbound": True})[0].value.value.status == (
        "unknown"
    )


def test_only_takes_a_condition():
    boat = Source("boat", key="id", id=int, length=metres)
    assert refused(lambda: RulePack("p", subject=boat, only=boat.length)).startswith("only: expected a condition")


@pytest.mark.parametrize("given_", [30, 30 * metres, ship.notice])
def test_a_row_is_stale_after_a_time(given_):
    assert refused(lambda: Source("s", key=None, stale_after=given_)).startswith("stale_after: expected a time but got")


def test_a_row_is_stale_after_some_time():
    assert refused(lambda: Source("s", key=None, stale_after=0 * hours)).startswith(
        "stale_after: expected whole microseconds, at least one, but got 0 h"
    )


def test_what_the_clock_makes_of_rows_is_plain_and_comparable():
    life = Presence(declaration(ship), comparisons_with_now((ship.eta - now > 1 * hours).term, declaration(ship)))
    twin = pickle.loads(pickle.dumps(life))
    assert (twin, repr(twin), hash(twin)) == (life, repr(life), hash(life))
    row = {"id": 1, "eta": 30 * HOUR, "quay": "A", "notice": None}
    assert twin.come(None, row, 0, 0) == life.come(None, row, 0, 0)


def test_packs_share_the_rows_that_the_clock_ages():
    first, second = (RulePack(name, subject=Source("boat", key="id", id=int)) for name in ("first", "second"))
    for pack in (first, second):
        with pack:
            require(wind.velocity <= 2 * knots)
    engine = Engine(first.table(), second.table())
    engine.push(first.sources["wind"], {"velocity": 1}, at=0)
    names = [name for name, _ in engine.stats.slots]
    assert names.count("wind by the clock") == 1


def test_a_ship_may_be_told_as_an_update():
    pack, engine = arrivals()
    [event] = engine.push(pack.sources["boat"], Update(1, {"id": 1, "eta": 48 * HOUR}), at=0)
    assert event.value.value.status == "allowed"
