"""Rules that raise: they name themselves, or are undecided where that is asked for, alike in all tiers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from dsl import (
    RulePack,
    Source,
    against,
    another,
    between,
    instant,
    known,
    known_or,
    not_,
    now,
    number_of,
    optional,
    require,
    sum_of,
    throughout,
    when,
)
from dsl.units import centimetres, hours, metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, berth=str)
berth = Source("berth", key="id", id=str, depth=metres)
SHIP = {"mmsi": 7, "draught": 9.0, "length": 100.0, "berth": "A"}
BERTH = {"id": "A", "depth": 15.0}
TIERS = [None, "in_place", "reference"]


def pack(**options):
    port = RulePack("port", subject=vessel, links=[berth.id == vessel.berth], **options)
    with port:
        require(berth.depth - vessel.draught >= 50 * centimetres, name="clearance")
        require(vessel.length <= 300 * metres, name="length")
        with when(vessel.draught >= 8 * metres):
            require(vessel.length <= 200 * metres, name="deep ships")
    return port


PORT = pack()
NO_NUMBER = "raised TypeError: expected a number as 'draught' but got 'deep' (type=str)"
CLEARANCE = f"berth.depth - vessel.draught >= 50 cm {NO_NUMBER}"
DEEP = f"vessel.draught >= 8 m {NO_NUMBER}"


def judged(rows, port=PORT, **options):
    """The verdicts that come, and what the table has at the end."""
    engine, found = Engine(port.table(), **options), []
    for time, (source, row) in enumerate(rows, 1):
        found += [event.value for event in engine.push(port.sources[source], row, at=time)]
    return found, engine.query(port.table())


def verdict(ship, port=PORT, **options):
    found, _ = judged([("berth", BERTH), ("vessel", {**SHIP, **ship})], port, on_error="unknown", **options)
    return found[-1].value


def test_a_requirement_that_raises_names_itself():
    with pytest.raises(TypeError) as caught:
        judged([("berth", BERTH), ("vessel", {**SHIP, "draught": "deep"})])
    assert caught.value.__notes__[:2] == [
        "in the requirement 'clearance': berth.depth - vessel.draught >= 50 cm",
        "in the body of port",
    ]


def test_a_condition_around_requirements_that_raises_names_itself():
    port = RulePack("port", subject=vessel)
    with port, when(vessel.draught >= 8 * metres):
        require(vessel.length <= 200 * metres)
    with pytest.raises(TypeError) as caught:
        port.check({"vessel": SHIP}), Engine(port.table()).push(port.sources["vessel"], {**SHIP, "draught": "deep"})
    assert caught.value.__notes__[0] == "in the condition 'vessel.draught >= 8 m'"


def test_a_row_without_a_declared_field_is_said_with_the_rule():
    with pytest.raises(InvalidArgument, match="one has no 'draught'") as caught:
        judged([("berth", BERTH), ("vessel", {"mmsi": 7, "berth": "A"})])
    assert caught.value.__notes__[0] == "in the requirement 'clearance': berth.depth - vessel.draught >= 50 cm"


@pytest.mark.parametrize("tier", TIERS)
def test_what_raises_is_unknown_with_what_it_raised(tier):
    found = verdict({"draught": "deep"}, tier=tier)
    assert found.status == "unknown"
    assert [(reason.name, reason.missing) for reason in found.because] == [("clearance", (CLEARANCE,))]
    assert ("vessel.draught", "deep", "m") in found.because[0].values
    assert found.because[0].margin is None


@pytest.mark.parametrize("tier", TIERS)
def test_a_requirement_that_fails_whatever_raises_restricts(tier):
    found = verdict({"draught": "deep", "length": 400.0}, tier=tier)
    assert found.status == "restricted"
    reasons = [(reason.name, reason.missing) for reason in found.because]
    assert reasons == [("length", ()), ("clearance", (CLEARANCE,)), ("deep ships", (DEEP,))]


def test_only_the_part_of_a_condition_that_raises_is_unknown():
    port = RulePack("port", subject=vessel)
    shallow, short = vessel.draught <= 8 * metres, vessel.length <= 200 * metres
    with port:
        require(shallow | short, name="or")
        require(shallow & short, name="and")
        require(not_(shallow & not_(short)), name="not")
    of = {}
    for length in (100.0, 300.0):
        found, _ = judged([("vessel", {**SHIP, "draught": "deep", "length": length})], port, on_error="unknown")
        of[length] = {reason.name: reason.missing for reason in found[-1].value.because}
    raised = (f"vessel.draught <= 8 m {NO_NUMBER}",)
    assert of == {100.0: {"and": raised}, 300.0: {"or": raised, "and": (), "not": raised}}


def test_a_subject_of_which_it_raises_whether_it_is_considered_is_considered():
    port = pack(only=(vessel.draught >= 1 * metres) & (berth.depth >= vessel.draught))
    with pytest.raises(TypeError):
        judged([("berth", {**BERTH, "depth": "deep"}), ("vessel", SHIP)], port)
    rows = [("berth", {**BERTH, "depth": "deep"}), ("vessel", SHIP)]
    _, table = judged(rows, port, on_error="unknown")
    assert table[7].status == "unknown"


@pytest.mark.parametrize("tier", TIERS)
def test_a_verdict_that_is_unknown_for_that_changes_with_the_next_row(tier):
    rows = [("berth", BERTH), ("vessel", {**SHIP, "draught": "deep"}), ("vessel", SHIP)]
    found, table = judged([*rows, ("berth", {**BERTH, "depth": "?"})], on_error="unknown", tier=tier)
    assert [change.value.status for change in found] == ["unknown", "allowed", "unknown"]
    assert table[7] == found[-1].value


def test_an_engine_goes_on_from_a_snapshot_with_another_choice():
    engine = Engine(PORT.table())
    engine.push(PORT.sources["berth"], BERTH, at=1)
    bad = {**SHIP, "draught": "deep"}
    with pytest.raises(TypeError):
        engine.push(PORT.sources["vessel"], bad, at=2)
    on = Engine.restore(engine.snapshot(), PORT.table(), on_error="unknown")
    assert [event.value.value.status for event in on.push(PORT.sources["vessel"], bad, at=2)] == ["unknown"]
    with pytest.raises(TypeError):  # what was unknown there is remembered there alone
        engine.push(PORT.sources["vessel"], bad, at=2)


def test_what_is_made_of_no_pack_is_refused():
    level = Reactive("level")
    inverse = correlate(x=level, yields=lambda x: 1 / x, name="inverse")
    for outputs in ([inverse], [PORT.table(), inverse], [level]):
        told = f"Engine: expected tables of packs .* but '{outputs[-1].name}' is made of none"
        with pytest.raises(InvalidArgument, match=told):
            Engine(*outputs, on_error="unknown")
    engine = Engine(PORT.table(), PORT.warnings(), on_error="unknown")
    with pytest.raises(InvalidArgument, match="'inverse' is made of none"):
        engine.add(inverse)
    with pytest.raises(InvalidArgument, match="but got on_error='ignore'"):
        Engine(inverse, on_error="ignore")  # type: ignore[call-overload]  # that is the point


VALUES = st.sampled_from([5.0, 9.0, 400.0, None, float("nan"), "deep"])
SHIPS = {"mmsi": st.integers(1, 2), "draught": VALUES, "length": VALUES, "berth": st.sampled_from("AB")}
BERTHS = {"id": st.sampled_from("AB"), "depth": VALUES}
TRACE = st.lists(
    st.tuples(st.just("vessel"), st.fixed_dictionaries(SHIPS))
    | st.tuples(st.just("berth"), st.fixed_dictionaries(BERTHS)),
    max_size=12,
)


@given(TRACE)
@settings(max_examples=30)
def test_what_raises_counts_as_missing_does_in_all_tiers(rows):
    """Every condition of this pack raises on a text, so that a text is as good as nothing."""
    first, *others = [repr(judged(rows, on_error="unknown", tier=tier)) for tier in TIERS]
    assert others == [first, first]
    _, table = judged(rows, on_error="unknown")
    ships = {row["mmsi"]: row for source, row in rows if source == "vessel"}
    berths = {row["id"]: row for source, row in rows if source == "berth"}
    for mmsi, ship in ships.items():
        there = berths.get(ship["berth"])
        known = {"vessel": without_texts(ship), "berth": there and without_texts(there)}
        expected = PORT.check(known)
        assert (table[mmsi].status, table[mmsi].failed) == (expected.status, expected.failed)
        if repr(known) == repr({"vessel": ship, "berth": there}):
            assert table[mmsi] == expected


def without_texts(row):
    return {name: None if value == "deep" else value for name, value in row.items()}


@pytest.mark.parametrize("draught", [float, str])
def test_a_batch_of_columns_gives_what_pushes_give(draught):
    ships = [{**SHIP, "mmsi": n % 50, "draught": draught(5 + n % 12)} for n in range(200)]
    singly, many = (Engine(PORT.table(), on_error="unknown") for _ in range(2))
    for engine in (singly, many):
        engine.push(PORT.sources["berth"], BERTH, at=1)
    batch = {name: [ship[name] for ship in ships] for name in SHIP}
    found = many.push_many({PORT.sources["vessel"]: {**batch, "at": list(range(2, 202))}})
    expected = [event for n, ship in enumerate(ships) for event in singly.push(PORT.sources["vessel"], ship, at=n + 2)]
    assert [repr(event.value) for event in events_of(found)] == [repr(event.value) for event in expected]


@pytest.mark.parametrize("tier", TIERS)
def test_a_requirement_about_pairs_is_unknown_with_those_with_whom_it_raises(tier):
    other = another(vessel, "other")
    pack = RulePack("pairs", subject=vessel)
    with pack, against(other, where=other.berth == vessel.berth):
        require(other.draught + vessel.draught <= 30 * metres, name="together")
    ships = [{**SHIP, "mmsi": 1}, {**SHIP, "mmsi": 2}, {**SHIP, "mmsi": 3, "draught": "deep"}, {**SHIP, "mmsi": 4}]
    rows = [("vessel", ship) for ship in [*ships, {**SHIP, "mmsi": 5, "draught": 25.0}]]
    with pytest.raises(TypeError) as caught:
        judged(rows, pack, tier=tier)
    assert "pairs.pairs-1" in "\n".join(caught.value.__notes__)
    _, table = judged(rows, pack, on_error="unknown", tier=tier)
    told = {mmsi: (one.status, [reason.others for reason in one.because]) for mmsi, one in table.items()}
    assert told == {
        1: ("restricted", [(5,)]),
        2: ("restricted", [(5,)]),
        3: ("unknown", [(1, 2, 4, 5)]),
        4: ("restricted", [(5,)]),
        5: ("restricted", [(1, 2, 4)]),
    }
    assert all("raised TypeError" in name for name in table[3].because[0].missing)
    _, table = judged([*rows, ("vessel", ships[0] | {"mmsi": 3})], pack, on_error="unknown", tier=tier)
    assert table[3].because[0].others == (5,)


port = Source("port", key="id", id=int, kind=str, has_pilot=bool, depth=metres, stay=hours, eta=instant, etd=instant)
tug = Source("tug", key="id", id=int, free=bool)
tide = Source("tide", key="gauge", gauge=str, height=optional(metres), forecast=True)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROW = {"id": 1, "kind": "oil", "has_pilot": True, "depth": 9.0, "stay": 1.0, "eta": NOON, "etd": NOON}
WRONG = [
    (port.has_pilot, {"has_pilot": "no"}, "true or false as 'has_pilot' but got 'no'"),
    (not_(port.has_pilot), {"has_pilot": 0}, "true or false as 'has_pilot' but got 0"),
    (port.has_pilot | (port.depth > 10 * metres), {"has_pilot": ["no"]}, "true or false as 'has_pilot' but got ['no']"),
    (port.kind != "oil", {"kind": ["oil"]}, "a text as 'kind' but got ['oil']"),
    (port.kind != "oil", {"kind": 3}, "a text as 'kind' but got 3"),
    (port.depth != 15 * metres, {"depth": "15"}, "a number as 'depth' but got '15'"),
    (port.depth != 15 * metres, {"depth": True}, "a number as 'depth' but got True"),
    (port.eta != NOON, {"eta": "2026-03-01T12:00Z"}, "an instant as 'eta' but got '2026-03-01T12:00Z'"),
    # As the factor of an hour a text would be repeated some thousand million times.
    (port.etd - port.eta <= port.stay, {"stay": "long"}, "a number as 'stay' but got 'long'"),
]


@pytest.mark.parametrize("tier", [*TIERS, "columns"])
@pytest.mark.parametrize(("condition", "given", "told"), WRONG, ids=[f"{one} of {given}" for one, given, _ in WRONG])
def test_a_value_of_another_sort_is_told_and_never_judged(condition, given, told, tier):
    made = RulePack("p", subject=port)
    with made:
        require(condition, name="rule")
    for on_error in "fail", "unknown":
        engine = Engine(made.table(), tier=None if tier == "columns" else tier, on_error=on_error)

        def push(engine=engine):
            if tier == "columns":
                engine.push_many({"port": {name: [value] for name, value in {**ROW, **given}.items()}})
            else:
                engine.push(made.sources["port"], {**ROW, **given})

        if on_error == "fail":
            with pytest.raises(TypeError, match=re.escape(f"expected {told} (type=")) as caught:
                push()
            assert caught.value.__notes__[0].startswith("in the requirement 'rule'")
        else:
            push()
            assert engine.query(made.table())[1].status == "unknown"


def test_a_value_of_another_sort_is_not_counted():
    made = RulePack("p", subject=port)
    with made:
        require(number_of(tug, where=tug.free) >= 1, name="tugs")
    engine = Engine(made.table(), on_error="unknown")
    engine.push(made.sources["tug"], {"id": 1, "free": "no"})
    engine.push(made.sources["port"], ROW)
    assert engine.query(made.table())[1].status == "unknown"


@pytest.mark.parametrize("value", [np.float32(9), np.int16(9), Decimal(9), 9])
def test_numbers_of_other_libraries_are_numbers(value):
    made = RulePack("p", subject=port)
    with made:
        require(port.depth == 9 * metres)
        require(port.has_pilot)
    engine = Engine(made.table())
    engine.push(made.sources["port"], {**ROW, "depth": value, "has_pilot": np.bool_(True)})
    assert engine.query(made.table())[1].status == "allowed"


SPAN = throughout(port.eta, port.eta + 2 * hours)
FORESEEN = [
    (SPAN(tide.height >= 1 * metres), {"tide": {"height": True}}),
    (SPAN(tide.height >= 1 * metres), {"tide": {"height": "deep"}}),
    (SPAN(known(tide.height)), {"tide": {"height": "deep"}}),
    (SPAN(known_or(tide.height, 2 * metres) >= 1 * metres), {"tide": {"height": True}}),
    (SPAN(tide.height >= port.depth), {"port": {"depth": "deep"}}),
    (SPAN(tide.height >= 1 * metres), {"port": {"eta": "soon"}}),
    (tide.at(port.eta).height >= 1 * metres, {"port": {"eta": "soon"}}),
    (tide.at(port.eta).height >= 1 * metres, {"tide": {"height": "deep"}}),
]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("condition", "wrong"), FORESEEN, ids=[f"{one} of {given}" for one, given in FORESEEN])
def test_what_raises_of_a_prediction_is_unknown_where_that_is_asked_for(condition, wrong, tier):
    made = RulePack("p", subject=port, links=[tide.gauge == "R"])
    with made:
        require(condition, name="rule")
    tides = {"gauge": "R", "issued": NOON, "start": NOON, "end": NOON + timedelta(hours=9), "height": 3.0}
    rows = {"tide": tides | wrong.get("tide", {}), "port": ROW | wrong.get("port", {})}

    def pushed(on_error):
        engine = Engine(made.table(), tier=tier, on_error=on_error)
        for name, row in rows.items():
            engine.push(made.sources[name], row, at=NOON)
        return engine.query(made.table())[1].status

    assert pushed("unknown") == "unknown"
    with pytest.raises(TypeError):
        pushed("fail")


BOAT = Source("boat", key="id", id=int, basin=str, kind=str, draught=metres, depth=metres)
ARRIVING = Source("arriving", key="id", id=int, eta=instant)
OTHER = another(BOAT, "other")


def fleet(*rules):
    pack = RulePack("fleet", subject=BOAT)
    with pack:
        for rule in rules:
            require(rule)
    return pack


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    "rule",
    [
        BOAT.draught <= BOAT.depth,
        not_(BOAT.draught <= BOAT.depth),
        between(BOAT.draught, 1 * metres, BOAT.depth),
        BOAT.draught + BOAT.depth <= 2 * metres,
        number_of(OTHER, where=OTHER.kind == BOAT.kind) >= 1,
    ],
    ids=str,
)
def test_a_field_that_is_left_out_beside_one_that_is_unknown_is_unknown(rule, tier):
    rows = [("boat", {"id": 1, "basin": "E", "draught": None})]
    _, table = judged(rows, fleet(rule), on_error="unknown", tier=tier)
    (reason,) = table[1].because
    assert (table[1].status, "raised KeyError" in reason.missing[0]) == ("unknown", True)


def pairs():
    pack = RulePack("fleet", subject=BOAT)
    with pack, against(OTHER, where=OTHER.basin == BOAT.basin):
        require(OTHER.kind != "tanker")
    return pack


TOTALS = fleet(sum_of(OTHER.draught, where=OTHER.basin == BOAT.basin) <= 9 * metres)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("pack", "left_out"), [(pairs(), "kind"), (pairs(), "basin"), (TOTALS, "draught"), (TOTALS, "basin")]
)
def test_a_row_without_a_declared_field_is_told_of_pairs_and_totals_too(pack, left_out, tier):
    row = {"basin": "E", "kind": "tanker", "draught": 3.0}
    lacking = {name: value for name, value in row.items() if name != left_out}
    with pytest.raises(InvalidArgument, match=f"all declared fields but one has no '{left_out}'"):
        judged([("boat", {"id": 1, **row}), ("boat", {"id": 2, **lacking})], pack, tier=tier)


@pytest.mark.parametrize("tier", TIERS)
def test_keys_of_two_types_are_judged_in_pairs(tier):
    row = {"basin": "E", "kind": "tanker"}
    rows = [("boat", {"id": key, **row}) for key in (1, "2", 3, "1")]
    _, table = judged(rows, pairs(), tier=tier)
    assert {key: verdict.because[0].others for key, verdict in table.items()} == {
        1: (3, "1", "2"), "2": (1, 3, "1"), 3: (1, "1", "2"), "1": (1, 3, "2"),
    }  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("options", "rule", "left_out"),
    [
        ({"only": BOAT.draught <= 3 * metres}, BOAT.depth >= 1 * metres, "draught"),
        ({}, ARRIVING.eta >= now, "eta"),
    ],
    ids=["only", "now"],
)
def test_a_row_without_a_declared_field_is_told_where_the_clock_is_asked(options, rule, left_out, tier):
    subject = BOAT if left_out == "draught" else ARRIVING
    clocked = RulePack("clocked", subject=subject, **options)
    with clocked:
        require(rule)
    with pytest.raises(InvalidArgument, match=f"all declared fields but one has no '{left_out}'"):
        judged([("boat" if subject is BOAT else "arriving", {"id": 1, "depth": 2.0})], clocked, tier=tier)


@dataclass(frozen=True)
class NoReading(Exception):
    gauge: str


@pytest.mark.parametrize("tier", TIERS)
def test_an_error_of_a_frozen_class_comes_out_with_the_rule_in_which_it_was_raised(tier):
    class Reading(float):
        def __sub__(self, other):
            raise NoReading("A")

    engine = Engine(PORT.table(), tier=tier)
    engine.push(PORT.sources["berth"], Update("A", {"id": "A", "depth": Reading(15)}))
    with pytest.raises(NoReading) as caught:
        engine.push(PORT.sources["vessel"], Update(7, SHIP))
    assert any("clearance" in note for note in caught.value.__notes__)
