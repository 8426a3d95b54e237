"""Random packs of rules, and rows for them: what the bridge runs most, drawn for its law.

A ship is judged by its own fields, by the berth that it names, by the gauge that the berth's number computes, by the
weather of the port, which may be too old, by the clock, by what is forecast, and by totals over buoys. Any of them may
be missing, in part or at all, and go away again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from dsl import (
    RulePack,
    Source,
    against,
    another,
    between,
    choice,
    instant,
    known,
    known_or,
    location,
    not_,
    now,
    number_of,
    optional,
    otherwise,
    require,
    sum_of,
    throughout,
    when,
)
from dsl.units import centimetres, knots, metres, seconds
from restrictions.tables import map_table
from tests.laws.bridge_programs import START, Drawn
from tests.laws.spark_model import Row
from tests.oracle.tier_programs import Case

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from cartesius import Reactive
    from dsl.judgements.passing import Passage

ship = Source(
    "ship",
    key="mmsi",
    mmsi=int,
    berth=str,
    draught=metres,
    length=metres,
    cargo=choice("oil", "gas", "grain"),
    eta=instant,
)
berth = Source("berth", key="name", name=str, depth=metres, number=int)
gauge = Source("gauge", key="id", id=int, height=metres)
air = Source("air", key=None, wind=knots, gust=optional(knots), stale_after=4 * seconds)
buoy = Source("buoy", key="id", id=int, near=str, drift=metres, lit=bool)
tide = Source("tide", key=None, level=metres, forecast=True)

SECOND = 1_000_000
AT, GONE = t.StructField("at", t.TimestampType()), t.StructField("gone", t.BooleanType())
LONG, DOUBLE, TEXT = t.LongType(), t.DoubleType(), t.StringType()
COLUMNS: dict[str, dict[str, tuple[t.DataType, list[Any]]]] = {
    "ship": {
        "mmsi": (LONG, [1, 2, 3, 2**53 + 1]),
        "berth": (TEXT, ["A", "B", "C", None]),
        "draught": (DOUBLE, [2.0, 5.5, 9.25, None, float("nan")]),
        "length": (DOUBLE, [50.0, 120.0, 300.0, None]),
        "cargo": (TEXT, ["oil", "gas", "grain", "coal", None]),
        "eta": (LONG, [START + SECOND * number for number in (2, 7, 15, 40)] + [None]),
    },
    "berth": {
        "name": (TEXT, ["A", "B"]),
        "depth": (DOUBLE, [5.0, 10.0, None, 6.0]),
        "number": (LONG, [0, 1, None]),
    },
    "gauge": {"id": (LONG, [1, 2]), "height": (DOUBLE, [0.0, 0.75, -0.5, None])},
    "buoy": {
        "id": (LONG, [1, 2, 3]),
        "near": (TEXT, ["A", "B", None]),
        "drift": (DOUBLE, [0.1, 2.5, 0.7, None]),
        "lit": (t.BooleanType(), [True, True, False, None]),
    },
    "tide": {
        "level": (DOUBLE, [0.5, 2.0, None]),
        "issued": (LONG, [START, START + SECOND]),
        "start": (LONG, [START + SECOND * number for number in (0, 5, 12)]),
        "end": (LONG, [START + SECOND * number for number in (6, 14, 30)]),
    },
    "air": {"wind": (DOUBLE, [5.0, 20.0, 40.0, None]), "gust": (DOUBLE, [None, 30.0, 60.0])},
}
CONDITIONS = [
    lambda: ship.draught >= 5 * metres,
    lambda: ship.length <= 200 * metres,
    lambda: berth.depth - ship.draught >= 50 * centimetres,
    lambda: berth.depth + gauge.height - ship.draught >= 1 * metres,
    lambda: gauge.height >= 0 * metres,
    lambda: air.wind <= 30 * knots,
    lambda: known_or(air.gust, air.wind) <= 40 * knots,
    lambda: known(air.gust),
    lambda: ship.cargo != "oil",
    lambda: between(ship.length, 60 * metres, 15000 * centimetres),
    lambda: berth.number == 1,
    lambda: ship.eta - now <= 8 * seconds,
    lambda: now <= ship.eta,
    lambda: tide.at(ship.eta).level >= 1 * metres,
    lambda: throughout(ship.eta, ship.eta + 5 * seconds)(tide.level >= 1 * metres),
    lambda: berth.depth + tide.at(ship.eta - 3 * seconds).level >= ship.draught,
]
TOTALS = [
    lambda: number_of(buoy, where=buoy.lit) >= 2,
    lambda: sum_of(buoy.drift, where=(buoy.near == ship.berth) & buoy.lit) <= 3 * metres,
]


def condition(draw: random.Random, depth: int = 2, *, with_totals: bool = True) -> Any:
    """A comparison, or some of them put together."""
    kind = draw.randrange(6) if depth else 0
    inner = [condition(draw, depth - 1, with_totals=with_totals) for _ in range(2)] if 0 < kind < 4 else []
    if kind == 1:
        return not_(inner[0])
    if kind == 2:
        return inner[0] & inner[1]
    if kind == 3:
        return inner[0] | inner[1]
    return draw.choice([*CONDITIONS, *(TOTALS if with_totals else ())])()


def write(draw: random.Random, names: list[str], depth: int = 2) -> None:
    """Write some rules, in blocks within blocks."""
    for _ in range(draw.randint(1, 2)):
        kind = draw.randrange(6) if depth else 0
        if kind == 1:
            with when(condition(draw)):
                write(draw, names, depth - 1)
            if draw.random() < 0.5:
                with otherwise():
                    write(draw, names, depth - 1)
        elif kind == 2:
            with location(draw.choice(["A", "B"])):
                write(draw, names, depth - 1)
        else:
            names.append(f"rule {len(names)}")
            require(condition(draw), name=names[-1], because=draw.choice([None, "it is written"]))


def pack(draw: random.Random) -> RulePack:
    """A pack about ships, of which some are not considered."""
    only = condition(draw, 1, with_totals=False) if draw.random() < 0.3 else None
    found = RulePack(
        "port",
        subject=ship,
        location=ship.berth,
        links=[berth.name == ship.berth, gauge.id == berth.number + 1],
        only=only,
    )
    with found:
        write(draw, [])
    return found


def drawn_pack(draw: random.Random, amount: int) -> Drawn:
    """A pack, with its table, its warnings or both, and rows."""
    made = pack(draw)
    outputs = draw.choice([(made.table(),), (made.warnings(),), (made.table(), made.warnings())])
    return drawn_rows(draw, made, outputs, amount, {})


def windows() -> tuple[RulePack, Reactive]:
    """A pack, and when a ship could come."""
    found = RulePack("windows", subject=ship, links=[berth.name == ship.berth])
    with found:
        require(berth.depth + tide.at(ship.eta).level >= ship.draught)
        require(ship.length <= 200 * metres)
    return found, map_table(found.next_window(ship, within=20 * seconds), opening)


def opening(window: Passage | None) -> dict[str, int | None]:
    """When a window opens and closes, under names that the bridge has no columns of."""
    return {"opens": window.start if window else None, "closes": window.end if window else None}


def fleets() -> tuple[RulePack, Reactive]:
    """A pack about ships and each other."""
    other = another(ship, "other")
    found = RulePack("fleets", subject=ship)
    with found:
        require(number_of(gauge, where=gauge.height >= 0 * metres) >= 1)
        with against(other, where=other.berth == ship.berth):
            require(other.length + ship.length <= 200 * metres)
    return found, found.table()


def drawn_rows(
    draw: random.Random,
    made: RulePack,
    outputs: tuple[Reactive, ...],
    amount: int,
    given: Mapping[str, t.StructType],
) -> Drawn:
    """Rows for a pack."""
    schemas = {
        name: t.StructType(
            [
                AT,
                *(t.StructField(field, kind) for field, (kind, _) in COLUMNS[name].items()),
                *([GONE] if reactive.table else []),
            ]
        )
        for name, reactive in made.sources.items()
    }
    rows, moment = [], 1
    for place in range(amount):
        name = draw.choice([*made.sources, "ship"])
        columns = {field: draw.choice(values) for field, (_, values) in COLUMNS[name].items()}
        moment += draw.randrange(3)
        rows.append(Row(name, START + moment * SECOND, columns | {"gone": draw.random() < 0.15}, place))
    return Drawn(Case("pack", tuple(made.sources.values()), outputs), outputs, given, schemas, tuple(rows), SECOND)
