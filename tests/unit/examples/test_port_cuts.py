"""The verdicts of the port do not depend on how readings are cut into micro-batches, chunks and buckets.

Without Spark, whose part tests/laws/spark_model.py plays; tests/unit/examples/test_port_on_spark.py has Spark itself.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from pyspark.sql import types as t

from examples.port.in_process import run_in_process
from examples.port.inputs import SOURCES, read_day
from examples.port.programs import rule_pack
from examples.port.slices import PLACE, TIME, spark_schema
from examples.port.verdict_changes import ChangeLog
from tests.laws.spark_model import MicroBatches, Row, planned

from .conftest import AIS, TIDE

KINDS = {
    "string": t.StringType(),
    "bigint": t.LongType(),
    "double": t.DoubleType(),
    "array<double>": t.ArrayType(t.DoubleType()),
    "timestamp": t.TimestampType(),
}


def schema_of(source):
    columns = [column.split("` ") for column in spark_schema(source).split(", ")]
    return t.StructType([t.StructField(name.strip("`"), KINDS[kind]) for name, kind in columns])


@pytest.mark.parametrize("pack", ["port", pytest.param("D", marks=pytest.mark.slow)])
def test_no_cut_and_no_number_of_buckets_matters(few, pack):
    few.keep(TIDE, lambda row: row["time_utc"][11:13] in {"00", "01", "02"})
    few.keep(AIS, lambda row: row["time_utc"][15] == "0")
    day = read_day(few.path)
    rules = rule_pack(pack, day.berths, day.gauges, day.stations)
    here = run_in_process(day, rules)
    schemas: dict[str, t.StructType] = {source: schema_of(source) for source in SOURCES if source in rules.sources}
    rows = [
        Row(one.source, one.time or 0, dict.fromkeys(schemas[one.source].names) | dict(one.values), place)
        for place, one in enumerate(day.readings)
        if one.source in schemas
    ]
    for buckets, seed in ((1, 1), (4, 2)):
        draw = random.Random(seed)
        plan = planned(
            rules.table(),
            schemas,
            is_streaming=True,
            event_time=TIME,
            sequence=PLACE,
            partition_by="mmsi",
            buckets=buckets,
        )
        model = MicroBatches(plan, draw)
        cuts = sorted(draw.sample(range(1, len(rows)), 4))
        for first, last in pairwise([0, *cuts, len(rows)]):
            model.run(rows[first:last])
        log = ChangeLog(day)
        for row in sorted(model.results, key=lambda row: row["end"]):
            reasons = row["value"]["because"]
            failed = [one["name"] for one in reasons if not one["missing"]]
            missing = (name for one in reasons for name in one["missing"])
            log.add(row["end"], row["key"], row["value"]["status"], failed, missing)
        assert log.changes == here.changes
        assert model.letters == []
    assert here.changes
