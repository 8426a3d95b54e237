"""What a program reads of its frames is there, and of types that go together; else it is said at once, by name."""

from __future__ import annotations

from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from typing import Any

import pytest
from pyspark.sql import types as t

from cartesius import Reactive, correlate, each, repeated
from cartesius.errors import InvalidArgument
from restrictions import as_table, key_by, most_recently, only, retracting, tumbling, versioned, within
from restrictions.streams import filter_, interval_join, map_
from restrictions.tables import aggregate, foreign_join, reduce, sum_, to_table
from tests.laws.spark_model import planned

LONG, TEXT, DOUBLE, TIME, DATE = t.LongType(), t.StringType(), t.DoubleType(), t.TimestampType(), t.DateType()
LOCAL = datetime(2024, 6, 30)
AWARE, DAY = LOCAL.replace(tzinfo=UTC), LOCAL.date()
WORDS = ["p", "q"]
a, b = Reactive("a"), Reactive("b")
ships, berths = Reactive("a", table=True, key="id"), Reactive("b", table=True, key="id")
READS = {"a": {"id": LONG, "n": DOUBLE, "name": TEXT}, "b": {"id": LONG, "n": LONG, "name": TEXT}}
both: dict[str, Any] = {
    "restrict": most_recently("a", "b"),
    "yields": lambda a, b: {"a": a.name, "b": b.name},
    "name": "both",
}


def run(program, **changes):
    schemas = {
        name: t.StructType([t.StructField("at", TIME), *(t.StructField(*one) for one in columns.items())])
        for name, columns in {**READS, **changes}.items()
    }
    inputs = {one.name for one in program.pattern.slots.values() if one.pattern is None} or {"a"}
    given = {name: schemas[name] for name in schemas if name in inputs or name in changes}
    return planned(program, given, is_streaming=False, buckets=1)


PROGRAMS = {
    "where": correlate(a=a, b=b, where=lambda a, b: a.id == b.id, **both),
    "yields": correlate(a=a, yields=lambda a: (a.id,), restrict=most_recently("a"), name="one"),
    "key_by": correlate(a=a, b=b, **{**both, "restrict": key_by(a="id", b="id") | both["restrict"]}),
    "key": interval_join(a, b, -1, 1, key="id"),
    "function": correlate(a=a, b=b, **{**both, "restrict": key_by(a=lambda a: a.id, b="id") | both["restrict"]}),
    "item": correlate(a=a, b=b, **{**both, "restrict": key_by(a=lambda a: a["id"], b="id") | both["restrict"]}),
    "only": correlate(a=a, b=b, **{**both, "restrict": only("a", lambda row: row.id > 2) | both["restrict"]}),
    "by": aggregate(a, sum_.of("n"), by="id", restrict=tumbling(5)),
    "group": reduce(ships, sum_.of("id")),
    "on": foreign_join(berths, Reactive("a", table=True, key="n"), on="id"),
    "to_table": to_table(a, key="id"),
    "row_key": correlate(a=a, yields=lambda a: {"x": a.name}, restrict=as_table(lambda row: row.x), name="rows"),
    "of a list": correlate(
        a=repeated(a, 2), b=b, where=lambda a, b: each(a, lambda one: one.id > 2), yields=lambda b: {"b": b.name},
        restrict=within(9, "a", "b") | most_recently("b"), name="runs",
    ),
    "ties": correlate(
        a=ships, yields=lambda a: {"x": a.name}, name="held",
        restrict=versioned("a", ties="n") | retracting() | as_table("a"),
    ),
    "ties by a function": correlate(
        a=ships, yields=lambda a: {"x": a.name}, name="held",
        restrict=versioned("a", ties=lambda row: row.n) | retracting() | as_table("a"),
    ),
    "through another": map_(filter_(a, lambda row: row.n > 1), lambda row: {"x": row.id}),
}  # fmt: skip


def without(name, column):
    return {name: {one: kind for one, kind in READS[name].items() if one != column}}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_column_that_is_read_and_not_there_is_named(program):
    source, column = ("a", "name") if program.name == "rows" else ("a", "id")
    if program.name == "held":
        column = "n"
    if program is PROGRAMS["on"]:
        source = "b"
    changes = {source: {**without(source, column)[source], f"{column}s": LONG}}
    with pytest.raises(InvalidArgument, match=f"'{source}' to have the column '{column}'.* mean '{column}s'"):
        run(program, **changes)


