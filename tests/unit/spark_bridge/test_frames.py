"""What a caller gets wrong is said at once, before Spark is asked anything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import as_table, combine_latest, retracting
from spark_bridge import correlate_frames

ship = Reactive("ship", table=True, key="mmsi", fields=("mmsi", "name"))
berth = Reactive("berth", table=True, key="id")
LONG, TEXT, TIME, TRUTH, DOUBLE = t.LongType(), t.StringType(), t.TimestampType(), t.BooleanType(), t.DoubleType()


@attrs.frozen
class Frame:
    """All that is asked of a DataFrame before Spark comes in."""

    schema: t.StructType
    isStreaming: bool = False


def frame(**columns) -> Any:
    return Frame(t.StructType([t.StructField(name, kind) for name, kind in columns.items()]))


SHIPS = frame(at=TIME, mmsi=LONG, name=TEXT, gone=TRUTH)
MARK = t.StructField("at", TIME, metadata={"spark.watermarkDelayMs": 9})
MARKED = attrs.evolve(SHIPS, schema=t.StructType([MARK, *SHIPS.schema.fields[1:]]), isStreaming=True)
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
    ({"schema": t.LongType()}, r"expected the fields of the value but got schema=LongType\(\); write"),
    ({"schema": {"moored": 5}}, "expected the fields of the value but got schema=5; write"),
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
