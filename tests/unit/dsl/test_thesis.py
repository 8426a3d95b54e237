"""The thesis's chapter 2 under its numbers, and the listings of chapter 3 (SOURCES B2 to B6): Listings 1 to 16, Figures
2.1 to 2.3, Tables 2.1 and 2.2.

Listings are judged on situations around each limit; Figure 2.3 is its timeline, event by event.
"""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Engine, Reactive, Update, run
from dsl import RulePack, Source, absolute, location, named, not_, otherwise, require, when
from dsl.meaning.evaluation import Situation, compiled
from dsl.terms.dimensions import TRUTH, described
from dsl.terms.statements import Conditional, Located, Requirement
from dsl.terms.terms import Comparison, Constant, Not, Observation
from dsl.units import centimetres, knots, metres
from restrictions.streams import combine_latest
from tests.unit.dsl.harbour import berth, judged, pack, status, tidal_stream, tide, tugs, vessel, wind


def listing_1() -> None:
    require(wind.velocity <= 45 * knots)


def listing_2() -> None:
    require(wind.velocity <= 45 * knots)
    with when(vessel.length >= 200 * metres):
        require(wind.velocity <= 35 * knots)


def listing_3() -> None:
    with location("wilhelminakade"):
        require(not_(vessel.vessel_type == "chemical"))


def listing_5() -> None:
    with location("A"):
        require(berth.depth + tide.height - vessel.draught >= 20 * centimetres)


def listing_6() -> None:
    ukc = berth.depth + tide.height - vessel.draught
    with location("A"):
        require(ukc >= 20 * centimetres)
    with location("Z"):
        require(ukc >= 0.5 * metres)


def listing_6_named() -> None:
    ukc = named("under-keel clearance", berth.depth + tide.height - vessel.draught)
    with location("A"):
        require(ukc >= 20 * centimetres)
    with location("Z"):
        require(ukc >= 0.5 * metres)


def listing_11() -> None:
    with location("A"):
        require(wind.velocity <= 45 * knots)
        with when(vessel.draught >= 15 * metres):
            require(berth.depth + tide.height - vessel.draught >= 0.5 * metres)


@pytest.mark.parametrize(("velocity", "expected"), [(45.0, "allowed"), (45.1, "restricted"), (None, "unknown")])
def test_listing_1_warns_above_45_knots(velocity, expected):
    assert status(listing_1, wind={"velocity": velocity}) == expected


@pytest.mark.parametrize(
    ("length", "velocity", "failed"),
    [
        (199.0, 40.0, []),
        (199.0, 46.0, ["wind.velocity <= 45 kn"]),
        (200.0, 35.0, []),
        (200.0, 40.0, ["wind.velocity <= 35 kn"]),
        (200.0, 46.0, ["wind.velocity <= 45 kn", "wind.velocity <= 35 kn"]),
    ],
)
def test_listing_2_warns_long_ships_earlier(length, velocity, failed):
    verdict = judged(listing_2, vessel={"length": length}, wind={"velocity": velocity})
    assert [reason.name for reason in verdict.failed] == failed


@pytest.mark.parametrize(
    ("destination", "kind", "expected"),
    [
        ("wilhelminakade", "chemical", "restricted"),
        ("wilhelminakade", "container", "allowed"),
        ("elsewhere", "chemical", "allowed"),
    ],
)
def test_listing_3_keeps_chemicals_from_one_quay(destination, kind, expected):
    assert status(listing_3, vessel={"destination": destination, "vessel_type": kind}) == expected


def test_listing_4_the_statement_tree():
    [outer] = pack(listing_3).statements
    assert isinstance(outer, Located)
    assert outer.place == "wilhelminakade"
    assert [type(inner) for inner in outer.body] == [Requirement]


