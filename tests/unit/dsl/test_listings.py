"""The thesis's Listings 1 to 16, under their numbers (SOURCES B2, B6), judged on situations around each limit."""

from __future__ import annotations

import pytest

from dsl import Source, location, not_, otherwise, require, when
from dsl.dimensions import TRUTH, described
from dsl.statements import Conditional, Located, Requirement
from dsl.terms import Comparison, Constant, Not, Observation
from dsl.units import centimetres, knots, metres
from tests.unit.dsl.harbour import berth, judged, pack, status, tide, vessel, wind


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
    rows = {"berth": {"id": destination, "depth": 15.0}, "tide": {"sensor": destination, "height": 0.0}}
    assert status(listing_6, vessel={"destination": destination, "draught": draught}, **rows) == expected


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
