"""What rules say by name, and the fields they need: optional ones, choices, positions."""

from __future__ import annotations

import copy
import enum
import math
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from cartesius import Engine
from dsl import (
    DimensionMismatch,
    InvalidRule,
    RulePack,
    Source,
    between,
    choice,
    distance,
    instant,
    known,
    known_or,
    location,
    named,
    not_,
    optional,
    position,
    require,
    when,
)  # fmt: skip
from dsl.declarations.sources import declaration
from dsl.terms.dimensions import Choice, described
from dsl.units import centimetres, hours, kilometres, knots, metres, metres_per_second, nautical_miles


class Cargo(enum.Enum):
    """An Enum whose values are the texts."""

    OIL = "oil"
    GRAIN = "grain"


class Flag(enum.StrEnum):
    """An Enum of texts."""

    NL = "nl"
    BE = "be"


class Side(str, enum.Enum):  # noqa: UP042 - as people wrote it before StrEnum
    """A text that is an Enum."""

    PORT = "port"
    STARBOARD = "starboard"


ship = Source(
    "ship", key="id",
    id=int, eta=optional(instant), due=instant, gust=optional(knots), wind=knots, kind=choice("tanker", "container"),
    cargo=choice(Cargo), flag=choice(Flag), side=choice(Side), place=optional(position), quay=choice("A", "B"),
    length=metres, where=position,
)  # fmt: skip
other = Source("other", key=None, kind=choice("container", "barge"), name=str, where=position)


def verdict(condition: Any, **row: Any) -> Any:
    made = RulePack("port", subject=ship, location=ship.quay)
    with made:
        require(condition)
    rows: dict[str, Any] = {"ship": {"id": 1, **row}}
    if "other" in made.sources:
        rows["other"] = row.pop("other", {})
        rows["ship"].pop("other", None)
    return made.check(rows)


def status(condition: Any, **row: Any) -> str:
    return str(verdict(condition, **row).status)


# ------------------------------------------------------------------------------------------------- optional fields


def test_known_says_whether_an_optional_field_has_a_value():
    assert [status(known(ship.gust), gust=gust) for gust in (30, 0, None, math.nan)] == [
        "allowed", "allowed", "restricted", "restricted",
    ]  # fmt: skip
    assert status(not_(known(ship.gust))) == "allowed"
    assert status(known(ship.place), place=(1.0, 2.0)) == "allowed"


def test_without_a_row_it_is_unknown_whether_a_field_is_known():
    gauge = Source("gauge", key="id", id=int, height=optional(metres))
    made = RulePack("port", subject=ship, links=[gauge.id == ship.id])
    with made:
        require(known(gauge.height))
    assert made.check({"ship": {"id": 1}}).status == "unknown"
    assert made.check({"ship": {"id": 1}}).because[0].missing == ("gauge",)
    assert made.check({"ship": {"id": 1}, "gauge": {}}).status == "restricted"


def test_coalesce_takes_the_default_where_the_field_has_no_value():
    calm = known_or(ship.gust, ship.wind) <= 30 * knots
    assert status(calm, gust=40, wind=20) == "restricted"
    assert status(calm, wind=20) == "allowed"
    assert status(calm, wind=40) == "restricted"
    assert verdict(calm).because[0].missing == ("ship.gust", "ship.wind")
    assert status(known_or(ship.gust, 10 * metres_per_second) >= 19 * knots) == "allowed"
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert status(known_or(ship.eta, ship.due) >= ship.due, due=noon) == "allowed"


def test_what_has_a_default_is_not_said_to_be_missing():
    """The gust that a coalesce does without is not why the condition is undecided."""
    condition = known_or(ship.gust, 10 * knots) * (1 * hours) <= ship.length
    assert verdict(condition).because[0].missing == ("ship.length",)


def test_a_comparison_with_a_missing_optional_field_is_unknown():
    assert verdict(ship.gust <= 30 * knots).because[0].missing == ("ship.gust",)
    assert status(not_(known(ship.gust)) | (ship.gust <= 30 * knots)) == "allowed"


