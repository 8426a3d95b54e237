"""Instances of a declared type are made of rows as they would have been pushed."""

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple
from uuid import UUID

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import types as t

from cartesius import Reactive, correlate, storable
from restrictions import most_recently
from spark_bridge.columns.instances import instance
from spark_bridge.columns.payloads import vector_of
from spark_bridge.columns.schemas import result_schema
from spark_bridge.columns.values import to_arrow
from tests.laws.spark_model import planned
from tests.unit.spark_bridge.bucket_rows import Row, letters, run, shown


@storable
class Kind(Enum):
    TUG = "tug"
    FERRY = "ferry"


class Level(IntEnum):
    LOW = 0
    HIGH = 1


class Place(NamedTuple):
    lat: float
    lon: float


@storable
@dataclasses.dataclass(frozen=True)
class Engine:
    power: int
    kinds: list[Kind]

    def double(self) -> int:
        return 2 * self.power


@attrs.frozen
class Ship:
    kind: Kind
    id: UUID
    engine: Engine
    engines: Sequence[Engine]
    tags: list[str]
    names: tuple[str, ...]
    pair: tuple[Kind, int]
    place: Place | None
    depths: Mapping[str, float]
    either: int | str
    _secret: int
    whole: bool = attrs.field(init=False, default=True)


DIESEL = Engine(5, [Kind.TUG])
SHIPS = [
    Ship(
        Kind.TUG, UUID(int=7), DIESEL, (DIESEL, Engine(1, [])), ["p", "q"], ("a",), (Kind.FERRY, 3), Place(1.0, 2.0),
        {"bow": 1.5}, "x", 9,
    ),
    Ship(Kind.FERRY, UUID(int=8), DIESEL, (), [], (), (Kind.TUG, 4), None, {}, "y", 8),
]  # fmt: skip


def test_what_is_written_of_an_instance_makes_an_equal_one():
    schema = result_schema(correlate(x=Reactive("x"), yields=lambda x: x, type=Ship, name="ships"), "ships", {}).value
    kept = t.StructType([field for field in schema if field.name != "whole"])
    rows = vector_of(pa.chunked_array([to_arrow(SHIPS, kept, "ships")])).to_list()
    made = [instance(Ship, row) for row in rows]
    assert made == SHIPS
    assert [type(one.tags) for one in made] == [list, list]


def test_a_member_is_found_by_its_name_or_its_value():
    @attrs.frozen
    class Tide:
        level: Level

    assert [instance(Tide, row).level for row in records({"level": ["HIGH", "LOW"]}) + records({"level": [1, 0]})] == [
        Level.HIGH, Level.LOW, Level.HIGH, Level.LOW,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="'MID' is not a valid Level"):
        instance(Tide, records({"level": ["MID"]})[0])


def records(columns):
    return vector_of(pa.chunked_array([pa.table(columns).to_struct_array().combine_chunks()])).to_list()


@attrs.frozen
class Vessel:
    kind: Kind
    engine: Engine
    tags: list[str]
    _imo: int
    full: int = attrs.field(init=False, default=3)

    @property
    def is_strong(self) -> bool:
        return self.engine.power > 3


ENGINE = t.StructType([t.StructField("power", t.LongType()), t.StructField("kinds", t.ArrayType(t.StringType()))])
VESSEL = t.StructType(
    [
        t.StructField("kind", t.StringType()),
        t.StructField("engine", ENGINE),
        t.StructField("tags", t.ArrayType(t.StringType())),
        t.StructField("_imo", t.LongType()),
    ]
)


def test_a_body_reads_of_a_row_what_it_would_of_an_instance():
    vessel = Reactive("vessel", type=Vessel)
    tugs = correlate(
        vessel=vessel,
        where=lambda vessel: (vessel.kind == Kind.TUG) & vessel.is_strong & (vessel.tags == ["p"]) & (vessel.full == 3),
        yields=lambda vessel: {"imo": vessel._imo},
        restrict=most_recently("vessel"),
        name="tugs",
    )
    schema = t.StructType([t.StructField("at", t.TimestampType()), *VESSEL])
    program = planned(tugs, {"vessel": schema}, is_streaming=False, buckets=1).runner
    rows = [
        Row(0, n, 0, {"kind": kind, "engine": {"power": n, "kinds": []}, "tags": ["p"], "_imo": n})
        for n, kind in enumerate(["TUG", "FERRY", "TUG", "TUG", "TUG", "FERRY", "barge"])
    ]
    outcome = run(program, 0, None, rows)
    assert [value["imo"] for _, _, value, _ in shown(outcome)] == [4]
    assert [letter["reason"] for letter in letters(outcome)] == [
        "its payload cannot be read: 'barge' is not a valid Kind"
    ]
