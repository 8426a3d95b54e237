"""Packs that look at rows alone, and what may be pushed into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

import dsl
from cartesius import Delete
from dsl import RulePack, Source, choice, instant, optional, position
from dsl.units import celsius, centimetres, degrees, kelvin, knots, metres

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.dsl.rule_batches import Step

ship = Source(
    "ship", key="id", id=int, berth=str, draught=metres, length=optional(metres), kind=choice("tanker", "box"),
    heading=degrees, pilot=bool, flag=str, eta=instant, pos=position, pumps=int,
)  # fmt: skip
berth = Source("berth", key="id", id=str, depth=metres, gauge=optional(str), pos=position, number=int)
gauge = Source("gauge", key="id", id=str, level=metres, low=centimetres, sensor=str)
air = Source("air", key=None, speed=knots, gust=optional(knots), direction=degrees, warmth=celsius)
SOURCES = {"ship": ship, "berth": berth, "gauge": gauge, "air": air}
KEYS = {"ship": "id", "berth": "id", "gauge": "id", "air": None}
FIELDS = {
    "ship": ["id", "berth", "draught", "length", "kind", "heading", "pilot", "flag", "eta", "pos", "pumps"],
    "berth": ["id", "depth", "gauge", "pos", "number"],
    "gauge": ["id", "level", "low", "sensor"],
    "air": ["speed", "gust", "direction", "warmth"],
}
SPOTS = {"g1": (0.0, 0.0), "g2": (0.0, 3.0)}

# -- packs -------------------------------------------------------------------------------------------------------------

_ORDERS = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip
CLEARANCE = dsl.named("clearance", berth.depth + gauge.level - ship.draught)
LENGTHS = [
    lambda: ship.draught, lambda: berth.depth, lambda: gauge.level, lambda: gauge.low, lambda: ship.length,
    lambda: CLEARANCE, lambda: 2 * metres, lambda: 350 * centimetres, lambda: berth.depth - ship.draught,
    lambda: abs(gauge.level - gauge.low), lambda: ship.draught * 2, lambda: ship.length / ship.pumps,
    lambda: ship.draught + gauge.low * 0.5, lambda: dsl.known_or(ship.length, 3 * metres), lambda: -ship.draught,
]  # fmt: skip
NUMBERS = [lambda: ship.pumps, lambda: berth.number, lambda: ship.pumps * berth.number, lambda: ship.pumps - 3]
SPEEDS = [
    lambda: air.speed, lambda: air.gust, lambda: dsl.known_or(air.gust, air.speed), lambda: 3 * knots,
    lambda: air.speed / 2,
]  # fmt: skip
ATOMS = [
    lambda: ship.kind == "tanker", lambda: ship.kind != "box", lambda: ship.flag == "NL", lambda: ship.flag != "BE",
    lambda: ship.pilot, lambda: dsl.not_(ship.pilot), lambda: dsl.known(ship.length), lambda: dsl.known(air.gust),
    lambda: dsl.between(ship.heading, 340 * degrees, 20 * degrees), lambda: ship.berth == "A",
    lambda: dsl.between(air.direction, ship.heading, 200 * degrees), lambda: berth.gauge == gauge.id,
    lambda: dsl.between(ship.draught, 1 * metres, berth.depth), lambda: dsl.between(ship.pumps, 1, 3),
    lambda: dsl.between(gauge.low, 100 * centimetres, ship.draught), lambda: dsl.known(berth.gauge),
    lambda: dsl.distance(ship.pos, berth.pos) <= 200_000 * metres, lambda: air.warmth >= 2 * celsius,
    lambda: air.warmth <= 275 * kelvin, lambda: berth.number / ship.pumps > 1,
]  # fmt: skip


@st.composite
def atoms(draw: Any) -> Any:
    sides = draw(st.sampled_from([LENGTHS, LENGTHS, NUMBERS, SPEEDS, None]))
    if sides is None:
        return draw(st.sampled_from(ATOMS))()
    first, second = draw(st.sampled_from(sides)), draw(st.sampled_from(sides))
    condition = _ORDERS[draw(st.sampled_from(sorted(_ORDERS)))](first(), second())
    return condition if isinstance(condition, dsl.Expression) else ship.pilot


@st.composite
def conditions(draw: Any) -> Any:
    match draw(st.integers(0, 6)):
        case 0:
            return dsl.not_(draw(atoms()))
        case 1:
            return draw(atoms()) & draw(atoms())
        case 2:
            return draw(atoms()) | dsl.not_(draw(atoms()))
        case 3:
            return (draw(atoms()) | draw(atoms())) & draw(atoms())
    return draw(atoms())


@st.composite
def bodies(draw: Any, depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.sampled_from(["require", "require", "when", "location"] if depth else ["require"])):
            case "require":
                found.append(("require", draw(conditions()), draw(st.sampled_from([None, None, "twice"]))))
            case "when":
                inner = draw(bodies(depth - 1))
                found.append(("when", draw(conditions()), inner, draw(bodies(0)) if draw(st.booleans()) else []))
            case "location":
                found.append(("location", draw(st.sampled_from("AB")), draw(bodies(depth - 1))))
    return found


def write(body: Sequence[Any]) -> None:
    for statement in body:
        match statement:
            case ("require", condition, name):
                dsl.require(condition, *([] if name is None else [name]))
            case ("when", condition, inner, otherwise):
                with dsl.when(condition):
                    write(inner)
                if otherwise:
                    with dsl.otherwise():
                        write(otherwise)
            case ("location", place, inner):
                with dsl.location(place):
                    write(inner)


@st.composite
def packs(draw: Any) -> RulePack:
    to_gauge = draw(
        st.sampled_from([gauge.id == berth.gauge, gauge.id == dsl.nearest(SPOTS, berth.pos), gauge.id == ship.flag])
    )
    pack = RulePack("port", subject=ship, location=ship.berth, links=[berth.id == ship.berth, to_gauge])
    with pack:
        write(draw(bodies(2)))
    return pack


# -- traces ------------------------------------------------------------------------------------------------------------


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, values, st.none())


METRES = maybe(st.sampled_from([0.0, 1.0, 2.0, 2.5, 3.5, 7.0, -0.0, float("nan"), float("inf")]))
SPOT = maybe(st.sampled_from([(0.0, 0.1), (0.0, 3.0), (4.0, 1.1)]))
ANGLE = maybe(st.sampled_from([0.0, 20.0, 90.0, 350.0, 360.0]))
ROWS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "ship": st.fixed_dictionaries(
        {
            "id": st.integers(1, 4), "berth": maybe(st.sampled_from("ABC")), "draught": METRES, "length": METRES,
            "kind": maybe(st.sampled_from(["tanker", "box", "Tanker"])), "heading": ANGLE,
            "pilot": maybe(st.booleans()),
            "flag": maybe(st.sampled_from(["NL", "g1", "g2"])), "eta": maybe(st.integers(0, 9)), "pos": SPOT,
            "pumps": maybe(st.integers(0, 4)),
        }
    ),
    "berth": st.fixed_dictionaries(
        {
            "id": st.sampled_from("AB"), "depth": METRES, "gauge": maybe(st.sampled_from(["g1", "g2"])), "pos": SPOT,
            "number": maybe(st.integers(0, 5)),
        }
    ),
    "gauge": st.fixed_dictionaries(
        {"id": st.sampled_from(["g1", "g2"]), "level": METRES, "low": METRES, "sensor": maybe(st.just("s"))}
    ),
    "air": st.fixed_dictionaries(
        {"speed": METRES, "gust": METRES, "direction": ANGLE, "warmth": maybe(st.sampled_from([1.85, 2.0, 30.0]))}
    ),
}  # fmt: skip


@st.composite
def steps(draw: Any) -> Step:
    name = draw(st.sampled_from(["ship", "ship", "ship", "ship", "berth", "gauge", "air"]))
    drawn = draw(ROWS[name])
    row = {field: drawn[field] for field in FIELDS[name]}  # hypothesis draws them in any order
    at = draw(st.integers(0, 20))
    if draw(st.integers(0, 7)) == 0:
        return name, Delete(() if KEYS[name] is None else row[KEYS[name] or ""]), at
    return name, row, at


TRACES = st.lists(steps(), min_size=1, max_size=16)
