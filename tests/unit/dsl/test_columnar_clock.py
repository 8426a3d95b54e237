"""Packs that look at the clock, and at who is considered, over columns: as row by row in the reference tier."""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Delete, Engine
from dsl import RulePack, Source, instant, not_, now, optional
from dsl.units import knots, metres, microseconds
from examples.port.inputs import read_day
from examples.port.programs import rule_pack
from examples.port.rotterdam import basin_rows, rotterdam_rules
from tests.unit.dsl.rule_batches import check_batches, pushed, pushed_at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.dsl.rule_batches import Step

DATA = Path(__file__).parents[3] / "examples/port/data"
SHARED = ("mmsi", "name", "vessel_type", "length", "beam", "draught", "speed")
FIELDS = {
    "ship": ["id", "quay", "eta", "notice", "draught"],
    "gauge": ["quay", "height", "pile"],
    "wind": ["velocity"],
    "pile": ["id", "load"],
}
KEYS = {"ship": "id", "gauge": "quay", "wind": None, "pile": "id"}

# -- packs -------------------------------------------------------------------------------------------------------------


@st.composite
def packs(draw: Any) -> RulePack:
    """Packs of which any source may age, and that compare with the clock or not, and consider all ships or some."""

    def ageing() -> dict[str, Any]:
        age = draw(st.sampled_from([None, 2, 3, 5]))
        return {} if age is None else {"stale_after": age * microseconds}

    ship = Source(
        "ship", key="id",
        id=int, quay=str, eta=optional(instant), notice=microseconds, draught=optional(metres), **ageing(),
    )  # fmt: skip
    gauge = Source("gauge", key="quay", quay=str, height=optional(metres), pile=str, **ageing())
    wind = Source("wind", key=None, velocity=knots, **ageing())
    pile = Source("pile", key="id", id=str, load=int, **ageing())
    atoms = [
        ship.eta - now <= 4 * microseconds, now > ship.eta + 3 * microseconds, now == ship.eta,
        ship.eta - now != 2 * microseconds,
        dsl.between(ship.eta - now, -2 * microseconds, 5 * microseconds), ship.eta - now >= ship.notice,
        ship.draught > 2 * metres, gauge.height > 1 * metres, wind.velocity <= 2 * knots, dsl.known(ship.eta),
        dsl.known(gauge.height), dsl.known_or(ship.draught, 3 * metres) < gauge.height, pile.load > 2,
        ship.eta + 1 * microseconds < now + ship.notice * 0.5, ship.quay == "A",
    ]  # fmt: skip
    own = [each for place, each in enumerate(atoms) if place in {0, 1, 2, 3, 4, 5, 6, 9, 13, 14}]

    def condition(some: Sequence[Any]) -> Any:
        first, second = draw(st.sampled_from(some)), draw(st.sampled_from(some))
        return {"one": first, "not": not_(first), "and": first & second, "or": first | not_(second)}[
            draw(st.sampled_from(["one", "not", "and", "or"]))
        ]

    who = draw(st.sampled_from(["all", "own", "own", "linked"]))
    only = {"all": lambda: None, "own": lambda: condition(own), "linked": lambda: condition(atoms)}[who]()
    pack = RulePack("harbour", subject=ship, links=[gauge.quay == ship.quay, pile.id == gauge.pile], only=only)
    with pack:
        for _ in range(draw(st.integers(1, 3))):
            if draw(st.booleans()):
                with dsl.when(condition(atoms)):
                    dsl.require(condition(atoms))
            else:
                dsl.require(condition(atoms))
    return pack


# -- traces ------------------------------------------------------------------------------------------------------------


def maybe(values: Any) -> Any:
    return st.one_of(values, values, values, st.none())


NUMBERS = maybe(st.sampled_from([0.0, 1.0, 2.5, 4.0, float("nan")]))
ROWS = {
    "ship": st.fixed_dictionaries(
        {
            "id": st.integers(1, 3), "quay": maybe(st.sampled_from("AB")), "eta": maybe(st.integers(0, 24)),
            "notice": maybe(st.integers(0, 4)), "draught": NUMBERS,
        }
    ),
    "gauge": st.fixed_dictionaries(
        {"quay": st.sampled_from("AB"), "height": NUMBERS, "pile": maybe(st.sampled_from("pq"))}
    ),
    "wind": st.fixed_dictionaries({"velocity": NUMBERS}),
    "pile": st.fixed_dictionaries({"id": st.sampled_from("pq"), "load": maybe(st.integers(0, 4))}),
}  # fmt: skip


@st.composite
def steps(draw: Any) -> Step:
    name = draw(st.sampled_from(["ship", "ship", "ship", "gauge", "wind", "pile"]))
    drawn = draw(ROWS[name])
    row = {field: drawn[field] for field in FIELDS[name]}
    if draw(st.integers(0, 7)) == 0:
        return name, Delete(() if KEYS[name] is None else row[KEYS[name] or ""]), draw(st.integers(0, 20))
    return name, row, draw(st.integers(0, 20))


@st.composite
def traces(draw: Any) -> list[Step]:
    """Traces of which most go on in time, so that deadlines fall due in a batch."""
    trace = draw(st.lists(steps(), min_size=8, max_size=24))
    if draw(st.integers(0, 3)) == 0:
        return trace
    waits = st.lists(st.sampled_from([0, 0, 0, 1, 2, 5]), min_size=len(trace), max_size=len(trace))
    return [(name, value, at) for (name, value, _), at in zip(trace, accumulate(draw(waits)), strict=True)]


