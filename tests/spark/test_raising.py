"""Rules that raise, on Spark: what the driver is told, and how a query goes on from its checkpoint."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from cartesius import Engine, Reactive, correlate
from dsl import RulePack, Source, require
from dsl.units import metres
from restrictions import as_table, retracting
from spark_bridge import correlate_frames

ship = Reactive("ship", table=True, key="mmsi")
inverse = correlate(
    ship=ship,
    yields=lambda ship: {"inverse": 1 / (ship.mmsi - 7), "berth": ship.berth},
    restrict=retracting() | as_table("ship"),
    name="inverse",
)


@pytest.fixture
def folder(tmp_path):
    at = pa.array([1_000_000, 2_000_000, 3_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"at": at, "mmsi": pa.array([8, 7, 9], pa.int64()), "berth": ["A", "B", "C"]})
    (tmp_path / "ship").mkdir()
    pq.write_table(table, tmp_path / "ship" / "0.parquet")
    return tmp_path


def started(spark, folder, program=inverse, **options):
    schema = spark.read.parquet(str(folder / "ship")).schema
    streams = {"ship": spark.readStream.schema(schema).parquet(str(folder / "ship"))}
    frames = correlate_frames(
        program, streams, event_time="at", order="arrival", partition_by="mmsi", buckets=3, **options
    )
    found = {"results": [], "dead": []}
    query = frames.start(
        results=lambda batch, _: found["results"].extend(batch.collect()),
        dead=lambda batch, _: found["dead"].extend(batch.collect()),
        checkpoint=str(folder / "checkpoint"),
        trigger={"availableNow": True},
    )
    return query, found


def test_the_driver_is_told_row_bucket_time_and_rule_and_another_policy_goes_on_from_the_checkpoint(spark, folder):
    query, found = started(spark, folder)
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination()
    told = str(caught.value)
    assert "RuleRaised: the query of 'inverse': expected rules that can be computed but ZeroDivisionError" in told
    assert "(in 'inverse': yields {'inverse': (1 / (ship.mmsi - 7)), 'berth': ship.berth})" in told
    assert "on the row of 'ship' at 1970-01-01T00:00:02+00:00 in bucket " in told
    assert '{"mmsi":7,"berth":"B"}' in told
    assert "It was raised here:" in told
    assert "\nZeroDivisionError: division by zero\n" in told
    assert 'on_error="dead_letter"' in told
    assert found == {"results": [], "dead": []}
    query, found = started(spark, folder, on_error="dead_letter")
    query.awaitTermination()
    assert sorted(row.berth for row in found["results"]) == ["A", "C"]
    [letter] = found["dead"]
    assert letter.payload == '{"mmsi":7,"berth":"B"}'
    assert letter.reason.startswith("the program raised ZeroDivisionError: division by zero (in 'inverse': yields")
    assert f"in bucket {letter.bucket}:" in told


def test_the_driver_is_told_it_of_a_batch_as_well(spark, folder):
    frames = {"ship": spark.read.parquet(str(folder / "ship"))}
    with pytest.raises(Exception, match="ZeroDivisionError") as caught:
        correlate_frames(inverse, frames, event_time="at").results.collect()
    assert '{"mmsi":7,"berth":"B"}' in str(caught.value)
    found = correlate_frames(inverse, frames, event_time="at", on_error="dead_letter")
    assert sorted(row.berth for row in found.results.collect()) == ["A", "C"]


def test_a_rule_of_a_pack_is_named_and_may_be_unknown_from_the_same_checkpoint_on(spark, folder):
    vessel = Source("ship", key="mmsi", mmsi=int, berth=metres)  # which is a text in the frame
    pack = RulePack("port", subject=vessel)
    with pack:
        require(vessel.berth <= 15 * metres, name="depth")
        require(vessel.mmsi > 7, name="number")
    query, _ = started(spark, folder, pack.table())
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination()
    raised = "TypeError: expected a number as 'berth' but got 'A' (type=str)"
    told = f"{raised} (in the requirement 'depth': ship.berth <= 15 m, in 'port': yields judge(ship))"
    assert f"the query of 'port': expected rules that can be computed but {told}" in str(caught.value)
    query, found = started(spark, folder, pack.table(), on_error="unknown")
    query.awaitTermination()
    engine, expected = Engine(pack.table(), on_error="unknown"), {}
    for time, (mmsi, berth) in enumerate([(8, "A"), (7, "B"), (9, "C")]):
        [event] = engine.push(pack.sources["ship"], {"mmsi": mmsi, "berth": berth}, at=time)
        expected[mmsi] = event.value.value
    assert {row.key: row.status for row in found["results"]} == {7: "restricted", 8: "unknown", 9: "unknown"}
    assert {row.key: said(row) for row in found["results"]} == {key: said(one) for key, one in expected.items()}
    assert found["dead"] == []


def said(verdict):
    return verdict.status, [(reason.name, tuple(reason.missing)) for reason in verdict.because]
