"""Decimals in the reasons of verdicts: what a rule looked at, to the last digit, on Spark as in this process."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import types as t

from cartesius import Engine
from dsl import RulePack, Source, between, require
from dsl.units import centimetres, metres
from spark_bridge.running.buckets import _MANY
from spark_bridge.transport.arrivals import Input
from tests.unit.spark_bridge.bucket_rows import Row, buckets_of, run, shown

SHIP = t.StructType([t.StructField("mmsi", t.LongType()), t.StructField("draught", t.DecimalType(20, 10))])
BERTH = t.StructType([t.StructField("id", t.LongType()), t.StructField("depth", t.DecimalType(5, 2))])
INPUTS = (Input("ship", SHIP, ("mmsi", "draught"), True, "mmsi"), Input("berth", BERTH, ("id", "depth"), True, "id"))
ship = Source("ship", key="mmsi", mmsi=int, draught=metres)
berth = Source("berth", key="id", id=int, depth=metres)
PORT = RulePack("port", subject=ship, links=[berth.id == ship.mmsi])
with PORT:
    require(ship.draught <= 9.5 * metres, name="limit")
    require(berth.depth - ship.draught >= 50 * centimetres, name="clearance")
    require(between(ship.draught, 150 * centimetres, 9.5 * metres), name="range")
LONG = Decimal("9.7000000001")
ROWS = [Row(0, 1, 1, {"id": 1, "depth": Decimal("10.00")}), Row(0, 2, 0, {"mmsi": 1, "draught": LONG})]


def in_process(**options):
    engine = Engine(PORT.table(), **options)
    for row in ROWS:
        *_, event = [None, *engine.push(PORT.sources["ship" if row.source == 0 else "berth"], row.columns, at=row.time)]
    return event.value.value


@pytest.mark.parametrize("policy", ["fail", "unknown"])
def test_in_this_process_reasons_show_them_as_they_are(policy):
    found = in_process(on_error=policy)
    assert [reason.name for reason in found.failed] == ["limit", "clearance", "range"]
    shown_there = {label: value for reason in found.because for label, value, _ in reason.values}
    assert shown_there["ship.draught"] == LONG
    assert shown_there["berth.depth - ship.draught"] == Decimal("29.99999999")
    assert [reason.margin for reason in found.because] == [
        (pytest.approx(-0.2000000001), "m"),
        (pytest.approx(-20.00000001), "cm"),
        (pytest.approx(-20.00000001), "cm"),
    ]


@pytest.mark.parametrize("policy", ["fail", "unknown"])
@pytest.mark.parametrize("more", [0, _MANY])
def test_on_spark_they_are_text_with_all_their_digits(policy, more):
    others = [Row(0, 3 + n, 0, {"mmsi": 2 + n, "draught": LONG}) for n in range(more)]
    outcome = run(buckets_of(PORT.table(), inputs=INPUTS, on_error=policy), 0, None, [*ROWS, *others])
    verdicts = {key: value for _, key, value, _ in shown(outcome)}
    assert len(verdicts) == 1 + more
    expected = in_process(on_error=policy)
    for mine, theirs in zip(verdicts[1]["because"], expected.because, strict=True):
        values = [(one["_1"], one["_2"], one["_3"]) for one in mine["values"]]
        assert values == [(label, str(value), symbol) for label, value, symbol in theirs.values]
        assert (mine["margin"]["_1"], mine["margin"]["_2"]) == theirs.margin
    assert {verdict["status"] for verdict in verdicts.values()} == {"restricted"}
