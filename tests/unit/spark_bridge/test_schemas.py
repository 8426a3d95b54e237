"""Schemas of results: derived, given, or refused by name."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NamedTuple

import attrs
import pytest
from pyspark.sql import types as t

from cartesius import Reactive, Window, coalesce, correlate, is_missing, repeated
from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, require
from dsl.units import metres
from restrictions import as_table, cartesian, combine_latest, retracting, tumbling
from restrictions.gates.folding import buffering
from restrictions.tables import aggregate, combine_updates, count, outer_join, reduce, sum_
from spark_bridge.columns.schemas import result_schema

LONG, DOUBLE, TEXT = t.LongType(), t.DoubleType(), t.StringType()


def struct(**fields):
    return t.StructType([t.StructField(name, kind) for name, kind in fields.items()])


FRAMES = {
    "ship": struct(mmsi=LONG, name=TEXT, draught=DOUBLE, position=struct(lat=DOUBLE, lon=DOUBLE)),
    "berth": struct(id=TEXT, depth=t.DecimalType(5, 2), key=TEXT),
}
ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")


def derived(output, schema=None):
    return result_schema(output, output.name, FRAMES, schema)


def of(yields, **options):
    return correlate(ship=ship, berth=berth, yields=yields, name="out", **options)


class Kind(Enum):
    TUG = "tug"


@attrs.frozen
class Part:
    name: str
    size: float | None = None


@dataclasses.dataclass(frozen=True)
class Flag:
    up: bool


class Pair(NamedTuple):
    number: int
    text: str


@attrs.frozen
class Everything:
    text: str
    whole: int
    several: str | int | tuple[float, float] | None
    kind: Kind
    status: Literal["good", "bad"]
    when: datetime
    cost: Decimal
    blob: bytes
    parts: tuple[Part, ...]
    names: list[str]
    mixed: tuple[str, float]
    levels: Mapping[str, int]
    flag: Flag
    pair: Pair


@attrs.frozen
class Vague:
    fine: int
    vague: Any


@attrs.frozen
class Bare:
    items: tuple


@attrs.frozen
class Clashing:
    start: int


@pytest.mark.parametrize(
    ("yields", "expected"),
    [
        (lambda ship, berth: (ship.mmsi, berth.depth), "struct<mmsi:bigint,depth:decimal(5,2)>"),
        (lambda ship, berth: (ship.name, ship.name, 1.5), "struct<_1:string,_2:string,_3:double>"),
        (lambda ship, berth: {"deep": berth.depth, "lat": ship.position.lat}, "struct<deep:decimal(5,2),lat:double>"),
        (lambda ship, berth: {"sum": ship.mmsi + 1, "half": ship.mmsi / 2}, "struct<sum:bigint,half:double>"),
        (lambda ship, berth: {"more": ship.draught * 2}, "struct<more:double>"),
        (lambda ship, berth: (ship.draught > 3,), "struct<_1:boolean>"),
        (lambda ship, berth: {"left": -ship.mmsi, "rest": ship.mmsi % 2, "whole": ship.draught // 1},
         "struct<left:bigint,rest:bigint,whole:double>"),
        (lambda ship, berth: {"off": abs(ship.mmsi)}, "struct<off:bigint>"),
        (lambda ship, berth: {"no": ship.name == None, "yes": ship.name != None, "gone": is_missing(berth)},  # noqa: E711 - how a body asks for null
         "struct<no:boolean,yes:boolean,gone:boolean>"),
        (lambda ship, berth: {"fits": (ship.draught < 9) & ~(ship.mmsi == 1) | (berth.depth == None)},  # noqa: E711 - how a body asks for null
         "struct<fits:boolean>"),
        (lambda ship, berth: {"bits": ship.mmsi & 7}, "struct<bits:bigint>"),
        (lambda ship, berth: {"name": coalesce(ship.name, berth.id, "?"), "deep": coalesce(berth.depth, None)},
         "struct<name:string,deep:decimal(5,2)>"),
        (lambda ship, berth: {"draught": coalesce(ship.draught, 0), "id": coalesce(None, ship.mmsi, 0) + 1},
         "struct<draught:double,id:bigint>"),
        (lambda ship, berth, time_ship: (time_ship.start,), None),
        (lambda ship, berth, time_ship: {"since": time_ship.start}, "struct<since:bigint>"),
        (lambda ship, berth: berth.depth, "struct<value:decimal(5,2)>"),
        (lambda ship, berth: ship, FRAMES["ship"].simpleString()),
        (lambda ship, berth: (ship.position,), "struct<position:struct<lat:double,lon:double>>"),
    ],
)  # fmt: skip
def test_a_traced_yields_has_the_types_of_its_columns(yields, expected):
    if expected is None:
        with pytest.raises(InvalidArgument, match="one is called 'start'"):
            derived(of(yields))
    else:
        assert derived(of(yields)).value.simpleString() == expected


def test_what_is_computed_of_what_may_be_null_may_be_null():
    """SEMANTICS 1.18; and so may all else be, as a row may be missing."""
    computed = of(
        lambda ship, berth: {
            "less": ship.draught < 9,
            "sum": ship.draught + 1,
            "either": (ship.draught < 9) | (ship.mmsi == 1),
            "first": coalesce(ship.name, berth.id),
            "pair": (ship.mmsi * 2, ship.name),
        }
    )
    value = derived(computed).value
    assert all(field.nullable for field in value)
    assert all(field.nullable for field in value["pair"].dataType)


@pytest.mark.parametrize(
    "yields",
    [
        lambda ship, berth: {"odd": ship.name & ship.name},
        lambda ship, berth: {"odd": coalesce(ship.name, ship.mmsi)},
        lambda ship, berth: {"odd": coalesce(None, None)},
        lambda ship, berth: {"odd": ship.name + 1},
    ],
)
def test_a_type_that_cannot_be_told_is_refused(yields):
    with pytest.raises(InvalidArgument, match="odd is computed"):
        derived(of(yields))


@pytest.mark.parametrize(
    ("kinds", "expected"), [((LONG, LONG), "bigint"), ((LONG, t.IntegerType()), "bigint"), ((LONG, TEXT), None)]
)
def test_the_key_of_whichever_row_is_there_has_the_type_of_both(kinds, expected):
    one, other = Reactive("one", table=True, key="id"), Reactive("other", table=True, key="id")
    frames = {table.name: struct(id=kind, n=LONG) for table, kind in zip((one, other), kinds, strict=True)}
    joined = outer_join(one, other)
    if expected is None:
        with pytest.raises(InvalidArgument, match="the key is of the types bigint and string"):
            result_schema(joined, "joined", frames)
    else:
        assert result_schema(joined, "joined", frames).key.simpleString() == expected


def test_tuples_of_rows_are_numbered():
    assert derived(combine_latest(ship, berth)).value.names == ["_1", "_2"]
    nested = correlate(pair=cartesian(ship, berth), yields=lambda pair: (pair[0].name, pair[1].depth))
    assert derived(nested).value.simpleString() == "struct<name:string,depth:decimal(5,2)>"


def test_a_declared_class_gives_its_fields():
    found = derived(of(lambda ship, berth: ship, type=Everything)).value
    assert {field.name: field.dataType.simpleString() for field in found} == {
        "text": "string",
        "whole": "bigint",
        "several": "string",
        "kind": "string",
        "status": "string",
        "when": "timestamp",
        "cost": "decimal(38,18)",
        "blob": "binary",
        "parts": "array<struct<name:string,size:double>>",
        "names": "array<string>",
        "mixed": "struct<_1:string,_2:double>",
        "levels": "map<string,bigint>",
        "flag": "struct<up:boolean>",
        "pair": "struct<number:bigint,text:string>",
    }


def test_fields_of_a_declared_class_are_known_further_on():
    first = of(lambda ship, berth: ship, type=Everything)
    second = correlate(row=first, yields=lambda row: {"text": row.text, "up": row.flag.up})
    assert derived(second).value.simpleString() == "struct<text:string,up:boolean>"


@pytest.mark.parametrize("kind", [Vague, Bare])
def test_a_type_without_a_counterpart_is_refused_by_name_unless_a_schema_is_given(kind):
    output = of(lambda ship, berth: ship, type=kind)
    field = "value.vague is declared as Any" if kind is Vague else "value.items is declared as tuple"
    with pytest.raises(InvalidArgument, match=rf"{field}.*schema=\"field type"):
        derived(output)
    names = list(attrs.fields_dict(kind))
    assert derived(output, struct(**dict.fromkeys(names, LONG))).value.names == names
    with pytest.raises(InvalidArgument, match=r"to have what is yielded, the fields .*, but it has fine; write a type"):
        derived(output, struct(fine=LONG))


def test_an_annotation_that_is_not_there_at_run_time_is_refused():
    @attrs.frozen
    class Local:
        part: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 - there is no such name

    with pytest.raises(InvalidArgument, match="'Nowhere' is not defined"):
        derived(of(lambda ship, berth: ship, type=Local))


def test_a_body_that_does_not_trace_needs_a_schema():
    @correlate(ship=ship)
    def deep(ship):
        if ship.draught > 9:
            yield ship.name

    with pytest.raises(InvalidArgument, match=r"results of 'deep': the body .*deep' is in direct style; give the"):
        derived(deep)
    found = derived(deep, struct(value=TEXT))
    assert not found.is_row


def test_what_is_computed_by_a_function_needs_a_schema():
    with pytest.raises(InvalidArgument, match=r"_1 is computed, as \(ship\.draught \*\* 2\)"):
        derived(of(lambda ship, berth: (ship.draught**2,)))


def test_a_field_that_no_frame_has_is_named():
    with pytest.raises(InvalidArgument, match="no field 'draft' in the frame of 'ship'"):
        derived(of(lambda ship, berth: (ship.draft,)))


@pytest.mark.parametrize("name", ["output", "change", "start", "end", "key", "Start"])
def test_a_field_with_the_name_of_a_column_of_the_bridge_is_refused(name):
    with pytest.raises(InvalidArgument, match=f"one is called '{name}'; yield it under another name"):
        derived(correlate(ship=ship, yields=lambda ship: ship, name="x"), t.StructType().add(name, "long"))


def test_a_class_with_a_clashing_field_is_refused():
    with pytest.raises(InvalidArgument, match="one is called 'start'"):
        derived(of(lambda ship, berth: ship, type=Clashing))


def test_the_key_may_be_among_the_fields_if_it_is_the_key():
    def table(yields):
        return correlate(ship=ship, berth=berth, yields=yields, restrict=retracting() | as_table("ship"), name="x")

    assert derived(table(lambda ship, berth: {"key": ship.mmsi, "n": ship.name})).key_field == "key"
    assert derived(table(lambda ship, berth, key_ship: (key_ship, ship.name))).key_field == "key"
    with pytest.raises(InvalidArgument, match="one is called 'key'"):
        derived(table(lambda ship, berth: (berth.key, ship.name)))


def test_the_key_has_the_type_of_its_column():
    assert derived(of(lambda ship, berth: (ship.name,), restrict=retracting() | as_table("ship"))).key == t.LongType()
    by_name = of(lambda ship, berth: (ship.name, berth.id), restrict=retracting() | as_table(lambda row: row[1]))
    assert derived(by_name).key == t.StringType()
    assert derived(of(lambda ship, berth: (ship.name,))).key == t.StringType()  # no table: null
    on_top = correlate(row=by_name, yields=lambda row: row, restrict=retracting() | as_table("row"))
    assert derived(on_top).key == t.StringType()


@pytest.mark.parametrize(
    ("yields", "expected"),
    [
        (lambda x: (x._2, x.n, x.n + 1), ["_2", "n", "_3"]),
        (lambda x: (x._2, x.n + 1, x.n), ["_1", "_2", "n"]),
        (lambda x: (x._2, x.n + 1, x._1), ["_1", "_2", "_3"]),
    ],
)
def test_a_field_that_is_called_as_the_place_of_another_has_the_name_of_its_own(yields, expected):
    one = correlate(x=Reactive("x"), yields=yields, name="one")
    assert result_schema(one, "one", {"x": struct(_1=LONG, _2=DOUBLE, n=LONG)}).value.names == expected


def test_the_start_of_a_stay_in_a_list_is_no_time():
    """Each field called so was taken for a whole number."""
    stay = struct(start=t.TimestampType(), end=TEXT)
    frames = {"x": struct(stays=t.ArrayType(stay), depths=t.MapType(TEXT, DOUBLE))}
    x = Reactive("x")
    one = correlate(
        x=x, yields=lambda x: {"a": x.stays[0].start, "b": x.stays[1]["end"], "c": x.depths.bow}, name="one"
    )
    assert result_schema(one, "one", frames).value == struct(a=t.TimestampType(), b=TEXT, c=DOUBLE)
    odd = correlate(x=x, yields=lambda x: {"a": (x.stays + x.stays).start}, name="odd")
    with pytest.raises(InvalidArgument, match=r"results of 'odd': a is computed, as .* give the fields .* as schema="):
        result_schema(odd, "odd", frames)
    opened: Any = Window | None
    either: Any = correlate(x=x, yields=lambda x: x.window, type=opened, name="either")
    since = correlate(either=either, yields=lambda either: {"a": either.start}, name="since")
    assert result_schema(since, "since", frames).value == struct(a=LONG)
    many = correlate(x=repeated(x, 2), yields=lambda x, time_x: {"a": time_x[1].start}, name="many")
    assert result_schema(many, "many", frames).value == struct(a=LONG)
    assert derived(of(lambda ship, berth, time_ship: {"at": time_ship})).value == struct(
        at=struct(start=LONG, end=LONG)
    )


def test_a_key_that_cannot_be_told_is_refused():
    def odd(row):
        return row[0] if row else None

    with pytest.raises(InvalidArgument, match="type of the key of 'out': its key is computed by a function"):
        derived(of(lambda ship, berth: (ship.name,), restrict=retracting() | as_table(odd)))


@pytest.mark.parametrize(
    "output",
    [
        combine_updates(ship, 0, lambda total, row: total + row.draught),
        reduce(ship, sum_.of("draught")),
        correlate(x=Reactive("ship"), yields=lambda x: x.name, restrict=buffering("x", 2)),
    ],
    ids=["fold of updates", "total", "lists"],
)
def test_the_type_of_what_takes_the_place_of_a_value_is_not_guessed(output):
    """It was taken for the value's own, and the first result was refused when it came."""
    with pytest.raises(InvalidArgument, match="cannot tell the schema of the results"):
        derived(output)
    assert derived(output, struct(value=LONG)).value == struct(value=LONG)


def test_the_key_of_totals_is_what_they_are_by():
    value = struct(value=LONG)
    by_name = reduce(ship, count, by="name")
    assert derived(by_name, value).key == TEXT
    in_windows = aggregate(Reactive("berth"), count, by="id", restrict=tumbling(5))
    assert derived(in_windows, value).key.simpleString() == "struct<id:string,window:struct<start:bigint,end:bigint>>"


def test_verdicts_of_a_rule_pack_have_a_schema():
    vessel = Source("ship", key="mmsi", mmsi=int, draught=metres)
    port = RulePack("port", subject=vessel)
    with port:
        require(vessel.draught <= 9 * metres)
    for output in (port.table(), port.warnings()):
        found = derived(output)
        assert found.key == t.LongType()
        assert found.value.names == ["subject", "status", "because", "pack"]
        assert found.value["because"].dataType.elementType.names == [
            "name", "text", "location", "because", "missing", "values", "severity", "reference", "margin", "stale",
            "others",
        ]  # fmt: skip
