"""Random packs of rules, and rows for them: what the bridge runs most, drawn for its law.

A ship is judged by its own fields, by the berth that it names, by the gauge that the berth's number computes, and by
the weather of the port. Any of them may be missing, in part or at all, and go away again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from dsl import RulePack, Source, between, choice, coalesce, known, location, not_, optional, otherwise, require, when
from dsl.units import centimetres, knots, metres
from tests.laws.bridge_programs import START, Drawn
from tests.laws.spark_model import Row
from tests.oracle.tier_programs import Case

if TYPE_CHECKING:
    import random

ship = Source(
    "ship", key="mmsi", mmsi=int, berth=str, draught=metres, length=metres, cargo=choice("oil", "gas", "grain")
)
berth = Source("berth", key="name", name=str, depth=metres, number=int)
gauge = Source("gauge", key="id", id=int, height=metres)
air = Source("air", key=None, wind=knots, gust=optional(knots))

AT, GONE = t.StructField("at", t.TimestampType()), t.StructField("gone", t.BooleanType())
LONG, DOUBLE, TEXT = t.LongType(), t.DoubleType(), t.StringType()
COLUMNS: dict[str, dict[str, tuple[t.DataType, list[Any]]]] = {
    "ship": {
        "mmsi": (LONG, [1, 2, 3, 2**53 + 1]),
        "berth": (TEXT, ["A", "B", "C", None]),
        "draught": (DOUBLE, [2.0, 5.5, 9.25, None, float("nan")]),
        "length": (DOUBLE, [50.0, 120.0, 300.0, None]),
        "cargo": (TEXT, ["oil", "gas", "grain", "coal", None]),
    },
    "berth": {
        "name": (TEXT, ["A", "B"]),
        "depth": (DOUBLE, [5.0, 10.0, None, 6.0]),
        "number": (LONG, [0, 1, None]),
    },
    "gauge": {"id": (LONG, [1, 2]), "height": (DOUBLE, [0.0, 0.75, -0.5, None])},
    "air": {"wind": (DOUBLE, [5.0, 20.0, 40.0, None]), "gust": (DOUBLE, [None, 30.0, 60.0])},
}
CONDITIONS = [
    lambda: ship.draught >= 5 * metres,
    lambda: ship.length <= 200 * metres,
    lambda: berth.depth - ship.draught >= 50 * centimetres,
    lambda: berth.depth + gauge.height - ship.draught >= 1 * metres,
    lambda: gauge.height >= 0 * metres,
    lambda: air.wind <= 30 * knots,
    lambda: coalesce(air.gust, air.wind) <= 40 * knots,
    lambda: known(air.gust),
    lambda: ship.cargo != "oil",
    lambda: between(ship.length, 60 * metres, 15000 * centimetres),
    lambda: berth.number == 1,
]


def condition(draw: random.Random, depth: int = 2) -> Any:
    """A comparison, or some of them put together."""
    kind = draw.randrange(6) if depth else 0
    if kind == 1:
        return not_(condition(draw, depth - 1))
    if kind == 2:
        return condition(draw, depth - 1) & condition(draw, depth - 1)
    if kind == 3:
        return condition(draw, depth - 1) | condition(draw, depth - 1)
    return draw.choice(CONDITIONS)()


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
    only = condition(draw, 1) if draw.random() < 0.3 else None
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
    schemas = {
        name: t.StructType([AT, *(t.StructField(field, kind) for field, (kind, _) in COLUMNS[name].items()), GONE])
        for name in made.sources
    }
    rows, now, unit = [], 1, draw.choice([1_000, 1_000_000, 700])
    for place in range(amount):
        name = draw.choice([*made.sources, "ship"])
        columns = {field: draw.choice(values) for field, (_, values) in COLUMNS[name].items()}
        now = now + draw.randrange(3)
        rows.append(Row(name, START + now * unit, columns | {"gone": draw.random() < 0.15}, place))
    return Drawn(Case("pack", tuple(made.sources.values()), outputs), outputs, {}, schemas, tuple(rows), unit)
