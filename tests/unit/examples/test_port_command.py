"""The command in this process: what it writes, what it says, and how it refuses."""

from __future__ import annotations

import csv

import attrs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from examples.port.__main__ import main
from examples.port.in_process import run_in_process
from examples.port.inputs import read_day
from examples.port.programs import rule_pack
from examples.port.verdict_changes import SCHEMA

from .conftest import AIS, DATA, TIDE

AHEAD = ("Traffic at 00:", "Arrivals and next windows", "no time of arrival", "lie still are taken to be available")


@pytest.fixture
def port(few, tmp_path):
    def run(*arguments):
        out = tmp_path / "out"
        return CliRunner().invoke(main, ["--in-process", "--data", str(few.path), "--out", str(out), *arguments]), out

    return run


def test_it_writes_verdicts_dead_letters_and_a_picture(port, few):
    few.add(AIS, draught_m="-3")
    result, out = port()
    assert result.exit_code == 0, result.output
    table = pq.read_table(out / "verdicts.parquet")
    assert table.schema.equals(SCHEMA)
    rows = table.to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["time"], row["mmsi"]))
    gunvor = [row for row in rows if row["mmsi"] == 220413000]
    assert [(f"{row['time']:%H:%M}", row["status"], row["because"]) for row in gunvor[1:]] == [
        ("01:54", "restricted", ["clearance at elizabeth-east"]),
        ("03:36", "allowed", []),
    ]
    with (out / "dead_letters.csv").open() as file:
        (letter,) = csv.DictReader(file)
    assert letter["reason"] == "draught_m: expected 0 or more m but got -3"
    for picture in ("clearance.png", "windows.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")
    for said in ("GUNVOR MAERSK", "1 x vessel: draught_m: expected 0 or more m", "not measurements", *AHEAD):
        assert said in " ".join(result.output.split())


def test_it_prints_as_many_changes_as_wanted(port):
    few, _ = port("--rows", "1")
    none, _ = port("--rows", "0")
    changes = [result.output.partition("Traffic at")[0] for result in (few, none)]
    assert [part.count("GUNVOR MAERSK") for part in changes] == [1, 0]
    assert "GUNVOR MAERSK" in none.output  # her windows are shown all the same


@pytest.mark.parametrize("pack", ["A", "B", "C", "D"])
def test_it_runs_the_programs_of_the_thesis(port, pack):
    result, out = port("--pack", pack, "--wind-day", "2013-01-31")
    assert result.exit_code == 0, result.output
    assert pq.read_table(out / "verdicts.parquet").num_rows >= 5
    assert not (out / "clearance.png").exists()
    assert "31 January 2013" in result.output


def test_a_missing_file_is_one_line_and_exit_code_2(port, few):
    (few.path / TIDE).unlink()
    result, _ = port()
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"port: {few.path / TIDE}: expected a file")


def test_a_missing_column_is_one_line_and_exit_code_2(port, few):
    few.rename(TIDE, "predicted_m_mllw", "height")
    result, _ = port()
    assert result.exit_code == 2
    assert TIDE in result.stderr
    assert "'predicted_m_mllw'" in result.stderr


def test_a_folder_that_is_not_there_is_refused():
    result = CliRunner().invoke(main, ["--data", "/nowhere"])
    assert result.exit_code == 2
    assert "'/nowhere' does not exist" in result.stderr


def test_help_explains_every_option():
    result = CliRunner().invoke(main, ["--help"])
    for option in (
        "--in-process",
        "--pack",
        "--data",
        "--out",
        "--wind-day",
        "--slice",
        "--buckets",
        "--rows",
    ):
        assert option in result.output
    assert all(parameter.help for parameter in main.params)


def test_gunvor_maersk_changes_her_verdict_four_times():
    """Allowed until the last prediction that is enough, and again from the first: never on water yet to come."""
    day = read_day(DATA)
    readings = tuple(r for r in day.readings if r.source != "vessel" or r.values["mmsi"] == 220413000)
    day = attrs.evolve(day, readings=readings)
    first, *changes = run_in_process(day, rule_pack("port", day.berths, day.gauges, day.stations)).changes
    assert first.status == "allowed"
    assert [f"{change.moment:%H:%M:%S}" for change in changes] == ["01:54:00", "03:36:00", "13:18:00", "16:12:00"]
    assert [change.because for change in changes] == [("clearance at elizabeth-east",), ()] * 2
    assert [change.status for change in changes] == ["restricted", "allowed"] * 2
