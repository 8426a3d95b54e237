"""What a checkpoint has noted of its query is what the next one must be."""

from __future__ import annotations

import json
import random
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import types as t

from cartesius import Reactive, correlate
from cartesius.errors import SnapshotMismatch
from restrictions import as_table, retracting
from spark_bridge.state.checkpoints import CheckpointNote, objection, settled
from tests.laws.spark_model import MicroBatches, Row, planned

NOTE: dict[str, Any] = {
    "waits": True,
    "has_watermark": True,
    "program": "p",
    "about": {"program": {}, "keys": {"ship": "mmsi"}, "buckets": 3, "inputs": {}},
}


def test_the_same_query_goes_on():
    assert objection(NOTE, NOTE, {}) == ""


def test_rows_are_spread_by_the_same_columns_for_ever():
    """Otherwise rows of a key would go to a bucket that has not its memory."""
    now = {**NOTE, "about": {**NOTE["about"], "keys": {"ship": "imo"}}}
    assert objection(NOTE, now, {}) == (
        "its rows were spread over the buckets by {'ship': 'mmsi'}, and not by {'ship': 'imo'};"
        " write partition_by={'ship': 'mmsi'}"
    )


def test_the_number_of_buckets_is_fixed():
    now = {**NOTE, "about": {**NOTE["about"], "buckets": 1}}
    fixed = "which is fixed for the life of a checkpoint"
    assert objection(NOTE, now, {}) == f"its states are in 3 buckets, {fixed}, and not in 1; write buckets=3"
    assert objection(now, NOTE, {}) == f"its states are in 1 bucket, {fixed}, and not in 3; write buckets=1"


def test_frames_stay_in_their_order():
    """Spark numbers the sources of a query: in another order each would go on at the offsets of another one."""
    columns = {"ship": {"mmsi": "bigint"}, "berth": {"id": "bigint"}}
    before, now = (
        {**NOTE, "about": {**NOTE["about"], "inputs": {name: columns[name] for name in names}}}
        for names in (("ship", "berth"), ("berth", "ship"))
    )
    assert objection(before, before, {}) == ""
    assert objection(before, now, {}).startswith("its frames were in the order ship, berth, by which")


def test_a_note_that_does_not_say_it_is_of_an_earlier_release():
    about = {name: value for name, value in NOTE["about"].items() if name != "buckets"}
    assert "an earlier release" in objection({**NOTE, "about": about}, NOTE, {})


class Path(str):
    """As Hadoop's."""

    def __new__(cls, *parts):
        return super().__new__(cls, "/".join(parts))

    def getFileSystem(self, configuration):
        return configuration

    def getName(self):
        return self.rsplit("/")[-1]


class Files(dict[str, bytes]):
    """Hadoop's files, as far as a note asks of them: the content of each, by its path; a folder's is empty."""

    def makeQualified(self, path):
        return path

    def exists(self, path):
        return path in self

    def listStatus(self, path):
        inner = [Path(one) for one in self if one.startswith(f"{path}/")]
        return [mock.Mock(getPath=lambda one=one: one) for one in inner]

    def open(self, path):
        return mock.Mock(readAllBytes=lambda: self[path])

    def create(self, path, _):
        return mock.Mock(write=lambda content: self.update({path: bytes(content)}))

    def note(self, *running):
        spark = mock.MagicMock()
        spark.streams.active = [mock.Mock(id=one) for one in running]
        spark.sparkContext._jvm.org.apache.hadoop.fs.Path = Path
        spark.sparkContext._jsc.hadoopConfiguration.return_value = self
        return CheckpointNote(spark, "kept")


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff"])
def test_a_damaged_note_is_named(text):
    files = Files({"kept/cartesius.json": text, "kept/commits": b""})
    with pytest.raises(SnapshotMismatch, match=r"kept/cartesius.json: expected what a query has noted .* damaged"):
        files.note().read()


def noted(**about):
    return {**NOTE, "about": {**NOTE["about"], **about}, "program": repr(about)}


CARD = {"python": "3.11", "outputs": ["a"], "correlations": {}}
SOURCES = {"inputs": {"ship": {"mmsi": "bigint"}, "berth": {"id": "bigint"}}, "program": CARD}
COMMITTED = {"kept/commits": b"", "kept/commits/.0.crc": b"", "kept/commits/0": b""}


