"""The peers of the speed figures give what ours gives: every workload, small, row by row and in order.

Ours is the reference tier, pushed row by row; so a peer that is fast because it does less is found out.
"""

from __future__ import annotations

from functools import partial

import attrs
import pyarrow as pa
import pytest
from reactivex.operators import combine_latest
from reactivex.operators import zip as zip_

from bench import numpy_floor, polars_frames, stream_loops, table_loops
from bench.arrow_rows import head, n_events, push_all, pushes, rows
from bench.program_cases import pack_workload, program_workload
from bench.workloads import (
    BAND,
    SECOND,
    band,
    readings,
    stream_workloads,
    table_workloads,
    three_streams,
    two_streams,
)
from cartesius import Engine
from cartesius.columns.results import events_of
from examples.experiments.program_rows import PROGRAMS

STREAMS = stream_workloads(n_three=120, n_two=150, keys=6, seed=3)
STREAMS["tumbling sum"] = partial(attrs.evolve, STREAMS["tumbling sum"](), batch=readings(150, 6, 3, tick=2_000))
TABLES = table_workloads(n_two=200, n_foreign=120, keys=20, seed=4)

PEERS = [
    ("mostRecently, round robin", stream_loops.latest_of_three),
    ("mostRecently, random", stream_loops.latest_of_three),
    ("mostRecently, round robin", stream_loops.rx_latest_of_three),
    ("mostRecently, random", stream_loops.rx_latest_of_three),
    ("mostRecently, round robin", polars_frames.latest_of_three),
    ("mostRecently, random", polars_frames.latest_of_three),
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
    ("tumbling sum", polars_frames.tumbling_sums),
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


# -- oracles: from scratch after every event, by comprehension ---------------------------------------------------------


def arrived(batch):
    """Return what arrives, as (input, row), in order."""
    every = [(number, row) for number, each in enumerate(batch.values()) for row in each.to_pylist()]
    return sorted(every, key=lambda item: item[1]["order"])


def span(*parts):
    return min(part["at"] for part in parts), max(part["at"] for part in parts)


def values_of(found):
    return [(tuple(value.values()), start, end) for _, _, value, start, end in rows(found)]


@pytest.mark.parametrize("way", ["round robin", "random"])
def test_three_way_joins_by_hand_are_those_of_an_oracle(way):
    batch = STREAMS[f"zip, {way}"]().batch
    events = arrived(batch)
    inputs = [[row for side, row in events if side == number] for number in range(3)]
    full = []
    for end in range(1, len(events) + 1):
        latest = [[row for side, row in events[:end] if side == number][-1:] for number in range(3)]
        full += [[each[0] for each in latest]] if all(latest) else []
    expected = [(tuple(part["value"] for part in parts), *span(*parts)) for parts in full]
    assert values_of(stream_loops.latest_of_three(batch)) == expected
    zipped = [(tuple(part["value"] for part in parts), *span(*parts)) for parts in zip(*inputs, strict=True)]
    assert values_of(stream_loops.zip_of_three(batch)) == zipped


@pytest.mark.parametrize("n", [30, 90])
def test_round_robin_gives_as_many_results_as_the_paper_counts(n):
    batch = three_streams(n, seed=1, shuffled=False)
    assert stream_loops.latest_of_three(batch).num_rows == n - 2
    assert stream_loops.affine_of_three(batch).num_rows == stream_loops.zip_of_three(batch).num_rows == n // 3


def test_affinely_by_hand_is_greedy_the_newest_first():
    batch = STREAMS["affinely, random"]().batch
    left = [[], [], []]
    expected = []
    for side, row in arrived(batch):
        left[side].append(row)
        if all(left):
            parts = [max(each, key=lambda row: row["order"]) for each in left]
            expected.append((tuple(part["value"] for part in parts), *span(*parts)))
            left = [[row for row in each if row not in parts] for each in left]
    assert values_of(stream_loops.affine_of_three(batch)) == expected


def test_keyed_joins_by_hand_are_those_of_an_oracle():
    batch = two_streams(150, 4, seed=6, tick=SECOND)
    events = arrived(batch)
    latest, near = [], []
    for place, (side, row) in enumerate(events):
        before = [old for other, old in reversed(events[:place]) if other != side and old["ship"] == row["ship"]]
        both = [(old, row) if side else (row, old) for old in before]
        found = [((one["ship"], one["speed"], other["speed"]), *span(one, other)) for one, other in both]
        latest += found[:1]
        near += [each for each in found if each[2] - each[1] <= BAND]
    assert 0 < len(near) < sum(len(each) for each in (latest, near))
    for peer in (stream_loops.keyed_latest, numpy_floor.keyed_latest, numpy_floor.coded_latest):
        assert values_of(peer(batch)) == latest
    assert values_of(stream_loops.band(batch)) == near


def table_after(events, side):
    found = {}
    for other, row in events:
        if other == side:
            found.pop(row["key"], None)
            if not row.get("deleted"):
                found[row["key"]] = row
    return found


@pytest.mark.parametrize(("peer", "right_alone"), [(table_loops.outer, True), (table_loops.left_outer, False)])
def test_outer_joins_by_hand_give_the_table_from_scratch_after_every_event(peer, right_alone):
    batch = TABLES["outer"]().batch
    events = arrived(batch)
    shown = {}
    changes = rows(peer(batch))
    for place, (_, row) in enumerate(events, 1):
        while changes and changes[0][4] <= row["at"]:
            key, is_gone, value, _, _ = changes.pop(0)
            assert is_gone == (key in shown) if is_gone else value != shown.get(key)
            shown.pop(key, None)
            if not is_gone:
                shown[key] = value
        left, right = table_after(events[:place], 0), table_after(events[:place], 1)
        keys = left.keys() | right.keys() if right_alone else left.keys()
        assert shown == {
            key: {"0": left.get(key, {}).get("value"), "1": right.get(key, {}).get("value")} for key in keys
        }
    assert not changes


# -- the compiled tier -------------------------------------------------------------------------------------------------

MADE = {**STREAMS, **TABLES, "pack": lambda: pack_workload(40, 60, seed=2, ships=6)[1]}
MADE |= {name: partial(lambda name: program_workload(name, 8, 90, seed=2)[1], name) for name in PROGRAMS}


@pytest.mark.parametrize("label", MADE)
def test_a_batch_gives_what_the_reference_tier_gives(label):
    workload = MADE[label]()
    reference, engine = workload.engine("reference"), workload.engine()
    ours = push_all(reference, pushes(workload.batch, reference.inputs))
    assert len(ours) > 5
    assert events_of(engine.push_many(workload.batch)) == ours
