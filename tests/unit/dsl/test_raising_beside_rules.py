"""What raises beside the conditions of rules is unknown as well: links, totals, passages, the clock, and `check`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from dsl import (
    DimensionMismatch,
    RulePack,
    Source,
    against,
    another,
    greatest_of,
    instant,
    least_of,
    mean_of,
    now,
    number_of,
    require,
    sum_of,
    when,
)
from dsl.units import metres, microseconds

TIERS = [None, "in_place", "reference"]
vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, slot=int)
berth = Source("berth", key="id", id=int, depth=metres)
tug = Source("tug", key="id", id=int, pull=metres, place=int)
other = another(vessel, "other")


def pack(**options):
    """Each of its parts raises on a text where a number is declared."""
    port = RulePack("port", subject=vessel, links=[berth.id == vessel.slot + 1], **options)
    with port:
        require(berth.depth - vessel.draught >= 1 * metres, name="clearance")
        with when(vessel.draught >= 8 * metres):
            require(number_of(tug, where=(tug.place + 0 == berth.id) & (tug.pull >= 3 * metres)) >= 1, name="tugs")
            require(sum_of(tug.pull, where=tug.place + 0 == vessel.slot + 1) >= 3 * metres, name="pull")
        require(greatest_of(tug.pull, where=tug.place >= 1) + least_of(tug.pull) <= 20 * metres, name="extremes")
        require(mean_of(tug.pull) >= 2 * metres, name="mean")
    return port


PORT = pack()
SHIP, BERTH = {"mmsi": 1, "draught": 9.0, "slot": 2}, {"id": 3, "depth": 15.0}
TUG = {"id": 1, "pull": 4.0, "place": 3}


def judged(rows, port=PORT, **options):
    engine, found = Engine(port.table(), **options), []
    for time, (source, row) in enumerate(rows, 1):
        found += [event.value for event in engine.push(port.sources[source], row, at=time)]
    return found, engine.query(port.table())


def because(verdict):
    return {reason.name: reason.missing for reason in verdict.because}


def after(source, row, **options):
    """The verdict once one more row has come to a situation in which all is allowed."""
    rows = [("berth", BERTH), ("tug", TUG), ("vessel", SHIP)]
    assert judged(rows, **options)[1][1].status == "allowed"
    return judged([*rows, (source, row)], on_error="unknown", **options)[1][1]


NO_NUMBER = "raised TypeError: expected a number as '{}' but got '{}' (type=str)"


@pytest.mark.parametrize("tier", TIERS)
def test_a_link_that_raises_leaves_what_it_links_unknown(tier):
    found = after("vessel", {**SHIP, "slot": "here"}, tier=tier)
    linked = (f"berth.id == vessel.slot + 1 {NO_NUMBER.format('slot', 'here')}",)
    assert found.status == "unknown"
    assert because(found) == {
        "clearance": linked,
        "tugs": linked,
        "pull": (f"vessel.slot + 1 {NO_NUMBER.format('slot', 'here')}",),
    }


def test_what_a_link_raised_is_told_anew_when_it_raises_otherwise():
    rows = [("berth", BERTH), *(("vessel", {**SHIP, "slot": slot}) for slot in ("here", b"there", 2))]
    changes, _ = judged(rows, on_error="unknown")
    told = [because(change.value).get("clearance") for change in changes]
    raised = "raised TypeError: expected a number as 'slot' but got b'there' (type=bytes)"
    assert told[1:] == [(f"berth.id == vessel.slot + 1 {raised}",), None]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"pull": "strong"},
            {
                "tugs": (f"tug.pull >= 3 m {NO_NUMBER.format('pull', 'strong')}",),
                "pull": (f"tug.pull {NO_NUMBER.format('pull', 'strong')}",),
                "extremes": (f"tug.pull {NO_NUMBER.format('pull', 'strong')}",),
                "mean": (f"tug.pull {NO_NUMBER.format('pull', 'strong')}",),
            },
        ),
        (
            {"place": "sea"},  # it may be in any group
            {
                "tugs": (f"tug.place + 0 {NO_NUMBER.format('place', 'sea')}",),
                "pull": (f"tug.place + 0 {NO_NUMBER.format('place', 'sea')}",),
                "extremes": (f"tug.place >= 1 {NO_NUMBER.format('place', 'sea')}",),
            },
        ),
    ],
)  # fmt: skip
def test_a_total_over_a_row_of_which_a_part_raises_is_unknown(tier, row, expected):
    found = after("tug", {**TUG, "id": 2, **row}, tier=tier)
    assert (found.status, because(found)) == ("unknown", expected)


def test_a_total_is_known_again_once_the_row_is_mended_or_gone():
    rows = [("berth", BERTH), ("tug", TUG), ("vessel", SHIP), ("tug", {**TUG, "id": 2, "pull": "strong"})]
    changes, _ = judged([*rows, ("tug", {**TUG, "id": 2})], on_error="unknown")
    assert [change.value.status for change in changes[-2:]] == ["unknown", "allowed"]


def test_by_default_they_raise_and_change_nothing():
    for source, row in (("vessel", {**SHIP, "slot": "here"}), ("tug", {**TUG, "pull": "strong"})):
        engine = Engine(PORT.table())
        for name, other_row in (("berth", BERTH), ("tug", TUG), ("vessel", SHIP)):
            engine.push(PORT.sources[name], other_row)
        before = engine.snapshot()
        with pytest.raises((TypeError, InvalidArgument)):
            engine.push(PORT.sources[source], row)
        assert engine.snapshot() == before


# ------------------------------------------------------------------------------------------------------------- the law

VALUES = st.sampled_from([3.0, 9.0, 16.0, None, "deep"])
PLACES = st.sampled_from([2, 3, None, "here"])
ROWS = st.one_of(
    st.tuples(st.just("vessel"), st.fixed_dictionaries({"mmsi": st.integers(1, 2), "draught": VALUES, "slot": PLACES})),
    st.tuples(st.just("berth"), st.fixed_dictionaries({"id": st.integers(3, 4), "depth": VALUES})),
    st.tuples(st.just("tug"), st.fixed_dictionaries({"id": st.integers(1, 2), "pull": VALUES, "place": PLACES})),
)


def latest(rows):
    found = {"vessel": {}, "berth": {}, "tug": {}}
    for source, row in rows:
        found[source][row.get("mmsi", row.get("id"))] = row
    return found


def without_texts(row):
    return None if row is None else {name: None if isinstance(one, str) else one for name, one in row.items()}


@given(st.lists(ROWS, max_size=12))
@settings(max_examples=15)
def test_what_raises_counts_as_missing_does_in_all_tiers_and_in_check(rows):
    """Each part of this pack raises on a text, so that a text is as good as nothing; where it stands is told."""
    found, table = judged(rows, on_error="unknown")
    assert repr(judged(rows, on_error="unknown", tier="reference")) == repr((found, table))
    there = latest(rows)
    for mmsi, ship in there["vessel"].items():
        linked = there["berth"].get(ship["slot"] + 1) if isinstance(ship["slot"], int) else None
        given: dict[str, Any] = {"vessel": ship, "berth": linked, "tug": [*there["tug"].values()]}
        known: dict[str, Any] = {
            "vessel": without_texts(ship),
            "berth": without_texts(linked),
            "tug": [*map(without_texts, given["tug"])],
        }
        expected = PORT.check(known)
        assert (table[mmsi].status, table[mmsi].failed) == (expected.status, expected.failed)
        assert set(because(table[mmsi])) == set(because(expected))
        assert PORT.check(given, on_error="unknown") == table[mmsi]


@pytest.mark.parametrize("tier", TIERS)
def test_of_pairs_a_side_that_raises_may_fit_any(tier):
    port = RulePack("pairs", subject=vessel)
    with port, against(other, where=other.slot + 0 == vessel.slot + 0):
        require(other.draught + vessel.draught <= 20 * metres, name="together")
    ships: list[dict[str, Any]] = [
        {**SHIP, "mmsi": 1},
        {**SHIP, "mmsi": 2, "slot": "here"},
        {**SHIP, "mmsi": 3, "slot": 7},
    ]
    ships += [{**SHIP, "mmsi": 4, "draught": 12.0}]
    _, table = judged([("vessel", ship) for ship in ships], port, on_error="unknown", tier=tier)
    assert {mmsi: [(one.others, bool(one.missing)) for one in found.because] for mmsi, found in table.items()} == {
        1: [((4,), False)],
        2: [((4,), True)],
        3: [],
        4: [((1,), False)],
    }
    for number, ship in enumerate(ships):
        beside = [one for one in ships if one is not ship]
        assert port.check({"vessel": ship, "other": beside}, on_error="unknown") == table[number + 1]


# -------------------------------------------------------------------------------------------------- passages, the clock

ferry = Source("ferry", key="id", id=int, eta=instant, draught=metres, latest=instant)
tide = Source("tide", key=None, height=metres, closes=instant, forecast=True)


def crossing():
    port = RulePack("crossing", subject=ferry)
    with port:
        require(tide.at(ferry.eta).height >= ferry.draught, name="depth")
        require(ferry.eta <= tide.at(ferry.eta).closes, name="open")
        with when(ferry.eta >= ferry.latest):
            require(tide.at(ferry.eta).height >= 9 * metres, name="late")
    return port


CROSSING = crossing()
HEIGHTS = st.sampled_from([1.0, 5.0, 9.0, None, "high"])
CLOSES = st.one_of(st.integers(0, 20), st.sampled_from([None, "never"]))
TIDES = st.lists(st.tuples(st.integers(0, 18), st.integers(1, 8), HEIGHTS, CLOSES), max_size=5)
FERRY = st.fixed_dictionaries(
    {
        "id": st.just(1),
        "eta": st.one_of(st.integers(0, 10), st.sampled_from([None, "soon"])),
        "draught": HEIGHTS,
        "latest": CLOSES,
    }
)


@given(TIDES, FERRY)
@settings(max_examples=15)
def test_an_instant_at_which_a_rule_raises_is_in_no_passage(tides, row):
    """What `check` says of each instant alone."""
    names = ("start", "end", "height", "closes")
    predictions = [
        {"issued": issued, **dict(zip(names, (start, start + lasts, *rest), strict=True))}
        for issued, (start, lasts, *rest) in enumerate(tides)
    ]
    given, within = {"ferry": row, "tide": predictions}, 12 * microseconds
    found = CROSSING.passages(given, within=within, at=ferry.eta, on_error="unknown")
    eta = row["eta"]
    instants = range(eta, eta + 12) if isinstance(eta, int) else ()
    allowed = [
        each
        for each in instants
        if CROSSING.check({**given, "ferry": {**row, "eta": each}}, on_error="unknown").status == "allowed"
    ]
    assert [each for passage in found for each in range(passage.start, passage.end)] == allowed
    table = CROSSING.next_window(ferry, within=within, at=ferry.eta)
    engine = Engine(table, on_error="unknown")
    for one in predictions:
        engine.push(CROSSING.sources["tide"], one)
    engine.push(CROSSING.sources["ferry"], row)
    assert engine.query(table)[1] == next(iter(found), None)


def test_by_default_passages_raise():
    given = {"ferry": {"eta": 1, "draught": 1.0}, "tide": [{"issued": 0, "start": 0, "end": 9, "height": 9.0}]}
    assert CROSSING.passages(given, within=5 * microseconds, at=ferry.eta) == ()
    with pytest.raises(DimensionMismatch, match=r"expected an instant for ferry\.eta but got 'soon'"):
        CROSSING.passages({**given, "ferry": {"eta": "soon", "draught": 1.0}}, within=5 * microseconds, at=ferry.eta)
    engine = Engine(CROSSING.next_window(ferry, within=5 * microseconds, at=ferry.eta))
    with pytest.raises(TypeError):
        engine.push(CROSSING.sources["ferry"], {"id": 1, "eta": "soon", "draught": 1.0, "latest": 1})


def test_a_subject_of_which_the_clock_cannot_tell_is_considered_and_unknown():
    port = RulePack("soon", subject=ferry, only=ferry.eta - now <= 10 * microseconds)
    with port:
        require(ferry.eta >= now, name="ahead")
    row = {"id": 1, "eta": "soon", "draught": 1.0, "latest": 1}
    with pytest.raises(TypeError):
        Engine(port.table()).push(port.sources["ferry"], row, at=1)
    _, table = judged([("ferry", row)], port, on_error="unknown")
    told = "ferry.eta >= now raised TypeError: expected an instant as 'eta' but got 'soon' (type=str)"
    assert (table[1].status, because(table[1])) == ("unknown", {"ahead": (told,)})


# ------------------------------------------------------------------------------------------------------------- check


def test_check_is_asked_likewise():
    deep = {"vessel": {**SHIP, "draught": "deep"}, "berth": BERTH, "tug": [TUG]}
    with pytest.raises(DimensionMismatch, match=r"expected a length for vessel\.draught but got 'deep'"):
        PORT.check(deep)
    assert because(PORT.check(deep, on_error="unknown"))["clearance"] == (
        f"berth.depth - vessel.draught >= 1 m {NO_NUMBER.format('draught', 'deep')}",
    )
    with pytest.raises(
        InvalidArgument, match=r"^port\.check: expected on_error=\"fail\" or .* but got on_error='ignore'"
    ):
        PORT.check(deep, on_error="ignore")
    with pytest.raises(DimensionMismatch):  # a quantity is no value of a row: who writes it is mistaken
        PORT.check({**deep, "vessel": {"draught": 3 * microseconds}}, on_error="unknown")


@pytest.mark.parametrize("wrong", ["here", b"here", True, [1]], ids=repr)
@pytest.mark.parametrize("linked", [vessel.slot, vessel.slot + 1], ids=str)
@pytest.mark.parametrize("there", [[], [BERTH]], ids=["no berth", "a berth"])
def test_what_a_link_raises_is_told_in_a_batch_of_columns_as_it_is_push_by_push(wrong, linked, there):
    port = RulePack("port", subject=vessel, links=[berth.id == linked])
    with port:
        require(berth.depth >= 1 * metres)
    ships = [{**SHIP, "slot": wrong}, {**SHIP, "mmsi": 2}]
    singly, many = (Engine(port.table(), on_error="unknown") for _ in range(2))
    for engine in (singly, many):
        for row in there:
            engine.push(port.sources["berth"], row, at=1)
    for ship in ships:
        expected = singly.push(port.sources["vessel"], ship, at=2)
        found = events_of(many.push_many({"vessel": {name: [value] for name, value in {**ship, "at": 2}.items()}}))
        assert list(map(repr, found)) == list(map(repr, expected))
        if ship is ships[0]:
            assert "raised TypeError: expected a number as 'slot'" in found[0].value.value.because[0].missing[0]
