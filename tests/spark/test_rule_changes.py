"""Rules change in a running query on Spark, over restarts as well: no state is lost, and all is as the new ones say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dsl import RulePack
from dsl.versions import CHANGE_COLUMNS, publish
from spark_bridge import correlate_frames

pytestmark = pytest.mark.slow  # five queries; tests/laws/test_bridge_changes.py does the same without a JVM

START = datetime(2024, 6, 30, tzinfo=UTC)
HEAD = """pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
    destination: text
source berth by id:
    id: text
    depth: metres
links:
    berth id is destination
"""
SCHEMAS = {"vessel": "mmsi long, draught double, destination string", "berth": "id string, depth double"}
DEEP = HEAD + "draught must be at most 15 m\n    name: deep\n"
DEEPER = HEAD + "draught must be at most 9 m\n    name: deep\n"
BOTH = DEEPER + "berth depth must be at least 1 m\n    name: berth\n"
OTHER = HEAD.replace("draught: metres", "draught: feet") + "draught must be at most 9 ft\n"


def version(text):
    return RulePack.from_text(text).version


class Query:
    """The query on its checkpoint, run to the end of what there is."""

    def __init__(self, spark, path):
        self.spark, self.path, self.minute = spark, path, 0
        for folder in ("vessel", "berth", "rules"):
            (path / folder).mkdir()

    def arrive(self, *draughts):
        at = [START + timedelta(minutes=self.minute)] * len(draughts)
        columns = {"mmsi": pa.array([mmsi for mmsi, _ in draughts], pa.int64())}
        columns |= {"draught": pa.array([draught for _, draught in draughts], pa.float64())}
        columns |= {"destination": pa.array(["A"] * len(draughts))}
        table = pa.table({**columns, "at": pa.array(at, pa.timestamp("us", "UTC"))})
        pq.write_table(table, self.path / "vessel" / f"{self.minute:03}.parquet")
        self.minute += 1

    def run(self, text=DEEP, *, fails=False):
        """Return what was said, and what was refused; one that ``fails`` does so after the batch was computed."""
        read = self.spark.readStream
        streams = {
            "vessel": read.schema("mmsi long, draught double, destination string, at timestamp").parquet(
                str(self.path / "vessel")
            ),
            "berth": read.schema("id string, depth double, at timestamp").parquet(str(self.path / "berth")),
        }
        frames = correlate_frames(
            RulePack.from_text(text).live(),
            streams,
            event_time="at",
            buckets=4,
            order="arrival",
            unbounded=True,
            changes=read.schema(CHANGE_COLUMNS).json(str(self.path / "rules")),
        )
        said, refused = [], []

        def take(batch, _):
            said.extend((row.key, row.status, row.pack) for row in batch.collect())
            assert not fails, "the sink is not there"

        query = frames.start(
            results=take,
            dead=lambda batch, _: refused.extend((row.source, row.reason) for row in batch.collect()),
            checkpoint=str(self.path / "checkpoint"),
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        return sorted(said), refused


def test_rules_change_over_restarts(spark, tmp_path):
    query = Query(spark, tmp_path)
    query.arrive((1, 8.0), (2, 10.0), (3, 12.0), (4, 7.0))
    assert query.run()[0] == [(key, "allowed", version(DEEP)) for key in (1, 2, 3, 4)]
    publish(DEEPER, tmp_path / "rules", who="eva")
    publish(OTHER, tmp_path / "rules", who="mallory")
    changed = [(key, "restricted", version(DEEPER)) for key in (2, 3)]
    with pytest.raises(Exception, match="the sink is not there"):
        query.run(fails=True)
    said, refused = query.run()  # the micro-batch comes again, by the same rules, though no row is new
    assert said == changed
    ((source, reason),) = refused
    assert source == "changes"
    assert f"version {version(OTHER)} cannot go on with what is kept: it declares 'vessel' otherwise" in reason
    query.arrive((1, 9.5), (5, 3.0))
    said, _ = query.run(BOTH)  # the checkpoint says which rules are in force, not what it is started with
    assert said == [(1, "restricted", version(DEEPER)), (5, "allowed", version(DEEPER))]
    publish(BOTH, tmp_path / "rules")
    query.arrive((4, 20.0))
    said, _ = query.run()
    unknown = [(key, "unknown", version(BOTH)) for key in (4, 5)]  # 4 at first, by the rules, then by her own row
    assert said == sorted([*((key, "restricted", version(BOTH)) for key in (1, 2, 3, 4)), *unknown])
