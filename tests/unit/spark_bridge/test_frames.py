"""What a caller gets wrong is said at once, before Spark is asked anything."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import as_table, combine_latest, key_by, most_recently, retracting
from spark_bridge import correlate_frames
from spark_bridge.reading.demands import check_reads
from spark_bridge.reading.options import own_watermarks
from spark_bridge.running.queries import check_start
from spark_bridge.sinks import to_parquet
from spark_bridge.transport.source_frames import check_told_apart
from tests.laws.spark_model import plan_of, planned

ship = Reactive("ship", table=True, key="mmsi", fields=("mmsi", "name"))
berth = Reactive("berth", table=True, key="id")
LONG, TEXT, TIME, TRUTH, DOUBLE = t.LongType(), t.StringType(), t.TimestampType(), t.BooleanType(), t.DoubleType()
SESSION = SimpleNamespace(conf={})


@attrs.frozen
class Frame:
    """All that is asked of a DataFrame before Spark comes in."""

    schema: t.StructType
    isStreaming: bool = False
    sparkSession: Any = SESSION
    _jdf: Any = None


def frame(**columns) -> Any:
    return Frame(t.StructType([t.StructField(name, kind) for name, kind in columns.items()]))


SHIPS = frame(at=TIME, mmsi=LONG, name=TEXT, gone=TRUTH)
MARK = t.StructField("at", TIME, metadata={"spark.watermarkDelayMs": 9})
HAS_WATERMARK, READS = plan_of("Project", "EventTimeWatermark", "StreamingRelation"), plan_of("StreamingRelation")
MARKED = Frame(t.StructType([MARK, *SHIPS.schema.fields[1:]]), isStreaming=True, jdf=HAS_WATERMARK)
STAMPED = Frame(
    t.StructType([*SHIPS.schema, t.StructField("seen", TIME, metadata={"spark.watermarkDelayMs": 9})]),
    isStreaming=True,
    jdf=HAS_WATERMARK,
)
RECORD = t.StructType([t.StructField("a", LONG)])
TWICE = t.StructType([t.StructField("a", LONG), t.StructField("a", LONG)])
BERTHS = frame(at=TIME, id=TEXT, ship=LONG, depth=DOUBLE)
moored = correlate(
    ship=ship,
    berth=berth,
    where=lambda ship, berth: ship.mmsi == berth.ship,
    yields=lambda ship, berth: (ship.name, berth.depth),
    restrict=retracting() | as_table("ship"),
    name="moored",
)
GOOD: dict[str, Any] = {"program": moored, "frames": {"ship": SHIPS, "berth": BERTHS}, "event_time": "at"}

WRONG = [
    ({"frames": {"ship": SHIPS, "birth": BERTHS}}, "one for 'birth'; the sources are ship, berth; .*mean 'berth'"),
    ({"frames": {"ship": SHIPS}}, r"a frame for each .*\(ship, berth\) but there is none for berth; add it"),
    ({"frames": [SHIPS]}, "expected a mapping from source to DataFrame"),
    ({"frames": {"ship": 1, "berth": 2}}, "expected a mapping from source to DataFrame"),
    ({"program": "moored"}, r"expected a Reactive, or a list of them.* got 'moored' \(type=str\)"),
    ({"program": []}, "expected a Reactive"),
    ({"event_time": "att"}, r"'ship' to have the column 'att' \(event_time\).*did you mean 'at'"),
    *(({"event_time": wrong}, "expected the name of a column but got event_time=") for wrong in (None, 5, ["at"])),
    ({"event_time": "mmsi"}, "expected event_time='mmsi' of 'ship' to be a timestamp.* of type bigint"),
    ({"frames": {"ship": frame(at=TIME, mmsi=LONG, nam=TEXT), "berth": BERTHS}}, "'name' .a field.*mean 'nam'"),
    ({"frames": {"ship": SHIPS, "berth": frame(at=TIME, ship=LONG, depth=DOUBLE)}},
     r"'berth' to have the column 'id' \(the key"),
    ({"buckets": 0}, r"at least one bucket but got buckets=0 \(type=int\)"),
    ({"buckets": True}, "at least one bucket"),
    ({"order": "random"}, 'order="event_time" or order="arrival" but got order=\'random\''),
    ({"frames": {"ship": attrs.evolve(SHIPS, isStreaming=True), "berth": BERTHS}}, "expected watermark=, such as"),
    (
        {"frames": {"ship": MARKED, "berth": BERTHS}, "watermark": "1 hour"},
        "expected one watermark but got watermark='1 hour' beside that of withWatermark of 'ship'; leave one",
    ),
    ({"frames": {"ship": attrs.evolve(MARKED, jdf=READS), "berth": BERTHS}}, "watermark=, such as .* got None"),
    ({"partition_by": "imo"}, "partition_by='imo' to be a column of a frame but no frame has it"),
    ({"partition_by": {"shop": "mmsi"}}, "for the sources ship, berth but got it for 'shop'; did you mean 'ship'"),
    ({"partition_by": 5}, "a column, or a mapping from source to column, but got partition_by=5"),
    ({"partition_by": "id"}, "each bucket|meet without|its key is not the column"),
    ({"partition_by": {"ship": "name"}}, "its key is not the column of the partition"),
    ({"partition_by": {"ship": "mmsi", "berth": "ship"}}, "as the key is 'id'; partition it by 'id'"),
    ({"sequence": "id"}, "'ship' to have the column 'id' .sequence"),
    ({"sequence": {"berth": "ship"}}, "expected sequence= for every source but 'ship' has none"),
    ({"sequence": {"ship": "name", "berth": "id"}}, "sequence='name' of 'ship' to be a whole number"),
    ({"deleted": {"ship": "name"}}, "deleted='name' of 'ship' to be a Boolean"),
    ({"deleted": "lost"}, "deleted='lost' to be a column of a frame but no frame has it"),
    ({"plausible": 5}, "expected two aware datetimes .*plausible=5"),
    ({"plausible": (datetime(2020, 1, 1), None)}, "expected two aware datetimes"),
    ({"schema": t.LongType()}, r'expected the fields of the value as "field type, …" but got schema=LongType\(\)'),
    ({"schema": {"moored": 5}}, 'expected the fields of the value as "field type, …" but got schema=5'),
    *(
        ({"watermark": wrong}, r'a duration as Spark writes it, such as "10 seconds", or a mapping .* got watermark=')
        for wrong in (5, "", timedelta(seconds=5), {"ship": 5})
    ),
    (
        {"frames": {"ship": frame(at=TIME, mmsi=RECORD, name=TEXT), "berth": frame(at=TIME, id=TEXT, ship=RECORD)}},
        r"can be hashed for key= of 'moored' but the column 'mmsi' of 'ship' \(struct<a:bigint>\) has records or maps",
    ),
    (
        {"frames": {"ship": SHIPS, "berth": frame(at=TIME, id=TEXT, ship=LONG, depth=DOUBLE, v=TWICE)}},
        "fields of different names but berth.v.a is there twice",
    ),
    (
        {"frames": {"ship": STAMPED, "berth": BERTHS}},
        "watermarks on 'at' .event_time. alone but that of 'ship' has one on 'seen', and a query has one clock",
    ),
    ({"schema": {"mored": "x long"}}, "expected schema= for moored but got it for 'mored'"),
    (
        {"frames": {"ship": SHIPS, "berth": frame(at=TIME, id=TEXT, ship=LONG, depth=DOUBLE, v=t.VariantType())}},
        "berth.v: variant",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_mistake_is_named(change, message):
    with pytest.raises(InvalidArgument, match=message):
        correlate_frames(**{**GOOD, **change})


def test_a_mark_that_was_read_from_a_file_is_no_watermark():
    """Spark writes it into the footer of a parquet file, and a stream of such files moves no clock."""
    for stale in (attrs.evolve(MARKED, jdf=READS), attrs.evolve(STAMPED, jdf=READS)):
        assert own_watermarks({"ship": stale}, "at") == []
    assert own_watermarks({"ship": MARKED, "berth": SHIPS}, "at") == ["ship"]


def test_fields_of_results_that_differ_in_capitals_alone_are_refused():
    def yielding(yields, name="a"):
        return correlate(ship=ship, yields=yields, restrict=retracting() | as_table("ship"), name=name)

    of_one = yielding(lambda ship: {"n": ship.mmsi, "N": ship.name})
    of_two = [yielding(lambda ship: {"n": ship.mmsi}), yielding(lambda ship: {"N": ship.name}, "b")]
    for program in (of_one, of_two):
        with pytest.raises(InvalidArgument, match=r"fields of results whose names .* got 'n', 'N', which Spark"):
            correlate_frames(program, {"ship": SHIPS}, event_time="at")
    session = SimpleNamespace(conf={"spark.sql.caseSensitive": "true"})
    check_told_apart(["n", "N"], attrs.evolve(SHIPS, sparkSession=session), "fields")


def test_a_list_of_records_is_no_key_and_one_of_numbers_is():
    call = Reactive("call")
    latest = correlate(call=call, yields=lambda call: call.n, restrict=key_by(call="k") | most_recently("call"))
    for element, is_key in ((LONG, True), (RECORD, False), (t.MapType(TEXT, LONG), False)):
        calls = {"call": frame(at=TIME, k=t.ArrayType(element), n=LONG)}
        with nullcontext() if is_key else pytest.raises(InvalidArgument, match=r"hashed for key_by\(call='k'\)"):
            check_reads((latest,), *[{name: one.schema for name, one in calls.items()}] * 2)


def test_types_that_differ_in_what_may_be_null_are_one():
    one, other = Reactive("one"), Reactive("other")
    outputs = [
        correlate(x=of, yields=lambda x: {"a": x.a}, name=name) for of, name in ((one, "left"), (other, "right"))
    ]
    kinds = [t.ArrayType(LONG, containsNull=could) for could in (True, False)]
    plan = planned(outputs, {
        name: t.StructType([t.StructField("at", TIME), t.StructField("a", kind, could)])
        for name, kind, could in zip(("one", "other"), kinds, (True, False), strict=True)
    }, is_streaming=False)  # fmt: skip
    assert plan.runner.layout.value == t.StructType([t.StructField("a", kinds[0])])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"results": None}, "expected a function of a DataFrame and its number for results= but got None"),
        ({"dead": "out"}, "expected a function of a DataFrame and its number for dead= but got 'out'"),
        (
            {"dead": print},
            "expected a sink of its own for results= and for dead= but got <built-in function print> for",
        ),
        ({"dead": list, "late": list}, "expected a sink of its own for dead= and for late= but got <class 'list'> for"),
        (
            {"results": to_parquet("a"), "late": to_parquet("a/")},
            "expected a sink of its own for results= and for late=",
        ),
        ({"checkpoint": None}, "expected the name of a folder for checkpoint= but got None"),
        ({"checkpoint": " "}, "expected the name of a folder for checkpoint= but got ' '"),
        ({"trigger": "availableNow"}, "expected {\"availableNow\": True}, or .* got 'availableNow'"),
        ({"trigger": {"continuous": "1 second"}}, 'expected {"availableNow": True}, or'),
        ({"trigger": {}}, 'expected {"availableNow": True}, or'),
    ],
)
def test_a_query_that_cannot_be_started_says_why(wrong, message):
    good = {
        "results": print,
        "dead": None,
        "late": None,
        "checkpoint": "out",
        "trigger": {"availableNow": True},
    } | wrong
    with pytest.raises(InvalidArgument, match=message):
        check_start({name: good[name] for name in ("results", "dead", "late")}, good["checkpoint"], good["trigger"])


def test_a_query_may_have_a_sink_of_each_kind():
    check_start({"results": to_parquet("a"), "dead": to_parquet("b"), "late": None}, "out", None)


def test_a_table_without_a_declared_key_is_refused():
    bare = Reactive("ship", table=True)
    with pytest.raises(InvalidArgument, match=r"declared key for 'ship', which declares none; write Reactive\('ship'"):
        correlate_frames(combine_latest(bare), {"ship": SHIPS}, event_time="at")


def test_a_table_with_an_odd_key_is_refused():
    odd = Reactive("ship", table=True, key=("mmsi", "name"))  # type: ignore[call-overload]  # wrong on purpose
    with pytest.raises(InvalidArgument, match=r"got key=\('mmsi', 'name'\)"):
        correlate_frames(combine_latest(odd), {"ship": SHIPS}, event_time="at")


def test_a_column_that_is_there_twice_is_refused():
    twice: Any = Frame(t.StructType([*SHIPS.schema, t.StructField("name", TEXT)]))
    with pytest.raises(InvalidArgument, match="'name' is there twice"):
        correlate_frames(moored, {"ship": twice, "berth": BERTHS}, event_time="at")


@pytest.mark.parametrize("kind", [LONG, t.ArrayType(t.MapType(TEXT, t.StructType([t.StructField("__class__", LONG)])))])
def test_a_name_of_pythons_own_is_refused_wherever_it_is(kind):
    ships: Any = Frame(t.StructType([*SHIPS.schema, t.StructField("__class__" if kind == LONG else "x", kind)]))
    names = correlate(ship=Reactive("ship"), yields=lambda ship: ship.name)
    with pytest.raises(InvalidArgument, match=r"of 'ship', .* got '__class__', which Python finds on any object; rena"):
        correlate_frames(names, {"ship": ships}, event_time="at")


def test_partitions_of_different_types_are_refused():
    left, right = Reactive("left"), Reactive("right")
    both = correlate(
        left=left, right=right, where=lambda left, right: left.k == right.k, yields=lambda left, right: (left.k,)
    )
    frames = {"left": frame(at=TIME, k=LONG), "right": frame(at=TIME, k=t.DecimalType(5, 2))}
    with pytest.raises(InvalidArgument, match=r"left by a whole number, right by decimal.5,2.; cast them"):
        correlate_frames(both, frames, event_time="at", partition_by="k")


def test_outputs_whose_fields_differ_in_type_are_refused(monkeypatch):
    names = correlate(ship=ship, yields=lambda ship: {"x": ship.name}, name="names")
    numbers = correlate(ship=ship, yields=lambda ship: {"x": ship.mmsi}, name="numbers")
    monkeypatch.setattr("spark_bridge.frames.tagged", lambda *_: None)
    monkeypatch.setattr("spark_bridge.frames.united", lambda *_: None)
    monkeypatch.setattr("spark_bridge.frames.run_batch", lambda *_, **__: None)
    with pytest.raises(InvalidArgument, match="'x' is string in 'names' and bigint in 'numbers'; rename one"):
        correlate_frames([names, numbers], {"ship": SHIPS}, event_time="at")


def test_a_plausible_time_is_aware():
    with pytest.raises(InvalidArgument, match="aware"):
        correlate_frames(**{**GOOD, "plausible": (datetime(2020, 1, 1, tzinfo=UTC), "now")})
