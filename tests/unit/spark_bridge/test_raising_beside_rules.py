"""Links and totals that raise are unknown in a bucket as they are in this process, however the rows are cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Engine
from cartesius.errors import RuleRaised
from dsl import RulePack, Source, distance, nearest, number_of, position, require
from dsl.units import metres
from spark_bridge.transport.arrivals import Input
from tests.unit.spark_bridge.bucket_rows import Row, buckets_of, letters, run, shown

PLACE = t.ArrayType(t.DoubleType())
SHIP = t.StructType([t.StructField("mmsi", t.LongType()), t.StructField("place", PLACE)])
GAUGE = t.StructType([t.StructField("id", t.StringType()), t.StructField("height", t.DoubleType())])
BUOY = t.StructType([t.StructField("id", t.LongType()), t.StructField("place", PLACE)])
INPUTS = (
    Input("ship", SHIP, ("mmsi", "place"), True, "mmsi"),
    Input("gauge", GAUGE, ("id", "height"), True, "id"),
    Input("buoy", BUOY, ("id", "place"), True, "id"),
)
ship = Source("ship", key="mmsi", mmsi=int, place=position)
gauge = Source("gauge", key="id", id=str, height=metres)
buoy = Source("buoy", key="id", id=int, place=position)
HARBOUR = {"south": (40.0, -74.0), "north": (41.0, -74.0)}
PORT = RulePack("port", subject=ship, links=[gauge.id == nearest(HARBOUR, ship.place)])
with PORT:
    require(gauge.height >= 2 * metres, name="tide")
    require(number_of(buoy, where=distance(buoy.place, buoy.place) <= 10 * metres) <= 1, name="buoys")
NAMES = ("ship", "gauge", "buoy")
GAUGES = [Row(0, 1, 1, {"id": name, "height": 3.0}) for name in HARBOUR]
HALF = -1.0
"""Stands for a position of one number."""
RAISED = "ValueError: not enough values to unpack (expected 2, got 1)"


def place(latitude):
    return [latitude] if latitude == HALF else [latitude, -74.0]


def at_ship(time, latitude):
    return Row(0, time, 0, {"mmsi": 1, "place": place(latitude)})


def at_buoy(time, number, latitude):
    return Row(0, time, 2, {"id": number, "place": place(latitude)})


def told(rows, cuts, **options):
    program, state, found = buckets_of(PORT.table(), inputs=INPUTS, on_error="unknown", **options), None, []
    for since, until in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        outcome = run(program, 0, state, rows[since:until])
        state = outcome.state
        assert letters(outcome) == []
        found += [
            (key, value["status"], [one["missing"] for one in value["because"]]) for _, key, value, _ in shown(outcome)
        ]
    return found


@pytest.mark.parametrize("row", [at_ship(5, HALF), at_buoy(5, 1, HALF)], ids=["link", "total"])
def test_by_default_a_link_or_a_total_that_raises_fails_the_query(row):
    with pytest.raises(RuleRaised, match=re.escape(RAISED)):
        run(buckets_of(PORT.table(), inputs=INPUTS), 0, None, [*GAUGES, at_ship(2, 40.0), row])


def test_a_link_that_raises_is_named_by_the_verdict():
    near = f"gauge.id == nearest(2 places, ship.place) raised {RAISED}"
    rows = [*GAUGES, at_ship(2, 40.0), at_ship(3, HALF), at_ship(4, 41.0)]
    assert told(rows, [3]) == [(1, "allowed", []), (1, "unknown", [[near]]), (1, "allowed", [])]


@given(
    st.lists(
        st.builds(at_ship, st.just(2), st.sampled_from([40.0, 41.0, HALF]))
        | st.builds(at_buoy, st.just(2), st.integers(1, 3), st.sampled_from([40.0, HALF])),
        max_size=12,
    ),
    st.lists(st.integers(0, 12), max_size=3),
)
@settings(max_examples=10)
def test_what_is_unknown_in_a_bucket_is_so_in_this_process(drawn, cuts):
    rows = [*GAUGES, *(Row(0, time, row.source, row.columns) for time, row in enumerate(drawn, 2))]
    engine, expected = Engine(PORT.table(), on_error="unknown"), []
    for row in rows:
        value = {name: tuple(one) if name == "place" else one for name, one in row.columns.items()}
        for change in (event.value for event in engine.push(PORT.sources[NAMES[row.source]], value, at=row.time)):
            missing = [list(reason.missing) for reason in change.value.because]
            expected.append((change.key, change.value.status, missing))
    assert told(rows, sorted(min(cut, len(rows)) for cut in cuts)) == expected


def outcome_of(rows, policy):
    """What a bucket gives for rows that come at once: results and letters, or the error."""
    try:
        outcome = run(buckets_of(PORT.table(), inputs=INPUTS, on_error=policy), 0, None, rows)
    except RuleRaised as error:
        return str(error)
    results = [(key, value["status"]) for _, key, value, _ in shown(outcome)]
    return results, [(letter["kind"], letter["reason"], letter["payload"]) for letter in letters(outcome)]


@pytest.mark.parametrize("policy", ["fail", "dead_letter", "unknown"])
@pytest.mark.parametrize("gauges", [GAUGES, []], ids=["gauges", "no gauge yet"])
def test_a_link_that_raises_in_a_large_batch_does_what_it_does_row_by_row(monkeypatch, policy, gauges):
    """Also where it leads to nothing as yet: its row would be kept, and found to be bad when it is too late."""
    ships = [Row(0, 2, 0, {"mmsi": mmsi, "place": [40.0, -74.0]}) for mmsi in range(40)]
    rows = [*gauges, *ships, Row(0, 3, 0, {"mmsi": 99, "place": place(HALF)})]
    at_once = outcome_of(rows, policy)
    monkeypatch.setattr("spark_bridge.running.buckets._MANY", 1 << 30)
    assert at_once == outcome_of(rows, policy)
    if policy == "fail":
        assert RAISED in at_once
    else:
        assert (len(at_once[0]), len(at_once[1])) == {"dead_letter": (40, 1), "unknown": (41, 0)}[policy]
