"""Packs of rules over columns say what they say of the same rows, pushed one by one in the reference tier."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dsl
from cartesius import Engine
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, between, known, not_, optional, require
from dsl.terms.dimensions import POSITION, TRUTH, Choice, Measure
from dsl.units import centimetres, degrees, metres
from examples.port.places import GAUGES, STATIONS
from examples.port.programs import PACKS, rule_pack
from examples.port.rules_page import packs as packs_of_the_port
from tests.unit.dsl.rule_batches import check_batches, pushed, pushed_at_once
from tests.unit.dsl.rule_traces import TRACES, berth, packs, ship

if TYPE_CHECKING:
    from tests.unit.dsl.rule_batches import Step


def outputs_of(pack: RulePack, which: str) -> tuple[Any, ...]:
    return {"table": (pack.table(),), "warnings": (pack.warnings(),), "both": (pack.table(), pack.warnings())}[which]


OUTPUTS = st.sampled_from(["table", "warnings", "both"])
WAYS = st.sampled_from(["many", "many", "many", "push", "snapshot", "in_place"])


@settings(max_examples=max(20, settings().max_examples // 4))  # each compiles a pack of its own
@given(packs(), TRACES, OUTPUTS, st.lists(st.tuples(st.integers(1, 12), WAYS), min_size=1, max_size=3))
def test_batches_mixed_with_pushes_and_snapshots_give_what_the_reference_gives(
    pack: RulePack, trace: list[Step], which: str, cuts: list[tuple[int, str]]
):
    check_batches(pack, outputs_of(pack, which), trace, cuts)


# -- the packs that there are ------------------------------------------------------------------------------------------

BERTHS = ["red-hook", "elizabeth", "howland-hook"]


def value_of(name: str, kind: Any, draw: random.Random) -> Any:
    """A value for a field: keys and links of few places, measures around the limits of the rules."""
    places = {"destination": BERTHS, "sensor": list(GAUGES), "station": list(STATIONS)}
    if name in places:
        return draw.choice(places[name])
    if name == "mmsi":
        return draw.randrange(6)
    if draw.random() < 0.1:
        return None
    match kind:
        case Choice(members=members):
            return draw.choice(members)
        case Measure():
            return draw.choice([0.0, 5.0, 14.5, 40.0, 120.0, 350.0]) * draw.random()
    if kind == POSITION:
        return (40.0 + draw.random(), -74.0 - draw.random())
    return draw.random() < 0.5 if kind == TRUTH else draw.choice(["red-hook", "cargo", "inbound"])


def row_of(source: Any, draw: random.Random) -> dict[str, Any]:
    row = {name: value_of(name, kind, draw) for name, kind in source.fields}
    return {**row, "id": draw.choice(BERTHS)} if source.name == "berth" else row


@pytest.mark.parametrize("name", PACKS)
def test_the_packs_of_the_harbour_and_of_the_thesis_are_compiled(name: str):
    pack = rule_pack(name, BERTHS)
    outputs = pack.table(), pack.warnings()
    draw = random.Random(name)
    inputs = pack.sources
    known = {source.name: source for source in pack._used}
    trace = [(source, row_of(known[source], draw), at) for at, source in enumerate(draw.choices(list(inputs), k=120))]
    reference, engine = Engine(*outputs, tier="reference"), Engine(*outputs)
    for first, last in ((0, 50), (50, 51), (51, 120)):
        expected = pushed(reference, inputs, trace[first:last])
        assert list(map(repr, pushed_at_once(engine, pack, trace[first:last]))) == list(map(repr, expected))
        assert engine._why_row_by_row == ""
    assert engine.stats.tuples == reference.stats.tuples


NOT_COMPILED = {
    "arrivals": "it looks at throughout(",
}


@pytest.mark.parametrize("name", NOT_COMPILED)
def test_packs_that_look_at_forecasts_are_not(name: str):
    engine = Engine(packs_of_the_port()[name].table())
    assert NOT_COMPILED[name] in engine.explain()
    assert "compiled: the kernel of judging" not in engine.explain()


def a_pack(*rules: Any, **how: Any) -> RulePack:
    pack = RulePack("port", subject=ship, links=[berth.id == ship.berth], **how)
    with pack:
        for rule in rules:
            rule()
    return pack


def ship_of(pack: RulePack) -> Any:
    return pack.sources["ship"]


tide = dsl.Source("tide", key=None, height=metres, forecast=True)
SHIP: dict[str, Any] = {
    "id": 1, "berth": "A", "draught": 3.0, "length": 9.0, "kind": "box", "heading": 90.0, "pilot": True, "flag": "NL",
    "eta": 3, "pos": (0.0, 0.0), "pumps": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (lambda: dsl.require(dsl.throughout(ship.eta, ship.eta)(tide.height > 1 * metres)), "it looks at throughout("),
    ],
)
def test_what_else_a_rule_looks_at_is_said(rule: Any, why: str):
    assert why in Engine(a_pack(rule).table()).explain()


# -- columns -----------------------------------------------------------------------------------------------------------


def shallow() -> RulePack:
    return a_pack(lambda: dsl.require(berth.depth - ship.draught >= 50 * centimetres, "clearance", because="mud"))


def ships(**fields: Any) -> dict[str, list[Any]]:
    n = len(next(iter(fields.values())))
    return {**{name: [value] * n for name, value in SHIP.items()}, **fields}


def test_status_and_reasons_can_be_read_as_columns():
    pack = shallow()
    engine = Engine(pack.table())
    engine.push_many({"berth": {"id": ["A"], "depth": [5.0], "gauge": [None], "pos": [(0.0, 0.0)], "number": [1]}})
    table = engine.push_many({"ship": ships(id=[1, 2, 3], draught=[4.0, 4.75, None])})
    value = table.column("value").combine_chunks()
    assert value.field("status").to_pylist() == ["allowed", "restricted", "unknown"]
    clearance = value.field("because").field("failed").field("clearance")
    assert clearance.field("margin").to_pylist()[1] == -25.0
    assert clearance.field("values").field("berth.depth - ship.draught").to_pylist()[1] == 25.0
    missing = value.field("because").field("undecided").field("clearance").field("missing")
    assert missing.field("ship.draught").to_pylist()[2] is True
    assert [event.value.value.because[0].because for event in events_of(table)[1:]] == ["mud", "mud"]


def test_an_event_that_changes_no_verdict_gives_none():
    engine = Engine(shallow().table())
    engine.push_many({"berth": {"id": ["A"], "depth": [5.0], "gauge": [None], "pos": [(0.0, 0.0)], "number": [1]}})
    assert engine.push_many({"ship": ships(id=[1] * 4, draught=[4.0, 4.1, 4.75, 4.8])}).num_rows == 2


def test_the_code_is_shown_with_the_rules_and_links_that_it_came_from():
    engine = Engine(shallow().table())
    engine.push_many({"ship": ships(id=[1])})
    assert "# where (berth.id == ship.berth)" in engine.source()
    assert "# berth.depth - ship.draught >= 50 cm" in engine.source()


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        (lambda: dsl.require(ship.pumps * 2.5 > 1), 2**60),
        (lambda: dsl.require(ship.pumps + 1 > 1), 2**63 - 1),
        (lambda: dsl.require(ship.pumps > 1.5), 2**53 + 1),
    ],
)
def test_ints_that_columns_cannot_hold_exactly_are_left_to_python(rule: Any, number: int):
    pack = a_pack(rule)
    reference, engine = Engine(pack.table(), tier="reference"), Engine(pack.table())
    expected = reference.push(ship_of(pack), {**SHIP, "pumps": number})
    assert list(map(repr, events_of(engine.push_many({"ship": ships(pumps=[number])})))) == list(map(repr, expected))


def test_a_row_without_a_declared_field_is_refused_as_by_push():
    pack = shallow()
    engine = Engine(pack.table())
    batch = ships(id=[1])
    del batch["draught"]
    engine.push_many({"berth": {"id": ["A"], "depth": [5.0], "gauge": [None], "pos": [(0.0, 0.0)], "number": [1]}})
    with pytest.raises(InvalidArgument, match="one has no 'draught'"):
        engine.push_many({"ship": batch})
    assert engine._why_row_by_row == "rows have no field 'draught'"


@pytest.mark.parametrize("missing", ["berth", "draught", "pilot", "pumps", "pos"])
def test_a_batch_in_which_a_field_is_missing_everywhere_joins_rows_that_were_pushed(missing: str):
    pack = shallow()
    reference, engine = Engine(pack.table(), tier="reference"), Engine(pack.table())
    there = {"id": "A", "depth": 3.25, "gauge": None, "pos": (0.0, 0.0), "number": 1}
    trace = [("ship", SHIP, 0), ("ship", {**SHIP, "id": 2, missing: None}, 0), ("berth", there, 0)]
    assert pushed(engine, pack.sources, trace[:1]) == pushed(reference, pack.sources, trace[:1])
    found, expected = pushed_at_once(engine, pack, trace[1:]), pushed(reference, pack.sources, trace[1:])
    assert list(map(repr, found)) == list(map(repr, expected))
    assert engine._why_row_by_row == ""


def test_nothing_is_compiled_before_the_first_batch():
    engine = Engine(shallow().table())
    engine.push(engine.inputs["ship"], SHIP)
    assert engine._compiled is None


# -- numbers that are none, in columns of whatever values --------------------------------------------------------------

ODD = Source("odd", key="id", id=int, a=metres, b=optional(metres), h=degrees)
JUDGED = [
    ODD.a != 0 * metres,
    not_(ODD.a >= 1 * metres),
    known(ODD.b),
    ODD.a + ODD.a != 1 * metres,
    not_(between(ODD.h, 340 * degrees, 20 * degrees)),
]
NUMBERS = [math.nan, Decimal("NaN"), 10**30, Decimal(2), 2.0, 3, None, math.inf, -math.inf]


@pytest.mark.parametrize("rule", JUDGED, ids=str)
@given(column=st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=4))
def test_what_is_no_number_is_missing_whatever_stands_beside_it(rule: Any, column: list[Any]):
    """Arrow has no type for a column of such values: they stay Python's own."""
    pack = RulePack("odd values", subject=ODD)
    with pack:
        require(rule)
    keys = list(range(len(column)))
    engine = Engine(pack.table(), tier="reference")
    rows = [{"id": key, "a": one, "b": one, "h": one} for key, one in zip(keys, column, strict=True)]
    one_by_one = [repr(event.value) for row in rows for event in engine.push(pack.sources["odd"], row)]
    batch = {"odd": {"id": keys, "a": column, "b": column, "h": column}}
    assert [repr(event.value) for event in events_of(Engine(pack.table()).push_many(batch))] == one_by_one


