"""Packs that look at other rows than those linked, over columns: what the reference tier says of the same rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Delete, Engine
from dsl import RulePack, Source, against, another, choice, position, require, when
from dsl.units import hours, knots, metres, tonnes
from examples.port.traffic_rules import traffic_rules
from tests.unit.dsl.rule_batches import check_batches, pushed, pushed_at_once

if TYPE_CHECKING:
    from tests.unit.dsl.rule_batches import Step

FIELDS: dict[str, Any] = {
    "mmsi": int, "basin": str, "kind": choice("tanker", "box"), "length": metres, "draught": metres, "speed": knots,
    "place": position,
}  # fmt: skip
ship = Source("ship", key="mmsi", **FIELDS)
other = another(ship, "other")
tug = Source("tug", key="id", id=int, free=bool, pull=tonnes, basin=str)
air = Source("air", key=None, speed=knots)
is_here = other.basin == ship.basin

PAIRS = [
    lambda: require(dsl.not_((ship.kind == "tanker") & (other.kind == "tanker")), name="no two tankers"),
    lambda: require(dsl.distance(ship.place, other.place) >= 500 * metres, name="passing distance"),
    lambda: require(ship.draught + other.draught <= 4 * metres, name="water", because="shallow"),
]
WHERES = [
    lambda: against(other, where=is_here),
    lambda: against(other),
    lambda: against(other, where=is_here & (other.kind == ship.kind)),
    lambda: against(other, where=other.speed >= 1 * knots),
]
TOTALS = [
    lambda: require(dsl.number_of(tug, where=tug.free) >= 2, name="tugs"),
    lambda: require(dsl.sum_of(tug.pull, where=(tug.basin == ship.basin) & tug.free) >= 3 * tonnes, name="pull"),
    lambda: require(dsl.number_of(other, where=is_here & (other.kind == "tanker")) == 0, name="alone"),
    lambda: require(dsl.mean_of(ship.length) <= 2 * metres, name="mean"),
    lambda: require(dsl.greatest_of(other.draught, where=is_here) >= ship.draught, name="deepest"),
    lambda: require(dsl.number_of(other) * ship.length <= dsl.least_of(other.length) * 3, name="both"),
]


@st.composite
def packs(draw: Any) -> RulePack:
    only = draw(st.sampled_from([None, None, ship.length >= 1 * metres]))
    pack = RulePack("port", subject=ship, only=only)
    with pack:
        for _ in range(draw(st.integers(1, 3))):
            match draw(st.sampled_from(["pairs", "pairs", "total", "guarded", "plain"])):
                case "pairs":
                    with draw(st.sampled_from(WHERES))():
                        draw(st.sampled_from(PAIRS))()
                case "total":
                    draw(st.sampled_from(TOTALS))()
                case "guarded":
                    with when(air.speed >= 2 * knots):
                        draw(st.sampled_from(TOTALS))()
                        with draw(st.sampled_from(WHERES))(), when(other.length >= 1 * metres):
                            draw(st.sampled_from(PAIRS))()
                case "plain":
                    require(ship.draught <= ship.length)
        draw(st.sampled_from(TOTALS))()
    return pack


def maybe(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*values, *values, None])


SPOTS = [(0.0, 0.0), (0.0, 0.001), (0.0, 0.0045), (0.0, 1.0)]
NUMBERS = maybe(0.0, 1.0, 2.5, 3.0)
ROWS = {
    "ship": st.fixed_dictionaries(
        {
            "mmsi": st.integers(1, 4), "basin": maybe("A", "B"), "kind": maybe("tanker", "box"), "length": NUMBERS,
            "draught": NUMBERS, "speed": maybe(0.0, 5.0), "place": maybe(*SPOTS),
        }
    ),
    "tug": st.fixed_dictionaries(
        {"id": st.integers(1, 3), "free": maybe(True, False), "pull": maybe(1.5, 2.5), "basin": maybe("A", "B")}
    ),
    "air": st.fixed_dictionaries({"speed": maybe(1.0, 9.0)}),
}  # fmt: skip
KEYS = {"ship": "mmsi", "tug": "id", "air": None}


@st.composite
def steps(draw: Any) -> Step:
    name = draw(st.sampled_from(["ship", "ship", "ship", "tug", "air"]))
    drawn, key = draw(ROWS[name]), KEYS[name]
    row = {field: drawn[field] for field in NAMES[name]}  # hypothesis draws them in any order
    at = draw(st.integers(0, 9))
    return name, Delete(row[key]) if key is not None and draw(st.integers(0, 5)) == 0 else row, at


NAMES = {"ship": list(FIELDS), "tug": ["id", "free", "pull", "basin"], "air": ["speed"]}


CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["many", "many", "push", "snapshot"])), max_size=3)


@settings(max_examples=max(15, settings().max_examples // 6))  # each compiles a pack of its own
@given(packs(), st.lists(steps(), min_size=1, max_size=14), CUTS, st.booleans())
def test_relations_over_columns_say_what_the_reference_says(
    pack: RulePack, trace: list[Step], cuts: list[tuple[int, str]], has_warnings: bool
):
    outputs = (pack.table(), pack.warnings()) if has_warnings else (pack.table(),)
    check_batches(pack, outputs, trace, cuts)


def vessel_row(draw: random.Random) -> dict[str, Any]:
    spot = (40.0 + draw.random() * 0.006, -74.0 - draw.random() * 0.006)
    return {
        "mmsi": draw.randrange(6), "name": "A", "vessel_type": draw.choice(["tanker", "cargo", "passenger", None]),
        "hazard": draw.choice([None, "A"]), "length": draw.choice([10.0, 90.0, 250.0, 350.0, None]), "beam": 9.0,
        "draught": 3.0, "speed": draw.choice([0.0, 5.0, None]), "course": 9.0,
        "position": draw.choice([spot, spot, spot, None]), "destination": draw.choice(["A", "B", "elsewhere", None]),
        "direction": draw.choice(["inbound", "moored", "still", None]),
    }  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_the_traffic_of_the_port_is_compiled(seed: int):
    pack, draw = traffic_rules(), random.Random(seed)
    trace: list[Step] = []
    for at in range(60):
        name = draw.choice(["vessel"] * 5 + ["tug"])
        row = vessel_row(draw) if name == "vessel" else {"mmsi": draw.randrange(4), "available": draw.random() < 0.7}
        trace.append((name, Delete(row["mmsi"]) if draw.random() < 0.15 else row, at))
    cuts = [(25, "many"), (10, "snapshot"), (5, "push")]
    check_batches(pack, (pack.table(), pack.warnings()), trace, cuts)


def test_pairs_that_are_judged_by_linked_rows_go_row_by_row():
    pack = RulePack("port", subject=ship)
    with pack, against(other):
        require((air.speed <= 2 * knots) | (other.kind != ship.kind), name="in the wind")
    assert "row by row, as" in Engine(pack.table()).explain()
    assert "pairs are judged by rows that are linked" in Engine(pack.table()).explain()


def test_what_the_clock_takes_away_goes_row_by_row_and_stays_right():
    old = Source("ship", key="mmsi", stale_after=1 * hours, **FIELDS)
    pack = RulePack("port", subject=old)
    with pack, against(another(old, "other")):
        require(dsl.distance(old.place, another(old, "other").place) >= 500 * metres, name="passing distance")
    draw, hour = random.Random(3), 3_600_000_000
    reference, engine = (Engine(pack.table(), tier=tier, lateness=0) for tier in ("reference", None))
    trace: list[Step] = []
    for at in range(40):
        row = {"mmsi": draw.randrange(4), "basin": "A", "kind": None, "length": 1.0, "draught": 1.0, "speed": 1.0,
               "place": draw.choice(SPOTS)}  # fmt: skip
        trace.append(("ship", row, at * hour // 3))
    found = [*pushed_at_once(engine, pack, trace[:15]), *pushed_at_once(engine, pack, trace[15:])]
    assert list(map(repr, found)) == list(map(repr, pushed(reference, pack.sources, trace)))