MAY_BE = ("", "deadlines of two correlations are due at one time", "rows of several tables change in one step")
WAYS = st.sampled_from(["many", "many", "many", "many", "many", "push", "snapshot", "in_place", "advance", "advance"])


@settings(max_examples=max(20, settings().max_examples // 4))  # each compiles a pack of its own
@given(
    packs(), traces(), st.lists(st.tuples(st.integers(1, 8), WAYS), min_size=1, max_size=3),
    st.sampled_from([None, 0, 0, 3]), st.booleans(),
)  # fmt: skip
def test_batches_give_what_the_reference_gives(
    pack: RulePack, trace: list[Step], cuts: list[tuple[int, str]], lateness: int | None, with_warnings: bool
):
    outputs = (pack.table(), pack.warnings()) if with_warnings else (pack.table(),)
    check_batches(pack, outputs, trace, cuts, lateness=lateness, reasons=MAY_BE)


def test_the_pack_of_rotterdam_is_compiled_between_deadlines():
    pack = rotterdam_rules()
    outputs, inputs = (pack.table(), pack.warnings()), pack.sources
    reference, engine = Engine(*outputs, tier="reference"), Engine(*outputs)
    draw = random.Random(5)
    places = [row["id"] for row in basin_rows()]
    hour = 3_600_000_000
    clock = 0
    for rows in (1, 40, 7, 60):
        trace: list[Step] = [("berth", row, clock) for row in basin_rows()] if not clock else []
        for _ in range(rows):
            eta = draw.choice([None, clock + draw.randrange(-60, 60) * hour])
            ship = {
                "mmsi": draw.randrange(20), "name": "x", "vessel_type": draw.choice(["tanker", "cargo"]),
                "length": draw.random() * 400, "beam": 30.0, "draught": draw.choice([None, 22 * draw.random()]),
                "speed": 3.0, "destination": draw.choice([*places, "elsewhere"]),
                "direction": draw.choice(["inbound", "outbound", "moored"]), "eta": eta,
            }  # fmt: skip
            trace.append(("vessel", ship, clock))
            if draw.random() < 0.2:
                trace.append(("tide", {"height": draw.random()}, clock))
        expected = pushed(reference, inputs, trace)
        assert list(map(repr, pushed_at_once(engine, pack, trace))) == list(map(repr, expected))
        assert engine._why_row_by_row == ""
        assert "compiled: the kernel of ageing" in engine.explain()
        clock += 13 * hour
        assert list(map(repr, engine.advance(clock))) == list(map(repr, reference.advance(clock)))
    assert engine.stats.tuples == reference.stats.tuples


def test_the_code_of_phases_is_shown():
    engine = Engine(rotterdam_rules().table())
    engine.push_many({"tide": {"height": [1.0]}})
    assert "vessel.eta - now <= 24 h" in engine.source()


def test_the_packs_of_the_port_are_compiled_on_a_slice_of_its_data():
    """The readings of an hour in New York; of the ships, those reports also as if they were bound for Rotterdam."""
    day = read_day(DATA)
    readings = [each for each in day.readings if each.source == "berth"]
    readings += [each for each in day.readings if each.source != "berth" and each.time is not None][::100]
    basins = [row["id"] for row in basin_rows()]
    port = rule_pack("port", [each.values["id"] for each in readings if each.source == "berth"])
    for pack in (port, rotterdam_rules()):
        inputs = pack.sources
        trace: list[Step] = [] if pack.name == "port" else [("berth", row, day.start) for row in basin_rows()]
        for each in readings:
            if pack.name == "port" and each.source in inputs:
                trace.append((each.source, each.values, each.time or day.start))
            elif each.source == "vessel":
                known = {name: each.values[name] for name in SHARED}
                number, time = each.values["mmsi"], each.time or day.start
                is_still = each.values["direction"] in {"moored", "still"}
                known |= {"direction": "moored" if is_still else "inbound", "destination": basins[number % len(basins)]}
                trace.append(("vessel", {**known, "eta": time + (number % 60 - 30) * 3_600_000_000}, time))
        in_place, engine = (Engine(pack.table(), lateness=600_000_000, tier=tier) for tier in ("in_place", None))
        found = list(map(repr, pushed_at_once(engine, pack, trace)))
        assert found == list(map(repr, pushed(in_place, inputs, trace)))
        assert len(found) > len(trace) / 20
        assert engine._why_row_by_row == ""


@pytest.mark.parametrize("only", [False, True])
def test_who_reads_the_judgements_between_batches_changes_nothing(only: bool):
    """Neither does who is lent them as objects twice leave any of them there twice."""
    ship = Source("ship", key="id", id=int, draught=metres, stale_after=30 * microseconds)
    pack = RulePack("harbour", subject=ship, only=ship.draught > 1 * metres if only else None)
    with pack:
        dsl.require(ship.draught > 2 * metres)
    outputs = (pack.table(), pack.warnings())
    engine, twin, reference = Engine(*outputs), Engine(*outputs), Engine(*outputs, tier="reference")
    for turn in range(3):
        part = [("ship", {"id": n % 4, "draught": float(n % 5)}, 9 * turn + n) for n in range(turn, 6)]
        expected = pushed(reference, pack.sources, part)
        assert pushed_at_once(engine, pack, part) == pushed_at_once(twin, pack, part) == expected
        for output in outputs:
            assert engine.query(output) == reference.query(output)
        assert engine._compiled is not None
        assert engine._compiled.states is not None
    assert engine.advance(60) == twin.advance(60) == reference.advance(60)
    assert engine.snapshot() == twin.snapshot()
    assert engine.stats == twin.stats == reference.stats
    assert engine.stats.fates == twin.stats.fates == reference.stats.fates