@pytest.mark.parametrize("program", [PROGRAMS[name] for name in ("where", "key_by", "key", "function", "on")])
def test_keys_of_two_types_are_refused_with_both_and_the_line_to_write(program):
    changes = {"a": {**READS["a"], "id": TEXT, "n": LONG}, "b": READS["b"]}
    if program is PROGRAMS["on"]:
        changes["b"] = {**READS["b"], "id": TEXT}
    with pytest.raises(InvalidArgument) as caught:
        run(program, **changes)
    text = str(caught.value)
    assert "(string)" in text
    assert "(bigint)" in text
    assert "never equal" in text
    assert '.cast("' in text


def test_the_line_to_write_is_the_line_to_write():
    program = correlate(a=a, b=b, where=lambda a, b: a.id == b.order, **both)
    with pytest.raises(InvalidArgument) as caught:
        run(program, a={"id": t.IntegerType(), "name": TEXT}, b={"order": TEXT, "name": TEXT})
    assert str(caught.value) == (
        "correlate_frames: expected columns of types that go together in where= of 'both' but the column 'id' of 'a'"
        " (int) and the column 'order' of 'b' (string) are never equal; write frames[\"b\"] ="
        ' frames["b"].withColumn("order", f.col("order").cast("int"))'
    )


WRONG = [
    (lambda a, b: a.name > b.n, "cannot be compared"),
    (lambda a, b: a.n - b.name > 1, "cannot be calculated with"),
    (lambda a, b: a.name + b.n == 1, "cannot be added"),
    (lambda a, b: a.name == 7, r"the column 'name' of 'a' \(string\) and 7 \(bigint\) are never equal"),
    (lambda a, b: a.day == b.time, r"\(date\) and .* \(timestamp\) are never equal"),
    (lambda a, b: a.day - b.time == a.day, r"\(date\) and .* \(timestamp\) cannot be calculated with"),
    (lambda a, b: b.time + a.id == b.time, r"\(timestamp\) and .* \(bigint\) cannot be added"),
    (lambda a, b: a.day + a.day == b.id, r"\(date\) and .* \(date\) cannot be added"),
    (lambda a, b: a.day / a.id == b.id, r"\(date\) and .* \(bigint\) cannot be calculated with"),
    (lambda a, b: a.day * a.id == b.id, r"\(date\) and .* \(bigint\) cannot be calculated with"),
    (lambda a, b: a.price * a.n > b.id, r"\(decimal\(10,2\)\) and .* \(double\) cannot be calculated with"),
    (lambda a, b: a.price + 1.5 > b.id, r"\(decimal\(10,2\)\) and 1.5 \(double\) cannot be added"),
    (lambda a, b: a.place == b.id, r"\(struct<lon:double>\) and .* \(bigint\) are never equal; cast one"),
    (lambda a, b: a.tags == b.name, r"\(array<string>\) and .* \(string\) are never equal; cast one"),
    (
        lambda a, b: a.tags == WORDS,
        r"\['p', 'q'\] \(list\) are never equal; an array is a tuple here, so write one",
    ),
    (lambda a, b: a.place == (1.0,), r"\(struct<lon:double>\) and .* \(tuple\) are never equal"),
    (lambda a, b: a["lon"] == b.id, "'a' to have the column 'lon', which where= of 'both' reads"),
    (lambda a, b: a.place["lat"] == b.n, "to have the column 'place.lat', which where= of 'both' reads, but there is"),
    (lambda a, b: a["items"] == b.id, "'a' to have the column 'items'"),
    (lambda a, b: a.name["upper"] == b.id, r"reads 'upper' but the column 'name' of 'a' \(string\) is a text"),
    (lambda a, b: b.time == LOCAL, r"of 'b' \(timestamp\) and .* \(timestamp_ntz\) are never equal"),
    (lambda a, b: a.local < AWARE, r"of 'a' \(timestamp_ntz\) and .* \(timestamp\) cannot be compared"),
    (lambda a, b: b.time == DAY, r"of 'b' \(timestamp\) and .* \(date\) are never equal"),
    (lambda a, b: a.day >= AWARE, r"of 'a' \(date\) and .* \(timestamp\) cannot be compared"),
    (lambda a, b: a.id.lon == b.id, r"reads 'lon' but the column 'id' of 'a' \(bigint\) is a number"),
]
MORE = {
    "day": DATE,
    "local": t.TimestampNTZType(),
    "price": t.DecimalType(10, 2),
    "place": t.StructType([t.StructField("lon", DOUBLE)]),
    "tags": t.ArrayType(TEXT),
}


