"""Packs that look at other rows than those linked, over columns: what the reference tier says of the same rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Delete, Engine
from cartesius.columnar.results import events_of
from dsl import RulePack, Source, against, another, choice, position, require, when
from dsl.units import hours, knots, metres, tonnes
from examples.port.traffic_rules import traffic_rules

if TYPE_CHECKING:
    from cartesius import Reactive

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
    lambda: require(dsl.count(tug, where=tug.free) >= 2, name="tugs"),
    lambda: require(dsl.sum_(tug.pull, where=(tug.basin == ship.basin) & tug.free) >= 3 * tonnes, name="pull"),
    lambda: require(dsl.count(other, where=is_here & (other.kind == "tanker")) == 0, name="alone"),
    lambda: require(dsl.mean(ship.length) <= 2 * metres, name="mean"),
    lambda: require(dsl.max_(other.draught, where=is_here) >= ship.draught, name="deepest"),
    lambda: require(dsl.count(other) * ship.length <= dsl.min_(other.length) * 3, name="both"),
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
Step = tuple[str, Any, int]


@st.composite
def steps(draw: Any) -> Step:
    name = draw(st.sampled_from(["ship", "ship", "ship", "tug", "air"]))
    drawn, key = draw(ROWS[name]), KEYS[name]
    row = {field: drawn[field] for field in NAMES[name]}  # hypothesis draws them in any order
    at = draw(st.integers(0, 9))
    return name, Delete(row[key]) if key is not None and draw(st.integers(0, 5)) == 0 else row, at


def batch_of(inputs: dict[str, Reactive], part: list[Step], names: dict[str, list[str]]) -> dict[Any, Any]:
    found: dict[Any, dict[str, list[Any]]] = {}
    for order, (name, value, at) in enumerate(part):
        is_gone, key = isinstance(value, Delete), names[name][0]
        row: dict[Any, Any] = {**dict.fromkeys(names[name]), key: value.key} if is_gone else value
        for field in names[name]:
            found.setdefault(inputs[name], {}).setdefault(field, []).append(row[field])
        for field, one in {"order": order, "at": at, "deleted": is_gone}.items():
            found[inputs[name]].setdefault(field, []).append(one)
    return found


NAMES = {"ship": list(FIELDS), "tug": ["id", "free", "pull", "basin"], "air": ["speed"]}


def compare(
    outputs: Any,
    inputs: dict[str, Reactive],
    trace: list[Step],
    cuts: list[tuple[int, str]],
    names: dict[str, list[str]],
) -> None:
    reference, engine, done = Engine(*outputs, tier="reference"), Engine(*outputs), 0
    for size, way in [*cuts, (len(trace), "many")]:
        part, done = trace[done : done + size], done + size
        expected = [event for name, value, at in part for event in reference.push(inputs[name], value, at=at)]
        if way == "snapshot":
            engine = Engine.restore(engine.snapshot(), *outputs)
        if way == "push":
            found = [event for name, value, at in part for event in engine.push(inputs[name], value, at=at)]
        else:
            found = events_of(engine.push_many(batch_of(inputs, part, names)))
            assert part == [] or engine._compiled is not None
            assert engine._compiled is None or engine._compiled.reason == ""
            assert engine._why_row_by_row == ""
        assert list(map(repr, found)) == list(map(repr, expected))
    assert engine.stats.tuples == reference.stats.tuples
    assert engine.stats.retained == reference.stats.retained
    for output in outputs:
        assert repr(engine.query(output)) == repr(reference.query(output))
    engine._check_invariants()


CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["many", "many", "push", "snapshot"])), max_size=3)


@settings(max_examples=max(15, settings().max_examples // 6))  # each compiles a pack of its own
@given(packs(), st.lists(steps(), min_size=1, max_size=14), CUTS, st.booleans())
def test_relations_over_columns_say_what_the_reference_says(
    pack: RulePack, trace: list[Step], cuts: list[tuple[int, str]], has_warnings: bool
):
    outputs = (pack.table(), pack.warnings()) if has_warnings else (pack.table(),)
    compare(outputs, pack.sources, [step for step in trace if step[0] in pack.sources], cuts, NAMES)


TRAFFIC = {
    "vessel": ["mmsi", "name", "vessel_type", "hazard", "length", "beam", "draught", "speed", "course", "position",
               "destination", "direction"],
    "wind": ["station", "velocity", "gust", "direction"],
    "tug": ["mmsi", "available"],
}  # fmt: skip


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
    compare(
        (pack.table(), pack.warnings()), pack.sources, trace, [(25, "many"), (10, "snapshot"), (5, "push")], TRAFFIC
    )


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
    draw, hour, names = random.Random(3), 3_600_000_000, {"ship": list(FIELDS)}
    reference, engine = (Engine(pack.table(), tier=tier, lateness=0) for tier in ("reference", None))
    inputs = pack.sources
    trace: list[Step] = []
    for at in range(40):
        row = {"mmsi": draw.randrange(4), "basin": "A", "kind": None, "length": 1.0, "draught": 1.0, "speed": 1.0,
               "place": draw.choice(SPOTS)}  # fmt: skip
        trace.append(("ship", row, at * hour // 3))
    expected = [event for name, value, at in trace for event in reference.push(inputs[name], value, at=at)]
    found = [
        event
        for first in (0, 15)
        for event in events_of(engine.push_many(batch_of(inputs, trace[first : 15 if first == 0 else None], names)))
    ]
    assert list(map(repr, found)) == list(map(repr, expected))