def test_a_row_may_lack_an_optional_field_in_an_engine():
    calm = RulePack("calm", subject=Source("boat", key="id", id=int, gust=optional(knots), wind=knots))
    boat = Source("boat", key="id", id=int, gust=optional(knots), wind=knots)
    with calm:
        require(known_or(boat.gust, boat.wind) <= 30 * knots)
        require(known(boat.gust), severity="minor")
    table = calm.table()
    engine = Engine(table)
    seen = [
        event.value.value
        for row in ({"id": 1, "wind": 20}, {"id": 1, "wind": 40}, {"id": 1, "wind": 40, "gust": 25})
        for event in engine.push(calm.sources["boat"], row)
    ]
    assert [(each.status, len(each.failed)) for each in seen] == [("restricted", 1), ("restricted", 2), ("allowed", 0)]


def test_only_optional_fields_may_be_asked():
    for wrong in (
        lambda: known(ship.wind),
        lambda: known_or(ship.wind, 3 * knots),
        lambda: known(ship.gust + ship.wind),
        lambda: known_or(3 * knots, ship.gust),
    ):
        with pytest.raises(InvalidRule, match="expected an optional field"):
            wrong()
    with pytest.raises(DimensionMismatch, match="a speed and a length"):
        known_or(ship.gust, 3 * metres)


# ----------------------------------------------------------------------------------------------------------- choices


@pytest.mark.parametrize(
    ("condition", "row", "expected"),
    [
        (ship.kind == "tanker", {"kind": "tanker"}, "allowed"),
        (ship.kind == "tanker", {"kind": "container"}, "restricted"),
        (ship.kind != "tanker", {"kind": None}, "unknown"),
        (ship.cargo == Cargo.OIL, {"cargo": "oil"}, "allowed"),
        (ship.cargo == Cargo.OIL, {"cargo": Cargo.GRAIN}, "restricted"),
        (ship.flag == Flag.NL, {"flag": Flag.NL}, "allowed"),
        (ship.flag == "be", {"flag": "nl"}, "restricted"),
        (ship.side == Side.PORT, {"side": Side.PORT}, "allowed"),
        (ship.kind == other.kind, {"kind": "container", "other": {"kind": "container"}}, "allowed"),
        (ship.kind == other.name, {"kind": "container", "other": {"name": "tanker"}}, "restricted"),
    ],
)
def test_a_choice_compares_with_its_members(condition, row, expected):
    assert status(condition, **row) == expected


def test_a_member_of_an_enum_is_written_as_its_text():
    assert [repr(each) for each in (ship.cargo == Cargo.OIL, ship.flag == Flag.NL, ship.side == Side.PORT)] == [
        'ship.cargo == "oil"', 'ship.flag == "nl"', 'ship.side == "port"',
    ]  # fmt: skip


def test_a_value_that_is_no_member_is_missing_not_different():
    """In an engine, where rows are not checked: "Tanker" must not pass for no tanker."""
    made = RulePack("port", subject=ship)
    with made:
        require(ship.kind != "tanker")
    [event] = Engine(made.table()).push(
        made.sources["ship"],
        dict.fromkeys(field for field, _ in declaration(ship).fields) | {"id": 1, "kind": "Tanker"},
    )
    assert (event.value.value.status, event.value.value.because[0].missing) == ("unknown", ("ship.kind",))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ship.kind == "tankr",
        lambda: ship.kind == 3,
        lambda: ship.kind == 3 * metres,
        lambda: ship.kind == ship.length,
        lambda: ship.kind == ship.cargo,
        lambda: ship.kind == Cargo.OIL,
        lambda: ship.kind < "tanker",
        lambda: ship.kind + "s",
        lambda: ship.kind & (ship.length > 3 * metres),
        lambda: between(ship.kind, "a", "z"),
    ],
)
def test_a_choice_against_anything_else_is_refused(wrong):
    with pytest.raises(DimensionMismatch, match="fix: "):
        wrong()


def test_a_location_that_is_a_choice_knows_its_members():
    made = RulePack("port", subject=ship, location=ship.quay)
    with made, location("A"):
        require(ship.length <= 100 * metres)
    with pytest.raises(DimensionMismatch, match=r'expected a member of ship\.quay but got "C"'), made, location("C"):
        pass


