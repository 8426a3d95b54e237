"""The command in this process: what it writes, what it says, and how it refuses."""

from __future__ import annotations

import csv
import io

import attrs
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from examples.port import __main__ as command
from examples.port import running
from examples.port.__main__ import main
from examples.port.in_process import run_in_process
from examples.port.inputs import read_day
from examples.port.marks import marked
from examples.port.outside import PlainConsole
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


def test_where_nothing_can_be_written_nothing_is_judged(port, tmp_path):
    (tmp_path / "out" / "verdicts.parquet").mkdir(parents=True)
    result, _ = port()
    assert result.exit_code == 2
    assert "verdicts.parquet: Is a directory; choose another --out" in result.output
    assert "Judging" not in result.output


def test_it_prints_as_many_ships_as_wanted(port):
    few, _ = port("--rows", "1")
    none, _ = port("--rows", "0")
    ships = [result.output.partition("Arrivals and next windows")[0] for result in (few, none)]
    assert [part.count("GUNVOR MAERSK") for part in ships] == [1, 0]
    assert "GUNVOR MAERSK" in none.output  # her windows are shown all the same


def test_ships_come_first_with_verdict_reason_and_windows_and_unknown_ones_are_counted_by_reason(port, few):
    few.add(AIS, mmsi="1", name="MYSTERY", length_m="", beam_m="")
    few.add(AIS, mmsi="2", name="RIDDLE", length_m="", beam_m="")
    few.add(AIS, mmsi="3", name="ENIGMA", length_m="100", beam_m="")
    result, _ = port("--no-color")
    assert result.exit_code == 0, result.output
    ships, _, rest = result.output.partition("Arrivals and next windows")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in ships.splitlines() if line.startswith("│")]
    place = next(number for number, (ship, _, _) in enumerate(cells) if ship == "GUNVOR MAERSK")
    assert cells[place] == ["GUNVOR MAERSK", "✓ allowed", "leaves elizabeth-east"]
    assert cells[place + 1][0] == "15.0 m"
    assert cells[place + 1][1].startswith("01:54 ✗ restricted: clearance")
    assert cells[place + 1][2].startswith("03:36-")
    said = " ".join(ships.split())
    assert "3 unknown: no beam or length (2), no beam (1)." in said
    assert "MYSTERY" not in ships
    assert "vessel." not in result.output
    assert rest.index("not after,") < rest.index("Traffic at") < rest.index("Summary")


@pytest.fixture
def as_if_on_spark(monkeypatch):
    """The judging of this process in the place of Spark's, with a line of a micro-batch."""

    def judged(day, rules, out, slice_minutes, buckets, told, store, follow):
        told.batch("micro-batch 0: 7 rows")
        return running.judged_here(day, rules, slice_minutes, told)

    monkeypatch.setattr(command, "judged_on_spark", judged)


@pytest.mark.parametrize(("options", "number"), [([], 0), (["--verbose"], 1)])
def test_micro_batches_are_told_of_on_request(few, tmp_path, as_if_on_spark, options, number):
    arguments = ["--data", str(few.path), "--out", str(tmp_path / "out"), "--pack", "A", *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.output.count("micro-batch 0") == number


@pytest.mark.parametrize(
    ("no_color", "variable", "coloured"), [(None, "", True), (True, "", False), (None, "1", False)]
)
def test_colours_can_be_switched_off_and_the_signs_stay(no_color, variable, coloured, monkeypatch):
    monkeypatch.setenv("NO_COLOR", variable)
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=True, color_system="truecolor", no_color=no_color)
    console.print(marked("allowed"))
    assert ("38;2;0;114;178m" in file.getvalue()) == coloured
    assert "✓ allowed" in file.getvalue()


@pytest.mark.parametrize(("options", "given"), [([], None), (["--no-color"], True)])
def test_the_option_reaches_the_console(options, given, monkeypatch, tmp_path):
    asked = []

    def console(**how):
        asked.append(how)
        return PlainConsole(**how)

    monkeypatch.setattr(command, "PlainConsole", console)
    CliRunner().invoke(main, ["--in-process", "--data", str(tmp_path), "--out", str(tmp_path / "out"), *options])
    assert asked[0] == {"no_color": given}


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
        "--verbose",
        "--no-color",
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
