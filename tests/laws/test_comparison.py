"""Laws of comparing two packs: with itself there is nothing, and the difference is that of two full judgements.

The judgements are made afresh, of each subject at each hour, from the rows that are the newest then.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from dsl import RulePack
from dsl.comparison import compare

START = datetime(2020, 6, 30, tzinfo=UTC)
DECLARED = """
pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
    kind: one of "tanker", "cargo"
    berth: text
source berth by id:
    id: text
    depth: metres
source wind, stale after 2 h:
    velocity: knots
links:
    berth id is vessel berth
"""
RULES = (
    "draught must be at most {} m\n    name: draught\n",
    "when kind is \"tanker\": berth depth - draught must be at least {} m\n    name: clearance\n",
    "wind velocity must be at most 1{} kn\n    name: wind\n",
)  # fmt: skip
STALE = 2
LIMITS = (None, 2, 5)
"""None: the rule is left out."""


@cache
def pack(limits):
    rules = [rule.format(limit) for rule, limit in zip(RULES, limits, strict=True) if limit is not None]
    return RulePack.from_text(DECLARED + "".join(rules))


PACKS = st.sampled_from([limits for limits in product(LIMITS, repeat=3) if any(limits)])
METRES = st.sampled_from([None, 1.0, 3.0, 6.0, 9.0])
TIMES = st.integers(0, 6)
SHIPS = st.tuples(TIMES, st.integers(1, 3), METRES, st.sampled_from([None, "tanker", "cargo"]), st.sampled_from("AB"))
HISTORIES = st.tuples(
    st.lists(SHIPS, min_size=1, max_size=8),
    st.lists(st.tuples(TIMES, st.sampled_from("AB"), METRES), max_size=4),
    st.lists(st.tuples(TIMES, st.sampled_from([None, 11.0, 13.0, 16.0])), max_size=4),
)
COLUMNS = {
    "vessel": [("mmsi", pa.int64()), ("draught", pa.float64()), ("kind", pa.string()), ("berth", pa.string())],
    "berth": [("id", pa.string()), ("depth", pa.float64())],
    "wind": [("velocity", pa.float64())],
}


def written(folder, history, *packs):
    """Write a history, and return the rows that packs read in order: the time, the source, the row."""
    found = []
    for (source, columns), rows in zip(COLUMNS.items(), history, strict=True):
        names = ["time", *(name for name, _ in columns)]
        named = [dict(zip(names, row, strict=True)) for row in sorted(rows, key=lambda row: row[0])]
        found += [(row.pop("time"), source, dict(row)) for row in [{**each} for each in named]]
        for row in named:
            row["time"] = START + timedelta(hours=row["time"])
        schema = pa.schema([("time", pa.timestamp("us", "UTC")), *columns])
        pq.write_table(pa.Table.from_pylist(named, schema), folder / f"{source}.parquet")
    read = {source for one in packs for source in one.sources}
    return sorted((each for each in found if each[1] in read), key=lambda each: each[0])  # stable


def judged_afresh(rules, rows):
    """Return what a pack says of each ship at each hour up to the last row of either pack."""
    hours = range(rows[0][0], rows[-1][0] + 1)
    state, found = {source: {} for source in COLUMNS}, {}
    for time in hours:
        for at, source, row in rows:
            if at == time:
                state[source][row.get("mmsi", row.get("id"))] = (at, row)
        for mmsi, (_, ship) in state["vessel"].items():
            keys = {"vessel": mmsi, "berth": ship["berth"], "wind": None}
            seen = {source: state[source].get(keys[source], (time, None)) for source in rules.sources}
            fresh = {source: row for source, (at, row) in seen.items() if source != "wind" or time < at + STALE}
            verdict = rules.check({source: fresh.get(source) for source in rules.sources})
            missing = sorted({name for reason in verdict.undecided for name in reason.missing})
            found[mmsi, time] = (verdict.status, {reason.name for reason in verdict.failed}, missing)
    return hours, found


def differences_afresh(old, new, rows):
    """Return the hours in which two packs say different things, ship and hour, and the ships of which they begin to."""
    hours, one = judged_afresh(old, rows)
    _, other = judged_afresh(new, rows)
    both = {at: (one[at], other[at]) for at in one if one[at] != other[at]}
    last = hours[-1]
    begun = {
        mmsi for mmsi, hour in both if hour == last and (one.get((mmsi, last - 1)), other.get((mmsi, last - 1)))
        != both[mmsi, last]
    }  # fmt: skip
    return {at: said for at, said in both.items() if at[1] < last}, begun


def hours_of(table):
    """Return the same of a comparison, whose spans must not touch one that says the same."""
    found, begun, ends = {}, set(), {}
    for row in table.to_pylist():
        said = tuple(
            (row[f"status_{side}"], set(row[f"failed_{side}"]), row[f"missing_{side}"]) for side in ("before", "after")
        )
        first, last = ((row[end] - START) // timedelta(hours=1) for end in ("start", "end"))
        assert row["hours"] == last - first >= 0
        assert ends.get((row["subject"], first)) != said
        ends[row["subject"], last] = said
        if first == last:
            begun.add(row["subject"])
        for hour in range(first, last):
            assert (row["subject"], hour) not in found
            found[row["subject"], hour] = said
    return found, begun


@settings(max_examples=12, deadline=None)
@given(old=PACKS, new=PACKS, history=HISTORIES)
def test_the_difference_is_that_of_two_full_judgements(old, new, history, tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    rows = written(folder, history, pack(old), pack(new))
    found = compare(pack(old), pack(new), folder)
    expected, begun = differences_afresh(pack(old), pack(new), rows)
    assert hours_of(found.differences) == (expected, begun)
    assert found.at_the_end == len(begun)
    restricted = [sum(said[side][0] == "restricted" for said in expected.values()) for side in (0, 1)]
    assert found.hours("after") - found.hours("before") == restricted[1] - restricted[0]
    assert bool(expected or begun) == bool({"status", "reasons"} & {*found.changed})


@settings(max_examples=6, deadline=None)
@given(rules=PACKS, history=HISTORIES)
def test_comparing_a_pack_with_itself_is_empty(rules, history, tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    rows = written(folder, history, pack(rules))
    found = compare(pack(rules), pack(rules), folder)
    assert found.is_empty
    assert found.changed == ()
    assert found.differences.num_rows == 0
    times, said = judged_afresh(pack(rules), rows)
    hours = dict.fromkeys(("allowed", "restricted", "unknown"), 0)
    for (_, time), (status, _, _) in said.items():
        hours[status] += time < times[-1]
    assert {status: found.hours("before", status) for status in hours} == hours