def test_figure_2_1_the_tree_of_listing_2():
    first, second = pack(listing_2).statements
    assert isinstance(first, Requirement)
    assert isinstance(second, Conditional)
    conditions = [first.condition, second.condition, second.body[0].condition]
    assert [each.operator for each in conditions if isinstance(each, Comparison)] == ["<=", ">=", "<="]


@pytest.mark.parametrize(("draught", "expected"), [(15.75, "allowed"), (15.85, "restricted")])
def test_listing_5_clearance(draught, expected):
    rows = {"berth": {"id": "A", "depth": 15.0}, "tide": {"sensor": "A", "height": 1.0}}
    assert status(listing_5, vessel={"destination": "A", "draught": draught}, **rows) == expected


@pytest.mark.parametrize(
    ("destination", "draught", "expected"), [("A", 14.6, "allowed"), ("Z", 14.6, "restricted"), ("Z", 14.5, "allowed")]
)
def test_listing_6_one_named_expression_at_two_places(destination, draught, expected):
    rows: dict[str, Any] = {"berth": {"id": destination, "depth": 15.0}, "tide": {"sensor": destination, "height": 0.0}}
    rows["vessel"] = {"destination": destination, "draught": draught}
    assert status(listing_6, **rows) == status(listing_6_named, **rows) == expected
    assert [each.text for each in judged(listing_6_named, **rows).failed] == (
        ["under-keel clearance >= 0.5 m"] if expected == "restricted" else []
    )


def test_listing_7_and_figure_2_2_not_of_an_equality():
    term = not_(vessel.vessel_type == "chemical").term
    assert isinstance(term, Not)
    assert isinstance(term.operand, Comparison)
    assert isinstance(term.operand.left, Observation)
    assert (term.operand.left.field, term.operand.operator) == ("vessel_type", "==")
    assert term.operand.right == Constant("chemical", vessel.vessel_type.term.kind)


def test_listing_8_every_node_has_the_kind_of_its_result():
    equal = vessel.vessel_type == "chemical"
    assert [equal.term.kind, not_(equal).term.kind] == [TRUTH, TRUTH]
    assert vessel.vessel_type.term.kind == Constant("chemical", vessel.vessel_type.term.kind).kind


def test_listing_9_a_sum_and_a_difference_keep_the_unit():
    ukc = berth.depth + tide.height - vessel.draught
    assert ukc.term.kind == metres.measure


def test_listing_10_a_length_times_a_length_is_an_area():
    area = vessel.length * vessel.beam
    assert described(area.term.kind) == "an area, in m²"


@pytest.mark.parametrize(
    ("draught", "height", "velocity", "failed"),
    [
        (6.0, -0.5, 45.0, 0),
        (6.0, -0.5, 50.0, 1),
        (15.5, 1.0, 45.0, 0),
        (15.5, -0.5, 45.0, 1),
        (15.5, -0.5, 50.0, 2),
    ],
)
def test_listing_11_clearance_matters_to_deep_ships_only(draught, height, velocity, failed):
    rows = {"berth": {"depth": 15.0}, "tide": {"height": height}, "wind": {"velocity": velocity}}
    verdict = judged(listing_11, vessel={"destination": "A", "draught": draught}, **rows)
    assert len(verdict.failed) == failed
    assert verdict.status == ("restricted" if failed else "allowed")


@pytest.mark.parametrize(("length", "expected"), [(100.0, "allowed"), (100.5, "restricted")])
def test_listings_12_and_13_need_the_ship_alone(length, expected):
    assert status(lambda: require(not_(vessel.length > 100 * metres)), vessel={"length": length}) == expected


@pytest.mark.parametrize(("height", "expected"), [(2.0, "allowed"), (-2.0, "restricted"), (-1.0, "restricted")])
def test_listings_14_to_16_draught_less_tide(height, expected):
    def rule() -> None:
        require((vessel.draught - tide.height) < 10 * metres)

    assert status(rule, vessel={"draught": 9.0}, tide={"height": height}) == expected