@pytest.mark.parametrize(
    "now",
    [
        noted(**SOURCES, buckets=8),
        noted(**SOURCES, keys={}),
        noted(**{**SOURCES, "program": CARD | {"outputs": ["b"]}}),
    ],
)
def test_a_query_may_be_mended_until_it_has_committed_a_micro_batch(now):
    """Spark makes the folder of commits as it begins; what has failed in its first micro-batch has no state."""
    files = Files()
    before = noted(**SOURCES)
    assert settled(files.note(), before, {}) == ({}, None)
    files |= {"kept/commits": b"", "kept/commits/.0.crc": b""}
    assert settled(files.note(), now, {}) == ({}, None)
    assert files.note().read()["program"] == now["program"]
    files |= COMMITTED
    with pytest.raises(SnapshotMismatch):
        settled(files.note(), before, {})


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (noted(inputs={"berth": {}, "ship": {}}), "its frames were in the order ship, berth, by which"),
        (noted(**SOURCES, static={"berth": "digest"}), "its frames were in the order ship, berth, by which"),
        (noted(**SOURCES, live=True), "its frames were in the order ship, berth, by which"),
        (noted(inputs={"ship": {}}), "its frames were in the order ship, berth, by which"),
        (noted(**SOURCES) | {"waits": False}, "its rows wait for the watermark in one of the two"),
        (noted(**SOURCES) | {"has_watermark": False}, "it had a watermark, by which .* and has none now"),
    ],
)
def test_but_its_frames_and_the_columns_of_its_state_stay(now, told):
    """Spark has noted which rows of the source of each number it has begun with, and whether states have a timeout."""
    files = Files({"kept/commits": b""})
    settled(files.note(), noted(**SOURCES), {})
    with pytest.raises(SnapshotMismatch, match=told):
        settled(files.note(), now, {})


def test_a_query_that_runs_is_not_taken_for_one_to_be_mended():
    """Spark would end it without a word, for another one that was started on its checkpoint by mistake."""
    files = Files({"kept/commits": b"", "kept/metadata": b'{"id":"7"}'})
    settled(files.note("8"), noted(**SOURCES), {})
    with pytest.raises(SnapshotMismatch, match="its states are in 3 buckets"):
        settled(files.note("8", "7"), noted(**SOURCES, buckets=8), {})
    assert settled(files.note("8"), noted(**SOURCES, buckets=8), {}) == ({}, None)


def test_states_that_nothing_was_noted_of_speak_for_themselves():
    """They are of an earlier release, or of Spark's own `writeStream`: a query that they refuse must leave no note."""
    files = Files(COMMITTED)
    assert settled(files.note(), NOTE, {}) == ({}, None)
    assert files == COMMITTED


def test_a_note_that_stays_the_same_is_not_written_again():
    """A driver that dies as it writes leaves a damaged one."""
    files = Files(COMMITTED | {"kept/cartesius.json": json.dumps(NOTE | {"ignored": {}}).encode()})
    files.create = mock.Mock(side_effect=AssertionError)  # type: ignore[method-assign]  # that is the point
    assert settled(files.note(), NOTE, {}) == ({}, None)


KINDS = {"at": t.TimestampType(), "mmsi": t.LongType(), "name": t.StringType(), "gone": t.BooleanType()}
SHIPS = {"ship": t.StructType([t.StructField(name, kind) for name, kind in KINDS.items()])}


def plan_of(**options):
    ship = Reactive("ship", table=True, key="mmsi")
    listed = correlate(
        ship=ship, yields=lambda ship: {"name": ship.name}, restrict=retracting() | as_table("ship"), name="listed"
    )
    return planned(listed, SHIPS, is_streaming=True, order="arrival", buckets=1, **options)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"deleted": "gone"}, {}, "has deleted=None now; write deleted={'ship': 'gone'}"),
        ({}, {"deleted": "gone"}, "has deleted={'ship': 'gone'} now; write deleted=None"),
    ],
)
def test_what_deletes_rows_stays_so(before, now, told):
    """Otherwise deletions would become updates, and `gone` a new column, which is ignored."""
    was, is_ = (plan_of(**options).runner.states.note(waits=False, has_watermark=False) for options in (before, now))
    assert objection(was, was, {}) == ""
    assert told in objection(was, is_, {})
    batches = MicroBatches(plan_of(**before), random.Random(0))
    batches.run([Row("ship", 1_700_000_000_000_000, {"mmsi": 1, "name": "EVA", "gone": False})])
    batches.restart(plan_of(**now))
    with pytest.raises(SnapshotMismatch, match="its states are of deleted="):
        batches.run([Row("ship", 1_700_000_001_000_000, {"mmsi": 1, "name": "EVA", "gone": True})])
    assert [result["value"] for result in batches.results] == [{"name": "EVA"}]