@pytest.mark.parametrize(("where", "message"), WRONG, ids=[message for _, message in WRONG])
def test_types_that_do_not_go_together_are_refused(where, message):
    with pytest.raises(InvalidArgument, match=message):
        run(correlate(a=a, b=b, where=where, **both), a={**READS["a"], **MORE}, b={**READS["b"], "time": TIME})


RIGHT = [
    lambda a, b: a.price + a.price > a.price * a.id,
    lambda a, b: (a.price - a.price) * a.price > a.n * a.id,
    lambda a, b: a.name * a.id == b.name + b.name,
    lambda a, b: b.time - b.time == b.time - b.time,
    lambda a, b: a.day.year == b.time.year,
    lambda a, b: a.place == a.place,
    lambda a, b: (a.tags == ("p", "q")) | (a.tags == ()),
    lambda a, b: a.id.real == b.id,
    lambda a, b: (a["id"] == b["id"]) & (a.place["lon"] > 1.0),
    lambda a, b: (b.time > AWARE) & (a.local > LOCAL) & (a.day > DAY),
]


@pytest.mark.parametrize("where", RIGHT)
def test_types_that_python_puts_together_are_taken(where):
    run(correlate(a=a, b=b, where=where, **both), a={**READS["a"], **MORE}, b={**READS["b"], "time": TIME})


def test_numbers_of_any_type_go_together():
    for kind in (t.IntegerType(), t.DecimalType(5, 2), DOUBLE, t.BooleanType()):
        run(PROGRAMS["where"], a={**READS["a"], "id": kind})


def test_what_is_not_read_may_be_anything():
    run(PROGRAMS["where"], a={"id": LONG, "name": TEXT}, b={"id": LONG, "name": t.ArrayType(LONG), "more": DATE})


def test_of_a_getter_of_several_items_each_is_looked_for():
    restrict = key_by(a=itemgetter("id", "n"), b=attrgetter("id", "n")) | most_recently("a", "b")
    program = correlate(a=a, b=b, **{**both, "restrict": restrict})
    run(program)
    for source in ("a", "b"):
        with pytest.raises(InvalidArgument, match=f"'{source}' to have the column 'n', which key_by"):
            run(program, **without(source, "n"))


def test_a_helper_column_is_no_field():
    program = correlate(a=a, yields=lambda a: (a.at,), restrict=most_recently("a"), name="one")
    with pytest.raises(InvalidArgument, match="the frame has it, but as a helper column"):
        run(program)


def test_a_field_that_the_correlation_before_does_not_yield_is_named():
    inner = map_(a, lambda row: {"draught": row.n})
    outer = correlate(x=inner, yields=lambda x: (x.draft,), restrict=most_recently("x"), name="outer")
    with pytest.raises(
        InvalidArgument, match=r"'draft', which yields= of 'outer' reads, .* gives draught; did you mean"
    ):
        run(outer, a=READS["a"])


def test_an_optional_field_of_a_struct_is_followed_inside():
    program = correlate(a=a, yields=lambda a: (a.place.lat,), restrict=retracting(), name="one")
    place = t.StructType([t.StructField("lon", DOUBLE)])
    with pytest.raises(InvalidArgument, match=r"column 'place.lat', which yields= of 'one' reads, but there is lon"):
        run(program, a={"place": place})


SCHEMAS = [
    (["a"], "the fields a, b, but it has a; write a type for each of: a, b"),
    (["a", "b", "c"], "but it has a, b, c"),
    (["a", "d"], "but it has a, d"),
]


@pytest.mark.parametrize(("names", "message"), SCHEMAS)
def test_a_schema_with_other_fields_than_are_yielded_is_refused(names, message):
    columns = [t.StructField("at", TIME), *(t.StructField(*one) for one in READS["a"].items())]
    frames = dict.fromkeys("ab", t.StructType(columns))

    def run_with(program, names):
        given = t.StructType([t.StructField(name, TEXT) for name in names])
        used = {one.name: frames[one.name] for one in program.pattern.slots.values()}
        planned(program, used, is_streaming=False, buckets=1, schema=given)

    run_with(PROGRAMS["where"], ["b", "a"])
    with pytest.raises(InvalidArgument, match=message):
        run_with(PROGRAMS["where"], names)
    with pytest.raises(InvalidArgument, match="tuples of 1, but it has x, y; write a type for each of: id"):
        run_with(PROGRAMS["yields"], ["x", "y"])