def test_section_5_1_nested_conditions():
    def rule() -> None:
        with when(vessel.length > 100 * metres):
            with when(vessel.beam < 15 * metres):
                require(vessel.draught < 12 * metres, name="draught")
            require(wind.velocity < 35 * knots, name="wind")

    def failed(length: float, beam: float) -> list[str]:
        ship = {"length": length, "beam": beam, "draught": 13.0}
        return [reason.name for reason in judged(rule, vessel=ship, wind={"velocity": 40.0}).failed]

    assert [failed(90.0, 10.0), failed(110.0, 20.0), failed(110.0, 10.0)] == [[], ["wind"], ["draught", "wind"]]


def test_an_else_is_two_whens_one_inverted():
    def written() -> None:
        with when(vessel.length >= 200 * metres):
            require(wind.velocity <= 35 * knots)
        with otherwise():
            require(wind.velocity <= 45 * knots)

    def spelled_out() -> None:
        with when(vessel.length >= 200 * metres):
            require(wind.velocity <= 35 * knots)
        with when(not_(vessel.length >= 200 * metres)):
            require(wind.velocity <= 45 * knots)

    assert pack(written).statements == pack(spelled_out).statements


def test_a_source_without_a_key_is_one_row_for_the_port():
    available = Source("tugs", key=None, available=int)

    def rule() -> None:
        require(available.available >= 2)

    assert status(rule, tugs={"available": 1}) == "restricted"
    assert status(rule, tugs={"available": 2}) == "allowed"
    assert status(rule) == "unknown"


def test_figure_3_1_the_latest_of_two_streams_forgets_ships_and_tables_do_not():
    """Tide 2, ship A, ship B, tide -2: the streams' combination warns B alone, a table by ship warns both."""
    ship = Source("ship", key="name", name=str, draught=metres)
    gauge = Source("gauge", key=None, height=metres)
    made = RulePack("port", subject=ship)
    with made:
        require((ship.draught - gauge.height) < 10 * metres)
    trace = [("gauge", 2.0), ("ship", "A"), ("ship", "B"), ("gauge", -2.0)]

    warnings = made.warnings()
    engine, warned = Engine(warnings), []
    for source, value in trace:
        row = {"name": value, "draught": 9.0} if source == "ship" else {"height": value}
        warned += [(e.value.key, e.value.value.status) for e in engine.push(made.sources[source], row)]
    assert sorted(warned) == [("A", "allowed"), ("A", "restricted"), ("B", "allowed"), ("B", "restricted")]

    ships, tides = Reactive("ships"), Reactive("tides")
    events = [(ships if source == "ship" else tides, value) for source, value in trace]
    results = [event.value for event in run(combine_latest(ships, tides), events)]
    assert [(name, 9.0 - height < 10) for name, height in results] == [("A", True), ("B", True), ("B", False)]


# ------------------------------------------------------------------------------------------------------- Table 2.1

SHIP = {"length": 100.0, "beam": 20.0, "draught": 8.0, "vessel_type": "tanker", "has_pilot": True, "name": "EVA"}


def value(expression: Any, **row: Any) -> Any:
    return compiled(expression.term, {"vessel": 0})(Situation([row]))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (vessel.length + vessel.beam, 120.0),  # Plus
        (vessel.length - vessel.beam, 80.0),  # Minus
        (-vessel.length, -100.0),  # Negate
        (vessel.length * vessel.beam, 2000.0),  # Times
        (vessel.length / vessel.beam, 5.0),  # Divide
        (absolute(vessel.beam - vessel.length), 80.0),  # Absolute
        (abs(vessel.beam - vessel.length), 80.0),
        (vessel.vessel_type == "tanker", True),  # Eq
        (vessel.vessel_type != "tanker", False),
        (vessel.draught < 8 * metres, False),  # LessThan
        (vessel.draught <= 8 * metres, True),  # LessOrEq
        (vessel.draught > 8 * metres, False),  # GreaterThan
        (vessel.draught >= 8 * metres, True),  # GreaterOrEq
        ((vessel.draught > 7 * metres) & (vessel.draught < 9 * metres), True),  # And
        ((vessel.draught < 7 * metres) | (vessel.draught > 9 * metres), False),  # Or
        (not_(vessel.draught < 7 * metres), True),  # Not
        (~(vessel.draught < 7 * metres), True),
        (vessel.has_pilot, True),
        (vessel.has_pilot == False, False),  # noqa: E712 - as a rule may be written
        (not_(vessel.has_pilot), False),
    ],
)
def test_table_2_1(expression, expected):
    assert value(expression, **SHIP) == expected


