"""`between`, against its meaning: walking clockwise, degree by degree; and on a line, against comparisons."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.columns.results import events_of
from dsl import DimensionMismatch, InvalidRule, RulePack, Source, between, require
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.margins import margin
from dsl.terms.dimensions import turn
from dsl.units import degrees, metres, radians, unit
from tests.unit.dsl.harbour import berth, status, tugs, vessel, wind


def in_range(of, bounds=None):
    """Return what `between` says of a value in a unit and two bounds, in the same or another."""
    given = Source("given", key=None, value=of, low=bounds or of, high=bounds or of)
    evaluate = compiled(between(given.value, given.low, given.high).term, {"given": 0})
    return lambda value, low, high: evaluate(Situation([{"value": value, "low": low, "high": high}]))


around, on_a_line, in_radians = in_range(degrees), in_range(metres), in_range(radians)


def walk(value: int, low: int, high: int) -> bool:
    """Whether the needle meets ``value`` on its way clockwise from ``low`` to ``high``; a whole turn meets all."""
    if low != high and low % 360 == high % 360:
        return True
    needle = low % 360
    while needle != value % 360:
        if needle == high % 360:
            return False
        needle = (needle + 1) % 360
    return True


angles = st.one_of(st.integers(-720, 720), st.sampled_from([-360, -90, -1, 0, 1, 90, 180, 359, 360, 361, 720]))


@given(angles, angles, angles)
def test_an_angle_is_met_on_the_way_clockwise(value, low, high):
    assert around(value, low, high) == walk(value, low, high)
    assert around(float(value), float(low), float(high)) == walk(value, low, high)


@given(angles, angles, angles)
def test_radians_mean_the_same(value, low, high):
    assert in_radians(*(math.radians(each) for each in (value, low, high))) == walk(value, low, high)


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (340, 340, 20, True), (20, 340, 20, True), (0, 340, 20, True), (360, 340, 20, True), (-20, 340, 20, True),
        (339, 340, 20, False), (21, 340, 20, False), (180, 340, 20, False), (180, 20, 340, True), (10, 20, 340, False),
        (90, 90, 90, True), (91, 90, 90, False), (450, 90, 90, True), (5, 0, 360, True), (5, -180, 180, True),
        (0, 360, 0, True), (5, 0, 0, False), (360, 0, 0, True),
    ],
)  # fmt: skip
def test_directions_by_hand(value, low, high, expected):
    assert around(value, low, high) is expected


COMPASS = Source("compass", key="id", id=int, value=degrees, low=degrees, high=degrees)
SECTORS = list(product((-350, -10, 0, 30, 350, 370), repeat=3))


@pytest.mark.parametrize(
    ("make", "type_"),
    [(int, pa.int64()), (float, pa.float64()), (Decimal, pa.decimal128(10, 2)), (Decimal, None)],
    ids=["int", "float", "decimal128", "Decimal"],
)
def test_every_type_of_number_turns_alike_in_rows_columns_and_margins(make, type_):
    """The remainder of a Decimal has the sign of what is divided, so 30 was between 40 and 50, and allowed."""
    pack = RulePack("sectors", subject=COMPASS)
    with pack:
        require(between(COMPASS.value, COMPASS.low, COMPASS.high), "sector")
    expected = {}
    for number, (value, low, high) in enumerate(SECTORS):
        beyond = min((low - value) % 360, (value - high) % 360)
        expected[number] = None if walk(value, low, high) else -beyond
    rows = [
        {"id": number, **{name: make(angle) for name, angle in zip(("value", "low", "high"), each, strict=True)}}
        for number, each in enumerate(SECTORS)
    ]
    assert {row["id"]: room(pack.check({"compass": row})) for row in rows} == expected
    engine, source = Engine(pack.table(), lateness=0), pack.sources["compass"]
    times = range(1, len(rows) + 1)
    if type_ is None:
        pushed = [out for time, row in zip(times, rows, strict=True) for out in engine.push(source, row, at=time)]
        pushed.extend(engine.advance(len(rows) + 1))
    else:
        values = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
        columns = pa.table({name: each.cast(type_) if name != "id" else each for name, each in values.items()})
        batch = {"value": columns.to_struct_array(), "at": pa.array(times), "order": pa.array(range(len(rows)))}
        pushed = events_of(engine.push_many({source: pa.table(batch)}))
    assert {out.value.key: room(out.value.value) for out in pushed} == expected


def room(verdict):
    """The margin of the one requirement, if it fails."""
    return None if verdict.status == "allowed" else verdict.because[0].margin[0]


def test_a_decimal_meets_bounds_that_are_floats():
    """It raised: Python subtracts no float from a Decimal."""
    condition = between(COMPASS.value, 350.5 * degrees, 10.5 * degrees).term
    inside = compiled(condition, {"compass": 0})
    assert [inside(Situation([{"value": Decimal(each)}])) for each in ("0", "10.5", "10.6", "-9.5")] == [
        True, True, False, True,
    ]  # fmt: skip


WHOLE_TURNS = {name: unit(name) for name in ("degree", "arcminute", "gradian", "turn")}


@pytest.mark.parametrize(("own", "other"), list(product(WHOLE_TURNS, repeat=2)))
def test_a_value_on_a_bound_is_inside_whatever_unit_that_is_in(own, other):
    """Arcminutes are converted to degrees by a division, which is rounded: every third one on a bound was outside."""
    inside = in_range(WHOLE_TURNS[own], WHOLE_TURNS[other])
    a, b = (round(turn(WHOLE_TURNS[each].measure) or 0) for each in (own, other))
    for step in range(0, 3600, 7):
        low, high = step / 3600 * b, (step + 100) / 3600 * b
        assert inside(step / 3600 * a, low, high), (step, "low")
        assert inside((step + 100) / 3600 * a, low, high), (step, "high")
        assert not inside((step + 101) / 3600 * a, low, high), step


def test_decimals_of_one_unit_are_exact():
    bound = Decimal("10.00000000000001")
    assert not around(bound, 0, Decimal(10))
    assert around(bound, 0, bound)


def a_bit(value, way):
    """The float next to a value in a direction, or itself."""
    return math.nextafter(value, way * math.inf) if way else value


@pytest.mark.parametrize("units", list(product((radians, degrees), repeat=3))[:-1], ids=str)
@pytest.mark.parametrize("turns", [0, 1, -1])
@given(direction=st.integers(0, 359), off=st.integers(-179, 180), bits=st.tuples(*[st.sampled_from([-1, 0, 1])] * 3))
@settings(max_examples=25)
def test_bounds_that_differ_by_rounding_are_one_direction_and_a_turn_apart_all(units, turns, direction, off, bits):
    """The bounds of a whole circle in radians were told from one direction by whether they are equal to the bit."""
    given_by = [(direction + off, bits[0]), (direction, bits[1]), (direction + 360 * turns, bits[2])]
    row = {
        name: a_bit(math.radians(angle) if of == radians else float(angle), bit)
        for name, of, (angle, bit) in zip("abc", units, given_by, strict=True)
    }
    source = Source("given", key=None, **dict(zip("abc", units, strict=True)))
    condition = between(source.a, source.b, source.c)
    expected = bool(turns) or off == 0
    assert compiled(condition.term, {"given": 0})(Situation([row])) is expected
    found = margin(condition.term, {"given": 0})
    assert found is not None
    room = found[0](Situation([row]))
    assert room is None if turns else (room >= 0) is expected


missing = st.one_of(st.none(), st.integers(-3, 3))


@given(missing, missing, missing)
def test_on_a_line_it_is_kleenes_conjunction_of_two_comparisons(value, low, high):
    above = None if value is None or low is None else low <= value
    below = None if value is None or high is None else value <= high
    expected = False if False in (above, below) else None if None in (above, below) else True
    assert on_a_line(value, low, high) is expected


@given(missing, missing, missing)
def test_around_the_circle_nothing_is_known_without_all_three(value, low, high):
    assert (around(value, low, high) is None) == (None in (value, low, high))


def test_a_whole_turn_in_each_unit():
    assert turn(degrees.measure) == 360
    assert turn(radians.measure) == 2 * math.pi
    assert turn(unit("turn").measure) == 1
    assert turn(metres.measure) is None


def test_a_rule_between_directions():
    def rule() -> None:
        require(between(wind.direction, 340 * degrees, 20 * degrees))

    seen = [status(rule, wind={"direction": value}) for value in (350, 0, 360, 21, None)]
    assert seen == ["allowed", "allowed", "allowed", "restricted", "unknown"]


def test_bounds_in_another_unit_and_bounds_that_are_observed():
    from dsl.units import centimetres

    def constant() -> None:
        require(between(vessel.draught, 300 * centimetres, 9 * metres))

    def observed() -> None:
        require(between(vessel.draught, 0 * metres, berth.depth))

    assert [status(constant, vessel={"draught": each}) for each in (2.9, 3.0, 9.0, 9.1)] == [
        "restricted", "allowed", "allowed", "restricted",
    ]  # fmt: skip
    assert status(observed, vessel={"draught": 9.0}, berth={"depth": 9.0}) == "allowed"
    assert status(observed, vessel={"draught": -1.0}) == "restricted"  # whatever the depth is
    assert status(observed, vessel={"draught": 9.0}) == "unknown"


def test_numbers_have_a_range_too():
    assert status(lambda: require(between(tugs.available, 2, 4)), tugs={"available": 2}) == "allowed"


def test_what_has_no_range_is_refused():
    for wrong in (lambda: between(vessel.vessel_type, "a", "b"), lambda: between(vessel.has_pilot, False, True)):
        with pytest.raises(DimensionMismatch, match="between: expected a quantity or an instant"):
            wrong()
    with pytest.raises(InvalidRule, match="lower bound first"):
        between(vessel.draught, 9 * metres, 300 * unit("centimetre"))
    with pytest.raises(InvalidRule, match="within one turn"):
        between(wind.direction, -10 * degrees, 351 * degrees)
    assert repr(between(wind.direction, -10 * degrees, 350 * degrees)) == "between(wind.direction, -10°, 350°)"


@pytest.mark.parametrize(
    ("heading", "expected"), [(350, True), (20, True), (340, True), (21, False), (-15, True), (375, True)]
)
def test_a_field_in_radians_between_bounds_in_degrees(heading, expected):
    compass = Source("compass", key=None, heading=radians)
    condition = between(compass.heading, 340 * degrees, 20 * degrees)
    evaluate = compiled(condition.term, {"compass": 0})
    assert evaluate(Situation([{"heading": math.radians(heading)}])) is expected
