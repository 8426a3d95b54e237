"""What a state holds, told from the bytes alone."""

from __future__ import annotations

from collections import Counter
from unittest import mock

import attrs
import pytest
from py4j.protocol import Py4JJavaError

from cartesius.errors import InvalidArgument, SnapshotMismatch
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.state.state_reports import SlotContents, StateReport, contents, report_of, state_report
from tests.unit.spark_bridge.bucket_rows import Row, run
from tests.unit.spark_bridge.test_bucket_states import buckets_of, latest, rows, zipped

HOUR = 3_600_000_000


def reported(program, all_rows, bucket=0, **options):
    program.states = attrs.evolve(program.states, keys={"left": "k", "right": "k", "ship": "k"})
    return run(program, bucket, None, all_rows, **options).state


def keyed(source, n, key="a", time=0):
    return [Row(0, time + number, source, {"k": f"{key}{number}", "n": number}) for number in range(n)]


@pytest.mark.parametrize("n", [3, 300])
def test_rows_of_each_slot_and_the_oldest(n):
    """Few rows are stored as entries, many as columns: the same is told of both."""
    found = contents(reported(buckets_of(latest), keyed(0, n, time=HOUR) + keyed(1, 2, time=2 * HOUR), 5))
    assert (found.bucket, found.version, found.waiting) == (5, 1, 0)
    assert found.slots == (SlotContents("latest", "left", n, HOUR), SlotContents("latest", "right", 2, 2 * HOUR))
    assert found.keys == Counter({f"a{number}": 1 + (number < 2) for number in range(n)})
    assert found.rows == n + 2


def test_rows_that_wait():
    found = contents(reported(buckets_of(latest), keyed(0, 4, time=9), clock=5, holds=True))
    assert (found.waiting, found.slots[0].rows, found.slots[0].oldest) == (4, 0, None)


def test_the_rows_of_a_table_and_of_gates():
    found = contents(reported(buckets_of(rows), keyed(1, 40) + keyed(0, 3)))
    assert {(slot.slot, slot.rows) for slot in found.slots} == {("ship", 40), ("left", 1)}
    assert contents(reported(buckets_of(zipped), keyed(0, 40))).slots[0].slot == "left"


def test_a_report_names_what_is_heaviest():
    program = buckets_of(latest)
    two = [*keyed(0, 100, "b", HOUR), Row(0, HOUR, 1, {"k": "b7", "n": 1})]
    report = report_of([reported(program, keyed(0, 5), 1), reported(program, two, 3)])
    assert [one.bucket for one in report.buckets] == [3, 1]
    assert report.heaviest_key == ("b7", 2)
    lines = str(report).splitlines()
    assert lines[0].split() == ["bucket", "version", "bytes", "output", "slot", "rows", "oldest", "event"]
    assert lines[1].split()[3:] == ["latest", "left", "100", "1970-01-01", "01:00:00+00:00"]
    assert lines[2].split() == ["latest", "right", "1", "1970-01-01", "01:00:00+00:00"]
    assert lines[-3] == f"in all: 2 buckets, {report.size:,} bytes, 106 rows"
    assert lines[-2].startswith("heaviest bucket: 3, ")
    assert lines[-1] == "heaviest key: b7, 2 rows"


def test_only_the_largest_buckets_are_shown():
    program = buckets_of(latest)
    report = report_of(reported(program, keyed(0, bucket), bucket) for bucket in range(23))
    assert len(report.buckets) == 23
    assert "… and 3 smaller buckets" in str(report)


def test_nothing_yet():
    assert str(StateReport(())) == "no bucket has a state yet"


def test_a_state_that_spark_cannot_read_is_told_by_its_cause():
    """Its files are asked for late, and what is said of one that is gone is deep inside."""
    inner = mock.Mock(getCause=lambda: None, __str__=lambda _: "java.io.IOException: no 7.delta\n\tat Reader")
    outer = mock.Mock(getCause=lambda: inner, _target_id="o1")
    spark = mock.MagicMock()
    frame = spark.read.format.return_value.load.return_value
    frame.schema.__getitem__.return_value.dataType.simpleString.return_value = (
        "struct<groupState:struct<engine:binary>>"
    )
    frame.select.return_value.toLocalIterator.side_effect = Py4JJavaError("An error occurred", outer)
    with pytest.raises(InvalidArgument, match=r"'kept' has none that can be read \(java.io.IOException: no 7.delta\);"):
        state_report("kept", spark=spark)


def test_a_damaged_state_is_told():
    state = bytearray(reported(buckets_of(latest), keyed(0, 5), 4))
    state[-1] ^= 1
    with pytest.raises(SnapshotMismatch, match="bucket 4, version 1"):
        report_of([bytes(state)])


def test_without_a_partition_there_is_no_heaviest_key():
    program = buckets_of(latest)
    assert isinstance(program.states, BucketStates)
    assert report_of([run(program, 0, None, keyed(0, 5)).state]).heaviest_key is None
