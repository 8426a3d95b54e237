"""When a subject may pass: the passages are the instants at which `check` allows it, tried one by one."""

from __future__ import annotations

import math
import pickle
import re
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine
from cartesius.errors import InvalidArgument
from dsl import (
    DimensionMismatch,
    InvalidRule,
    Passage,
    RulePack,
    Source,
    between,
    instant,
    not_,
    now,
    optional,
    require,
    throughout,
    when,
)
from dsl.judgements.passing import Passing
from dsl.units import hours, metres, microseconds, minutes

ship = Source("ship", key="id", id=int, berth=str, eta=instant, etd=instant, draught=metres, margin=microseconds)
berth = Source("berth", key="id", id=str, depth=metres, closes=instant)
tide = Source("tide", key="berth", berth=str, height=metres, forecast=True)
wind = Source("wind", key=None, force=int, gust=optional(int), forecast=True)
LINKS = [berth.id == ship.berth, tide.berth == berth.id]
FEWER = settings(max_examples=settings().max_examples // 6)
WITHIN = 12


def rules() -> dict[str, Any]:
    """Rules by name, each of which changes with the instant in another way."""

    def at() -> None:
        require(berth.depth + tide.at(ship.eta).height - ship.draught >= 1 * metres)

    def shifted() -> None:
        require(wind.at(ship.eta + 2 * microseconds).force <= 2)
        require(wind.at(ship.eta - ship.margin).force != 1)

    def span() -> None:
        require(throughout(ship.eta, ship.eta + 3 * microseconds)(tide.height >= 1 * metres))

    def until_it_leaves() -> None:
        require(throughout(ship.eta, ship.etd)((tide.height >= 1 * metres) | (wind.force <= 1)))

    def backwards() -> None:
        require(throughout(ship.etd - 2 * microseconds, ship.eta)(wind.force <= 2))

    def mirrored() -> None:
        require(wind.at(ship.etd - (ship.eta - ship.etd)).force <= 2)

    def compared() -> None:
        require((ship.eta + ship.margin < berth.closes) | (ship.etd - ship.eta == 2 * microseconds))
        with when(between(ship.etd - ship.eta, 1 * microseconds, 5 * microseconds)):
            require(not_(ship.eta > wind.at(ship.eta).start + 1 * microseconds))

    def guarded() -> None:
        with when(wind.at(ship.eta).force >= 2):
            require(tide.at(ship.eta).height >= 1 * metres)

    def nested() -> None:
        require(throughout(ship.eta, ship.eta + 2 * microseconds)(wind.force <= wind.at(ship.eta).force))

    def twice_as_fast() -> None:
        require(wind.at(ship.eta + (ship.eta - ship.etd)).force <= 2)

    def twice_as_fast_backwards() -> None:
        require(wind.at(ship.etd - (ship.eta - ship.etd) - (ship.eta - ship.etd)).force <= 2)

    def three_times_as_fast() -> None:
        late = ship.eta + (ship.eta - ship.etd) + (ship.eta - ship.etd)
        require(throughout(ship.eta, late)(tide.height >= 1 * metres))

    def predicted_bound() -> None:
        require(throughout(ship.eta, wind.at(ship.eta).start + 3 * microseconds)(tide.height >= 1 * metres))

    return {rule.__name__: rule for rule in locals().values()}


RULES = rules()


@cache
def pack(*names: str) -> RulePack:
    made = RulePack("port", subject=ship, links=LINKS)
    with made:
        for each in names:
            RULES[each]()
    return made


def mostly(*values: Any) -> Any:
    return st.sampled_from([*values, *values, *values, None])


instants = mostly(*range(13))
ships = st.fixed_dictionaries(
    {
        "id": st.integers(1, 2),
        "berth": st.sampled_from("AB"),
        "eta": instants,
        "etd": instants,
        "draught": mostly(8.0, 9.0),
        "margin": mostly(0, 2),
    }
)
berths = st.fixed_dictionaries({"id": st.sampled_from("AB"), "depth": mostly(9.0, 10.0), "closes": instants})
tides = st.builds(
    lambda place, issued, start, length, height: {
        "berth": place, "issued": issued, "start": start, "end": start + length, "height": height
    },
    st.sampled_from("AB"), st.integers(0, 2), st.integers(0, 20), st.integers(1, 8),
    mostly(0.0, 1.0, 2.0),
)  # fmt: skip
winds = st.builds(
    lambda issued, start, length, force: {
        "issued": issued, "start": start, "end": start + length, "force": force, "gust": None
    },
    st.integers(0, 2), st.integers(-4, 20), st.integers(1, 12), mostly(1, 2, 2, 3),
)  # fmt: skip


def tried(made: RulePack, rows: dict[str, Any]) -> list[Passage]:
    """The passages, by checking every instant."""
    if rows["ship"]["eta"] is None:
        return []
    planned = rows["ship"]["eta"]
    allowed = [
        time
        for time in range(planned, planned + WITHIN)
        if made.check({**rows, "ship": {**rows["ship"], "eta": time}}).status == "allowed"
    ]
    starts = [time for time in allowed if time - 1 not in allowed]
    ends = [time + 1 for time in allowed if time + 1 not in allowed]
    return [Passage(*ends) for ends in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("names", [[name] for name in RULES] + [list(RULES)], ids="+".join)
@settings(max_examples=40)
@given(
    row=ships,
    place=berths,
    levels=st.lists(tides, min_size=2, max_size=6),
    breezes=st.lists(winds, min_size=2, max_size=4),
)
def test_the_passages_are_the_instants_at_which_the_rules_allow_it(names, row, place, levels, breezes):
    made = pack(*names)
    rows = {"ship": row, "berth": place, "tide": levels, "wind": breezes}
    used = {name: found for name, found in rows.items() if name in made.sources}
    assert list(made.passages(used, within=WITHIN * microseconds, at=ship.eta)) == tried(made, used)


@pytest.mark.parametrize("number", [float, Decimal, np.int64])
@pytest.mark.parametrize("on_error", ["fail", "unknown"])
@FEWER
@given(row=ships, place=berths, levels=st.lists(tides, max_size=4), breezes=st.lists(winds, max_size=4))
def test_an_instant_of_another_type_of_number_has_the_same_passage(number, on_error, row, place, levels, breezes):
    made = pack(*RULES)
    table = made.next_window(ship, within=WITHIN * microseconds, at=ship.eta)
    other = {name: number(row[name]) if name in ("eta", "etd") and row[name] is not None else row[name] for name in row}
    told = []
    for each in (row, other):
        engine = Engine(table, on_error=on_error)
        for name, one in [("berth", place), *(("tide", one) for one in levels), *(("wind", one) for one in breezes)]:
            engine.push(made.sources[name], one, at=0)
        engine.push(made.sources["ship"], each, at=0)
        told.append(engine.query(table))
    assert repr(told[0]) == repr(told[1])


@pytest.mark.parametrize("on_error", ["fail", "unknown"])
def test_the_first_instant_is_a_whole_one_and_never_beyond_all_time(on_error):
    made = written((ship.eta <= ship.etd) | throughout(ship.etd, ship.eta)(wind.force <= 2))
    table = made.next_window(ship, within=WITHIN * microseconds, at=ship.eta)
    engine = Engine(table, on_error=on_error)
    found = {(2.0, 4): Passage(2, 5), (2.5, 6.5): Passage(3, 7), (1, math.inf): Passage(1, 13), (math.inf, 6): None}
    for (eta, etd), expected in found.items():
        row = {"id": 1, "berth": "A", "eta": eta, "etd": etd, "draught": 9.0, "margin": None}
        engine.push(made.sources["ship"], row, at=0)
        assert engine.query(table) == {1: expected}


@pytest.mark.parametrize("on_error", ["fail", "unknown"])
def test_decimals_are_compared_with_floats_in_passages_as_in_verdicts(on_error):
    made = written(ship.eta - ship.etd <= ship.margin)
    table = made.next_window(ship, within=WITHIN * microseconds, at=ship.eta)
    row = {"id": 1, "berth": "A", "eta": 1, "etd": 4.0, "draught": 9.0, "margin": Decimal(2)}
    engine = Engine(table, on_error=on_error)
    engine.push(made.sources["ship"], row, at=0)
    assert engine.query(table) == {1: Passage(1, 7)}


events = st.one_of(
    st.tuples(st.just("ship"), ships),
    st.tuples(st.just("berth"), berths),
    st.tuples(st.just("tide"), tides),
    st.tuples(st.just("wind"), winds),
    st.tuples(st.just("gone"), st.integers(1, 2)),
)


@FEWER
@given(st.lists(events, max_size=8), st.booleans())
def test_the_table_has_the_first_passage_of_each_ship(trace, restoring):
    made = pack("at", "span", "guarded")
    table = made.next_window(ship, within=WITHIN * microseconds)
    engine = Engine(table)
    tables: dict[str, dict[Any, Any]] = {name: {} for name in ("ship", "berth", "tide", "wind")}
    for what, row in trace:
        if what == "gone":
            tables["ship"].pop(row, None)
            engine.push(made.sources["ship"], Delete(row), at=0)
        else:
            key = row["id"] if what in ("ship", "berth") else (row.get("berth"), row["issued"], row["start"])
            tables[what][key] = row
            engine.push(made.sources[what], row, at=0)
        shown = engine.query(table)
        assert shown.keys() == tables["ship"].keys()
        for key, each in tables["ship"].items():
            place = tables["berth"].get(each["berth"])
            levels = [level for level in tables["tide"].values() if place and level["berth"] == place["id"]]
            rows = {"ship": each, "berth": place, "tide": levels or None, "wind": list(tables["wind"].values()) or None}
            assert shown[key] == next(iter(tried(made, rows)), None)
        if restoring:
            engine = Engine.restore(engine.snapshot(), table)


# ------------------------------------------------------------------------------------------------------- by hand

HOUR = 3_600_000_000


def tidal() -> RulePack:
    vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant, draught=metres)
    level = Source("level", key=None, height=metres, forecast=True)
    made = RulePack("tidal", subject=vessel)
    with made:
        over = throughout(vessel.eta, vessel.eta + 30 * minutes)
        require(over(14 * metres + level.height - vessel.draught >= 1 * metres), "clearance")
    return made


def levels(*heights: float) -> list[dict[str, Any]]:
    return [
        {"issued": 0, "start": hour * HOUR, "end": (hour + 1) * HOUR, "height": height}
        for hour, height in enumerate(heights)
    ]


def test_the_tidal_window_of_a_deep_ship():
    made = tidal()
    vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant, draught=metres)
    row = {"mmsi": 1, "eta": HOUR, "draught": 15.0}
    rows: Any = {"vessel": row, "level": levels(0.0, 1.0, 2.5, 3.0, 2.0, 0.0, 2.0, 2.0)}
    assert made.passages(rows, within=24 * hours) == (
        Passage(2 * HOUR, 5 * HOUR - HOUR // 2),  # half an hour before the water is too low
        Passage(6 * HOUR, 8 * HOUR - HOUR // 2),  # nothing is predicted after
    )
    engine = Engine(made.table(), made.next_window(vessel, within=24 * hours))
    for level in rows["level"]:
        engine.push(made.sources["level"], level, at=0)
    told = engine.push(made.sources["vessel"], row, at=0)
    assert [(event.reactive, getattr(event.value.value, "status", event.value.value)) for event in told] == [
        ("tidal", "restricted"),
        ("tidal.next_window", Passage(2 * HOUR, 5 * HOUR - HOUR // 2)),
    ]
    [event] = engine.push(made.sources["level"], {"issued": 1, "start": 0, "end": 3 * HOUR, "height": 0.0}, at=0)
    assert event.value.value == Passage(3 * HOUR, 5 * HOUR - HOUR // 2)
    [event] = engine.push(made.sources["level"], {"issued": 2, "start": 0, "end": 9 * HOUR, "height": 0.0}, at=0)
    assert event.value.value is None


def test_a_window_ends_at_the_horizon_and_begins_at_the_planned_instant():
    made = tidal()
    rows: Any = {"vessel": {"mmsi": 1, "eta": HOUR + 7, "draught": 15.0}, "level": levels(*[5.0] * 30)}
    assert made.passages(rows, within=3 * hours) == (Passage(HOUR + 7, 4 * HOUR + 7),)


def test_only_who_is_considered_has_a_window():
    soon = (ship.eta - now <= 24 * microseconds) & (berth.depth > 9 * metres)
    made = RulePack("port", subject=ship, links=LINKS, only=soon)
    with made:
        RULES["at"]()
    table, verdicts = made.next_window(ship, within=WITHIN * microseconds), made.table()
    engine = Engine(table, verdicts)
    row = {"id": 1, "berth": "A", "eta": 30, "etd": None, "draught": 9.0, "margin": None}
    engine.push(made.sources["ship"], row, at=0)
    assert engine.query(table) == engine.query(verdicts) == {}
    engine.advance(6)
    assert engine.query(table) == {1: None}
    level = {"berth": "A", "issued": 0, "start": 32, "end": 50, "height": 0.0}
    engine.push(made.sources["tide"], level, at=6)
    engine.push(made.sources["berth"], {"id": "A", "depth": 10.0, "closes": None}, at=6)
    assert engine.query(table) == {1: Passage(32, 42)}
    engine.push(made.sources["berth"], {"id": "A", "depth": 9.0, "closes": None}, at=6)
    assert engine.query(table) == engine.query(verdicts) == {}


def test_only_the_ships_concerned_are_looked_at_again():
    made = pack("at")
    engine = Engine(made.next_window(ship, within=WITHIN * microseconds))
    for number, place in ((1, "A"), (2, "B"), (3, "A")):
        engine.push(made.sources["berth"], {"id": place, "depth": 10.0, "closes": None}, at=0)
        row = {"id": number, "berth": place, "eta": 0, "etd": None, "draught": 9.0, "margin": None}
        engine.push(made.sources["ship"], row, at=0)
    before = engine.stats.tuples
    level = {"berth": "B", "issued": 0, "start": 0, "end": 9, "height": 2.0}
    assert [event.value.key for event in engine.push(made.sources["tide"], level, at=0)] == [2]
    assert engine.stats.tuples - before == 1 + 1  # the schedule, and ship 2


def test_the_passages_are_plain_and_comparable():
    made = pack(*RULES)
    one = Passing(made._used, made.statements, "eta", 5)
    twin = pickle.loads(pickle.dumps(one))
    assert (twin, repr(twin)) == (one, repr(one))


# --------------------------------------------------------------------------------------------------- what is refused


def refused(make: Any) -> str:
    with pytest.raises((InvalidRule, TypeError)) as error:
        make()
    return str(error.value).splitlines()[0]


def written(*conditions: Any, **options: Any) -> RulePack:
    made = RulePack("port", subject=ship, **{"links": LINKS, **options})
    with made:
        for condition in conditions:
            require(condition)
    return made


CALM = wind.at(ship.eta).force <= 2


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (
            [ship.draught <= 9 * metres],
            "port.next_window: expected rules that look forecasts up at one instant of 'ship' but got none",
        ),
        (
            [CALM, wind.at(ship.etd).force <= 2],
            "port.next_window: expected rules that look forecasts up at one instant of 'ship' but got ship.eta and"
            " ship.etd",
        ),
        (
            [throughout(ship.etd, ship.etd + 1 * hours)((tide.height >= 1 * metres) & CALM)],
            "port.next_window: expected rules that look forecasts up at one instant of 'ship' but got ship.eta and"
            " ship.etd",
        ),
        (
            [CALM, ship.eta - now >= 2 * hours],
            "port.next_window: expected rules that do not compare ship.eta with now but got ship.eta - now >= 2 h",
        ),
        (
            [CALM, 2 * (ship.etd - ship.eta) >= 2 * hours],
            "2 * (ship.etd - ship.eta): expected a sum or a difference of ship.eta, so that its next change is known",
        ),
        (
            [throughout(ship.eta, ship.eta + 1 * hours)(tide.issued >= ship.eta - 12 * hours)],
            "throughout(ship.eta, ship.eta + 1 h)(tide.issued >= ship.eta - 12 h): expected a span in which ship.eta"
            " itself is not compared",
        ),
    ],
)
def test_what_has_no_window_is_refused(conditions, message):
    assert refused(lambda: written(*conditions).next_window(ship, within=24 * hours)) == message


def test_other_refusals():
    made = written(CALM)
    assert refused(lambda: made.next_window(berth, within=24 * hours)).startswith(
        "port.next_window: expected its subject 'ship' but got <source berth"
    )
    assert refused(lambda: made.next_window(ship, within=24 * metres)).startswith("within: expected a time but got")
    assert refused(lambda: made.next_window(ship, within=24 * hours, at=ship.draught)) == (
        "port.next_window: expected an instant of the subject but got at=ship.draught"
    )
    assert refused(lambda: made.next_window(ship, within=24 * hours, at=berth.closes)) == (
        "port.next_window: expected an instant of the subject but got at=berth.closes"
    )
    hour = Source("hour", key="number", number=int)
    early = (ship.eta - ship.etd) / (1 * hours)
    linked = RulePack("port", subject=ship, links=[hour.number == early])
    with linked:
        require(CALM)
    assert refused(lambda: linked.passages({"ship": {"id": 1}}, within=24 * hours)) == (
        "port.passages: expected links that do not depend on ship.eta but got (ship.eta - ship.etd) / 1 h"
    )


def test_a_comparison_with_now_is_no_obstacle_at_one_time():
    made = written(CALM, ship.eta - now >= 2 * microseconds)
    breezes = [{"issued": 0, "start": 0, "end": 99, "force": 1}]
    found = made.passages({"ship": {"id": 1, "eta": 5}, "wind": breezes}, within=9 * microseconds, now=6)
    assert found == (Passage(8, 14),)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, "port.passages: expected a row of the subject 'ship' but got none"),
        ({"ship": {"eta": "soon"}}, "port.passages: expected an instant for ship.eta but got 'soon'"),
        ({"ship": {"eta": 1}, "wind": [{}]}, "port.passages: expected predictions of 'wind' but its 'issued' is no"),
    ],
)
def test_what_is_no_situation_is_refused_by_the_name_of_the_call(rows, message):
    with pytest.raises((InvalidArgument, DimensionMismatch), match=f"^{re.escape(message)}"):
        written(CALM).passages(rows, within=9 * microseconds)
