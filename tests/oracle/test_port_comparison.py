"""What a change of the port's rules changes is what an oracle in plain pandas says, which was written from RULES.md."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dsl import RulePack
from dsl.comparison import compare
from examples.port.history import history_tables
from examples.port.inputs import read_day
from examples.port.rules import port_rules
from tests.oracle.port_oracle import Rule, clearance_at_least, rules, speed_at_most, verdict_changes, wind_at_most

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "port" / "data"
RULES = ROOT / "examples" / "rules"
SHIPS = {220413000, 367109000, 367784630, 636013289}
"""Three of which the verdict changes, and one of which it does not."""
END = pd.Timestamp("2020-06-30T23:54Z")


def proposed(berths):
    """The rules of new_york_proposed.rules, as its first lines say."""
    instead = {
        "wind limit from 200 m": wind_at_most(30),
        "safe speed in restricted visibility": speed_at_most(12),
        **{f"clearance at {each}": clearance_at_least(0.8) for each in berths},
    }
    return [Rule(rule.name, rule.conditions, instead.get(rule.name, rule.requirement)) for rule in rules(berths)]


def pack(name):
    path = RULES / f"{name}.rules"
    return RulePack.from_text(path.read_text(encoding="utf-8"), path.name)


@pytest.fixture(scope="module")
def day():
    return read_day(DATA)


@pytest.fixture(scope="module")
def history(day, tmp_path_factory):
    """The day as a history, of some ships."""
    folder = tmp_path_factory.mktemp("history")
    for source, table in history_tables(day).items():
        if source == "vessel":
            table = table.filter(pc.is_in(table.column("mmsi"), pc.cast(list(SHIPS), "int64")))  # noqa: PLW2901 - those
        pq.write_table(table, folder / f"{source}.parquet")
    return folder


def spans(changes):
    """What is said of each ship from each moment, as the index (ship, time)."""
    said = changes.assign(
        said=[(row.status, frozenset(row.because), tuple(row.missing)) for row in changes.itertuples()]
    )
    return said.groupby(["mmsi", "time"]).said.last()


def expected_differences():
    """The rows of two runs of the oracle, joined by ship and time, filled on, and kept where they differ."""
    both = pd.concat(
        {
            side: spans(verdict_changes(DATA, ships=SHIPS, written=each))
            for side, each in [("old", rules), ("new", proposed)]
        },
        axis=1,
    ).sort_index()
    both = both.groupby(level="mmsi").ffill()
    frame = both.reset_index()
    frame["end"] = frame.groupby("mmsi").time.shift(-1).fillna(END)
    frame = frame[(frame.old != frame.new) & (frame.end > frame.time)]
    return sorted((row.mmsi, row.time, row.end, row.old, row.new) for row in frame.itertuples())


def test_the_difference_of_the_port_s_two_packs_is_the_oracle_s(history):
    found = compare(pack("new_york"), pack("new_york_proposed"), history)
    rows = sorted(
        (
            row["subject"],
            pd.Timestamp(row["start"]),
            pd.Timestamp(row["end"]),
            *(
                (row[f"status_{side}"], frozenset(row[f"failed_{side}"]), tuple(row[f"missing_{side}"]))
                for side in ("before", "after")
            ),
        )
        for row in found.differences.to_pylist()
    )
    assert rows == expected_differences()
    assert len(rows) == 8
    assert {row[0] for row in rows} == SHIPS - {636013289}
    assert found.changed == ("restricted", "status", "reasons", "findings")
    assert [(each.kind, each.rule) for each in found.findings] == [("subsumed", "wind limit from 300 m")]
    assert found.end == int(END.timestamp()) * 1_000_000


def test_new_york_s_rules_as_text_are_those_in_python(day, history):
    in_python = port_rules(day.berths, day.gauges, day.stations)
    as_text = pack("new_york")
    assert as_text.version == in_python.version
    found = compare(in_python, as_text, history)
    assert found.changed == ()
    assert found.hours("before") > 0