def test_table_2_1_observations():
    """Every observation of the table, and those used elsewhere in the thesis, with what it is measured in."""
    observed = [
        (wind.velocity, "a speed, in kn"), (wind.direction, "an angle, in °"), (tide.height, "a length, in m"),
        (tugs.available, "a plain number"), (vessel.name, "a text"), (vessel.mmsi, "a plain number"),
        (vessel.draught, "a length, in m"), (vessel.length, "a length, in m"), (vessel.beam, "a length, in m"),
        (vessel.vessel_type, "a text"), (berth.depth, "a length, in m"), (vessel.direction, "a text"),
        (vessel.destination, "a text"), (tidal_stream.rate, "a speed, in kn"),
        (tidal_stream.direction, "an angle, in °"), (tide.low_water, "a length, in m"),
    ]  # fmt: skip
    assert [described(each.term.kind) for each, _ in observed] == [kind for _, kind in observed]


# ------------------------------------------------------------------------------------------------------- Table 2.2

T, F, U = 15.0, 5.0, None  # a draught that is deep, shallow, or unknown


@pytest.mark.parametrize("guard", [T, F, U])
@pytest.mark.parametrize("held", [T, F, U])
def test_table_2_2_when_is_implication(guard, held):
    ship = {"draught": guard, "length": held}

    def written() -> None:
        with when(vessel.draught > 10 * metres):
            require(vessel.length > 10 * metres)

    def formula() -> None:
        require(not_(vessel.draught > 10 * metres) | (vessel.length > 10 * metres))

    assert status(written, vessel=ship) == status(formula, vessel=ship)


@pytest.mark.parametrize("place", ["A", "B", None])
@pytest.mark.parametrize("held", [T, F, U])
def test_table_2_2_location_is_implication(place, held):
    ship = {"destination": place, "length": held}

    def written() -> None:
        with location("A"):
            require(vessel.length > 10 * metres)

    def formula() -> None:
        require((vessel.destination != "A") | (vessel.length > 10 * metres))

    assert status(written, vessel=ship) == status(formula, vessel=ship)


@pytest.mark.parametrize("first", [T, F, U])
@pytest.mark.parametrize("second", [T, F, U])
def test_table_2_2_a_pack_is_a_conjunction(first, second):
    ship = {"draught": first, "length": second}

    def written() -> None:
        require(vessel.draught > 10 * metres)
        require(vessel.length > 10 * metres)

    def formula() -> None:
        require((vessel.draught > 10 * metres) & (vessel.length > 10 * metres))

    assert status(written, vessel=ship) == status(formula, vessel=ship)


# ------------------------------------------------------------------------------------------------------ Figure 2.3

BERTH = {"id": "A", "depth": 15.0, "position": (51.9, 4.1)}
A, B = 1, 2


def ship(mmsi: int, draught: float) -> dict[str, Any]:
    unknown = dict.fromkeys(("length", "beam", "vessel_type", "direction", "has_pilot", "name"))
    return {**unknown, "mmsi": mmsi, "draught": draught, "destination": "A"}


def gauge(height: float) -> dict[str, Any]:
    return {"sensor": "A", "height": height, "low_water": None}


def blow(velocity: float) -> dict[str, Any]:
    return {"velocity": velocity, "direction": None}


