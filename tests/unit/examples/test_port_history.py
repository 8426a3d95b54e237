"""The day, and days made of it, as histories: as many rows as are wanted, by a seed, in the order of their times."""

from __future__ import annotations

from collections import Counter
from copy import copy
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from dsl import RulePack
from dsl.histories import History
from examples.port.__main__ import main
from examples.port.inputs import SOURCES
from examples.port.resampling import Resampled, write_days
from tests.unit.examples.conftest import DATA

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def pack():
    return RulePack.from_text((ROOT / "examples" / "rules" / "new_york.rules").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made():
    return Resampled(DATA, seed=7, reports=2_000)


def test_the_day_is_written_as_a_history_of_all_its_readings(tmp_path, pack):
    done = CliRunner().invoke(main, ["history", str(tmp_path / "day")])
    assert done.exit_code == 0
    assert "11,413 readings of 30 June 2020" in done.output
    history = History(tmp_path / "day", pack)
    assert history.rows() == sum(table.num_rows for table in history.columns().values()) == 11_413
    assert history.number_unread == 0


def test_a_folder_with_files_is_not_written_over(tmp_path):
    (tmp_path / "vessel.parquet").write_text("mine")
    done = CliRunner().invoke(main, ["year", str(tmp_path), "--days", "1"])
    assert done.exit_code == 2
    assert (tmp_path / "vessel.parquet").read_text() == "mine"


@pytest.mark.parametrize("command", ["history", "year"])
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, command):
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, [command, str(tmp_path / "file" / "below")])
    assert (done.exit_code, "Not a directory; choose another FOLDER" in done.output) == (2, True)


def test_days_differ_and_the_seed_alone_says_how(made):
    days = [made.day(number) for number in range(4)]
    again = made.day(3)
    assert all(again[source].equals(days[3][source]) for source in SOURCES)
    other = copy(made)
    other.seed = 8
    assert not other.day(3)["vessel"].equals(days[3]["vessel"])
    counts = [day["vessel"].num_rows for day in days]
    assert len({*counts}) == len(counts)
    assert 0.6 < sum(counts) / 8_000 < 1.4
    for source in ("tide", "vessel"):
        assert not days[0][source].drop_columns(["time"]).equals(days[1][source].drop_columns(["time"]))


def test_days_are_a_history_in_the_order_of_their_times(made, pack, tmp_path):
    seen = []
    reports = write_days(made, 3, tmp_path / "days", lambda number, _: seen.append(number))
    assert seen == [1, 2, 3]
    tables = History(tmp_path / "days", pack).columns()  # it refuses times that go back
    assert tables["vessel"].num_rows == reports
    days = [{time.date() for time in table.column("time").to_pylist()} for table in tables.values()]
    assert {len(each) for each in days} == {3}


def test_a_call_is_a_ship_of_the_day_at_a_berth_that_is_drawn_and_ends_elsewhere(made):
    rows = made.day(0)["vessel"].to_pylist()
    ships = Counter(row["mmsi"] for row in rows)
    moored = {row["destination"] for row in rows if row["direction"] == "moored"} - {"elsewhere"}
    assert len(moored) > 3
    left = 0
    for mmsi in ships:
        mine = [row for row in rows if row["mmsi"] == mmsi]
        bound = {row["destination"] for row in mine if row["destination"] in made.ships.berths}
        assert len(bound) <= 1  # of one call there is one berth
        assert all(row["time"] <= other["time"] for row, other in pairwise(mine))
        left += (mine[-1]["destination"], mine[-1]["direction"]) == ("elsewhere", "outbound")
    assert left > len(ships) / 3