def test_a_choice_as_a_type():
    assert described(ship.kind.term.kind) == 'a choice of "tanker", "container"'
    assert ship.cargo.term.kind == Choice("choice", ("oil", "grain"))
    assert pickle.loads(pickle.dumps(ship.kind.term)) == ship.kind.term == copy.deepcopy(ship.kind.term)
    assert Source("x", key="id", id=choice("a", "b")).id.term.kind == choice("a", "b")
    for wrong in ((), ("a", "a"), (3,), ("",), ("a", None), (enum.Enum("Number", {"ONE": 1}),)):
        with pytest.raises(InvalidRule, match="choice: expected different texts"):
            choice(*wrong)
    with pytest.raises(InvalidRule, match=r"(?s)but got cargo=.*fix: cargo=choice\(Cargo\)"):
        Source("x", key=None, cargo=Cargo)  # type: ignore[arg-type]  # wrong on purpose


# ------------------------------------------------------------------------------------------------- names and distances


def test_a_name_stands_for_its_expression():
    double = named("twice the length", 2 * ship.length)
    assert repr(double + 1 * metres <= 100 * metres) == "twice the length + 1 m <= 100 m"
    reason = verdict(double <= 100 * metres, length=60.0).because[0]
    assert reason.text == "twice the length <= 100 m"
    assert reason.values == (("ship.length", 60.0, "m"), ("twice the length", 120.0, "m"), ("100 m", 100, "m"))
    assert status(named("long", ship.length > 50 * metres), length=60.0) == "allowed"
    limit = named("the limit", 50 * centimetres)
    assert status(ship.length <= limit, length=0.5) == "allowed"
    assert status(ship.length <= limit + 1 * metres, length=1.5) == "allowed"


def test_a_named_condition_may_be_a_guard():
    made = RulePack("port", subject=ship)
    with made, when(named("a long ship", ship.length > 50 * metres)):
        require(ship.wind <= 30 * knots)
    assert made.check({"ship": {"id": 1, "length": 60.0, "wind": 40.0}}).status == "restricted"


@pytest.mark.parametrize("name", ["", " ", 3, None, ship.length])
def test_a_name_is_a_text(name):
    with pytest.raises(InvalidRule, match="named: expected a name"):
        named(name, ship.length)


def test_a_distance_is_a_length_on_the_sphere():
    near = distance(ship.where, other.where)
    assert described(near.term.kind) == "a length, in m"
    degree = 6_371_008.8 * math.pi / 180  # along a meridian, or the equator
    for there in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)):
        row = {"where": (0.0, 0.0), "other": {"where": there}}
        assert status(near <= (degree + 1) * metres, **row) == "allowed"
        assert status(near <= (degree - 1) / 1000 * kilometres, **row) == "restricted"
        assert status(near <= 61 * nautical_miles, **row) == "allowed"
    assert status(near <= 61 * nautical_miles, where=(0.0, 0.0)) == "unknown"


@pytest.mark.parametrize("wrong", [lambda: distance(ship.length, ship.where), lambda: distance(ship.where, ship.kind)])
def test_a_distance_is_of_two_positions(wrong):
    with pytest.raises(DimensionMismatch, match="distance: expected two positions"):
        wrong()


# -------------------------------------------------------------------------------------------------------- requirements


def test_severity_and_reference_are_said_and_change_nothing():
    made = RulePack("port", subject=ship)
    with made:
        require(ship.length <= 50 * metres, severity="minor", reference="Port Regulations 4.2")
        require(ship.length <= 60 * metres, severity="critical")
        require(ship.length <= 70 * metres)
    found = made.check({"ship": {"id": 1, "length": 65.0}})
    assert found.status == "restricted"
    assert [(each.severity, each.reference) for each in found.failed] == [
        ("minor", "Port Regulations 4.2"), ("critical", None),
    ]  # fmt: skip
    assert found.severity == "critical"
    assert made.check({"ship": {"id": 1, "length": 55.0}}).severity == "minor"
    assert made.check({"ship": {"id": 1, "length": 45.0}}).severity is None
    assert made.check({"ship": {"id": 1}}).severity is None


@pytest.mark.parametrize("severity", ["", "Major", "grave", None, 3, ["major"]])
def test_a_severity_is_one_of_three(severity):
    with pytest.raises(InvalidRule, match="require: expected a severity"), RulePack("port", subject=ship):
        require(ship.length <= 50 * metres, severity=severity)


def test_a_reference_is_a_text():
    with pytest.raises(InvalidRule, match="expected a text but got reference=3"), RulePack("port", subject=ship):
        require(ship.length <= 50 * metres, reference=3)  # type: ignore[arg-type]  # wrong on purpose
