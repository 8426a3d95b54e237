"""The peers of the speed figures give what ours gives: every workload, small, row by row and in order.

Ours is the reference tier, pushed row by row; so a peer that is fast because it does less is found out.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from reactivex.operators import combine_latest
from reactivex.operators import zip as zip_

from bench import numpy_floor, stream_loops, table_loops
from bench.arrow_rows import head, n_events, push_all, pushes, rows
from bench.workloads import SECOND, band, stream_workloads, table_workloads, two_streams
from cartesius import Engine

STREAMS = stream_workloads(n_three=120, n_two=150, keys=6, seed=3)
TABLES = table_workloads(n_two=200, n_foreign=120, keys=20, seed=4)

PEERS = [
    ("mostRecently, round robin", stream_loops.latest_of_three),
    ("mostRecently, random", stream_loops.latest_of_three),
    ("mostRecently, round robin", stream_loops.rx_latest_of_three),
    ("mostRecently, random", stream_loops.rx_latest_of_three),
    ("affinely, round robin", stream_loops.affine_of_three),
    ("affinely, random", stream_loops.affine_of_three),
    ("zip, round robin", stream_loops.zip_of_three),
    ("zip, random", stream_loops.zip_of_three),
    ("zip, round robin", stream_loops.rx_zip_of_three),
    ("zip, random", stream_loops.rx_zip_of_three),
    ("keyed latest", stream_loops.keyed_latest),
    ("keyed latest", numpy_floor.keyed_latest),
    ("keyed latest", numpy_floor.coded_latest),
    ("band", stream_loops.band),
    ("outer", table_loops.outer),
    ("left", table_loops.left_outer),
    ("foreign key", lambda batch: table_loops.ForeignLoop(TABLES["foreign key"]().before or {}).take(batch)),
]


def few_values(batch):
    """Let changes often bring the value that is there already."""
    found = {}
    for name, each in batch.items():
        values = pa.array([value % 2 for value in each["value"].to_pylist()])
        found[name] = each.set_column(each.column_names.index("value"), "value", values)
    return found


@pytest.mark.parametrize(("label", "peer"), PEERS, ids=[f"{label}-{number}" for number, (label, _) in enumerate(PEERS)])
def test_a_peer_gives_what_the_reference_tier_gives(label, peer):
    workload = {**STREAMS, **TABLES}[label]()
    engine = Engine(workload.output(), tier="reference", lateness=workload.lateness)
    if workload.before is not None:
        push_all(engine, pushes(workload.before, engine.inputs))
    ours = rows(push_all(engine, pushes(workload.batch, engine.inputs)))
    assert len(ours) > 20
    assert rows(peer(workload.batch)) == ours


@pytest.mark.parametrize(
    ("label", "peer"), [("outer", table_loops.outer), ("left", table_loops.left_outer)], ids=["outer", "left"]
)
def test_a_value_that_is_there_already_is_no_change_by_hand_either(label, peer):
    workload = TABLES[label]()
    batch = few_values(workload.batch)
    engine = Engine(workload.output(), tier="reference")
    ours = rows(push_all(engine, pushes(batch, engine.inputs)))
    assert len(ours) < n_events(batch) - 20
    assert rows(peer(batch)) == ours


def test_the_band_drops_what_is_too_old_by_hand_either():
    batch = two_streams(150, 3, seed=2, tick=SECOND)
    engine = Engine(band(), tier="reference", lateness=0)
    ours = rows(push_all(engine, pushes(batch, engine.inputs)))
    assert engine.stats.retained < 30
    assert len(ours) > 50
    assert rows(stream_loops.band(batch)) == ours


def test_by_push_rxpy_gives_as_many_results():
    for label, operator in (("mostRecently, random", combine_latest), ("zip, random", zip_)):
        workload = STREAMS[label]()
        engine = Engine(workload.output(), tier="reference")
        ours = push_all(engine, pushes(workload.batch, engine.inputs))
        assert stream_loops.rx_pushing(operator, workload.batch)() == len(ours)


def test_the_first_events_are_those_that_arrive_first():
    batch = STREAMS["zip, random"]().batch
    few = head(batch, 50)
    assert n_events(few) == 50
    assert sorted(order for each in few.values() for order in each["order"].to_pylist()) == list(range(50))