EVENTS: list[tuple[int, str, dict[str, Any]]] = [
    (0, "berth", BERTH),
    (0, "wind", blow(50.0)),
    (0, "tide", gauge(1.0)),
    (1, "vessel", ship(A, 6.0)),
    (2, "wind", blow(20.0)),
    (3, "tide", gauge(-0.5)),
    (4, "vessel", ship(B, 15.5)),
    (5, "wind", blow(50.0)),
    (6, "tide", gauge(2.0)),
    (7, "wind", blow(20.0)),
]

STATUS_CHANGES = [
    (1, A, "restricted"),
    (2, A, "allowed"),
    (4, B, "restricted"),
    (5, A, "restricted"),
    (7, A, "allowed"),
    (7, B, "allowed"),
]

TABLE_CHANGES = [
    (1, A, "restricted", {"wind"}),
    (2, A, "allowed", set()),
    (4, B, "restricted", {"clearance"}),
    (5, A, "restricted", {"wind"}),
    (5, B, "restricted", {"wind", "clearance"}),
    (6, B, "restricted", {"wind"}),
    (7, A, "allowed", set()),
    (7, B, "allowed", set()),
]


@pytest.fixture
def port() -> RulePack:
    made = RulePack(
        "port",
        subject=vessel,
        location=vessel.destination,
        links=[berth.id == vessel.destination, tide.sensor == berth.id],
    )
    with made, location("A"):
        require(wind.velocity <= 45 * knots, name="wind")
        with when(vessel.draught >= 15 * metres):
            require(berth.depth + tide.height - vessel.draught >= 0.5 * metres, name="clearance")
    return made


def test_figure_2_3_judged_event_by_event(port):
    latest: dict[str, dict[str, Any] | None] = {"berth": None, "tide": None, "wind": None}
    ships: dict[int, dict[str, Any]] = {}
    shown: dict[int, Any] = {}
    changes = []
    for at, source, row in EVENTS:
        if source == "vessel":
            ships[row["mmsi"]] = row
        else:
            latest[source] = row
        for mmsi, each in ships.items():
            verdict = port.check({"vessel": each, **latest})
            if verdict != shown.get(mmsi):
                shown[mmsi] = verdict
                changes.append((at, mmsi, verdict.status, {reason.name for reason in verdict.because}))
    assert changes == TABLE_CHANGES


def test_figure_2_3_the_values_of_the_story(port):
    rows = {"vessel": ship(B, 15.5), "berth": BERTH, "wind": blow(20.0)}
    [reason] = port.check({**rows, "tide": gauge(-0.5)}).because
    assert ("berth.depth + tide.height - vessel.draught", -1.0, "m") in reason.values
    assert port.check({**rows, "tide": gauge(2.0)}).because == ()


def run_events(port: RulePack, *, restoring: bool) -> tuple[list[Any], list[Any]]:
    table, warnings = port.table(), port.warnings()
    engine = Engine(table, warnings)
    rows, changes = [], []
    for at, source, row in EVENTS:
        for event in engine.push(port.sources[source], row, at=at):
            assert isinstance(event.value, Update)
            key, verdict = event.value.key, event.value.value
            assert verdict.subject == key
            if event.reactive == table.name:
                rows.append((at, key, verdict.status, {reason.name for reason in verdict.because}))
            else:
                changes.append((at, key, verdict.status))
        if restoring:
            engine = Engine.restore(engine.snapshot(), table, warnings)
    return rows, changes


@pytest.mark.parametrize("restoring", [False, True])
def test_figure_2_3_the_table_shows_also_the_reasons_that_change_and_the_warnings_only_the_status(port, restoring):
    rows, changes = run_events(port, restoring=restoring)
    # Of what happens at one time, the order between ships is the engine's.
    assert sorted(rows, key=lambda row: row[:2]) == TABLE_CHANGES
    assert sorted(changes) == STATUS_CHANGES
    assert [at for at, *_ in rows] == sorted(at for at, *_ in rows)