@pytest.mark.parametrize("heading", [math.inf, -math.inf])
def test_of_a_direction_that_is_infinite_nothing_is_known(heading: float):
    for rule in (between(ODD.h, 340 * degrees, 20 * degrees), not_(between(ODD.h, 340 * degrees, 20 * degrees))):
        pack = RulePack("directions", subject=ODD)
        with pack:
            require(rule)
        assert pack.check({"odd": {"h": heading}}).status == "unknown"


@pytest.mark.parametrize(
    "rules",
    [
        "".join(
            f"when length is at least {n} m: draught must be at most {400 - n} m\n    name: {n}\n" for n in range(100)
        ),
        "".join(f"draught must be at most {400 - n} m\n    name: {n}\n" for n in range(300)),
        "".join("    " * n + f"when length is at least {n} m:\n" for n in range(15))
        + "    " * 15
        + "draught must be 9 m\n",
    ],
    ids=["conditional", "many", "nested"],
)
def test_a_large_pack_is_computed_in_columns(rules):
    """As each rule was an expression around that before, a hundred of them could not be written as text."""
    source = "source vessel by mmsi:\n    mmsi: number\n    draught: metres\n    length: metres\n"
    large = RulePack.from_text(f"pack: p\nsubject: vessel\n{source}{rules}")
    rows = {"mmsi": [1, 2], "draught": [9.0, 399.0], "length": [50.0, 50.0]}
    engine, beside = Engine(large.table()), Engine(large.table())
    engine.push_many({"vessel": rows})
    for values in zip(*rows.values(), strict=True):
        beside.push(large.sources["vessel"], dict(zip(rows, values, strict=True)))
    assert engine.query(large.table()) == beside.query(large.table())
    assert engine.stats.given_up == {}
