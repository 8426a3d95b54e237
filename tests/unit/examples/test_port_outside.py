"""Texts from outside do nothing: on a terminal, in a picture, in a spreadsheet; and results are there or as before."""

from __future__ import annotations

import csv
import gzip
import io
import shutil

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from examples.port import __main__ as command
from examples.port import results, tables
from examples.port.dead_letters import DeadLetter, write_dead_letters
from examples.port.outside import PlainConsole, printable

from .conftest import AIS, TIDE

HOSTILE = ["=1+1", "$\\frac$ :skull:", "\x1b[2J\x1b]0;owned\x07", "\u202etfel [link=file:///]X", "[/RED]"]


@pytest.fixture
def port(few, tmp_path):
    def run(*arguments):
        out = tmp_path / "out"
        return CliRunner().invoke(
            command.main, ["--in-process", "--data", str(few.path), "--out", str(out), *arguments]
        ), out

    return run


@pytest.fixture(scope="module")
def of_last_run(kept_few, tmp_path_factory):
    """What a run writes; nobody writes there."""
    out = tmp_path_factory.mktemp("last") / "out"
    result = CliRunner().invoke(command.main, ["--in-process", "--data", str(kept_few), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} > {"verdicts.parquet", "dead_letters.csv"}
    return out


@pytest.fixture
def last_results(of_last_run, tmp_path):
    """Likewise, where the next run writes; and the content of its files."""
    shutil.copytree(of_last_run, tmp_path / "out")
    return {path.name: path.read_bytes() for path in of_last_run.iterdir()}


def test_ships_may_be_called_anything(port, few):
    header, *rows = few.lines(AIS)
    called = {}
    for row in rows:
        (cells,) = csv.DictReader([header, row])
        if cells["name"] not in called and len(called) < len(HOSTILE):
            called[cells["name"]] = HOSTILE[len(called)]
    few.write(AIS, [header, *(_renamed(row, called) for row in rows)])
    for name in HOSTILE:
        few.add(AIS, draught_m=name)
    result, out = port()
    assert result.exit_code == 0, result.output
    assert all(each.isprintable() or each == "\n" for each in result.output)
    assert (out / "clearance.png").exists()
    found = {row["name"] for row in pq.read_table(out / "verdicts.parquet").to_pylist()}
    assert found == {*called.values()}  # nothing is lost where it can do nothing
    assert all(printable(name) in result.output for name in HOSTILE[2::2])  # the ships that are deep


def _renamed(row, called):
    for name, other in called.items():
        row = row.replace(f'"{name}"', f'"{other}"').replace(f",{name},", f',"{other}",')
    return row


@given(st.text())
def test_what_is_printed_is_printable_and_whole(text):
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=True, color_system=None, width=10_000)
    table = Table.grid()
    table.add_row(text)
    console.print(table)
    console.print(text, soft_wrap=True)
    said = file.getvalue()
    assert all(each.isprintable() or each in "\n" or each.isspace() for each in said)
    assert "\x1b" not in said
    if text.isascii() and text.isprintable() and text == text.strip():
        assert said.splitlines() == [text] * 2 if text else True


CELLS = st.builds(str.__add__, st.sampled_from(["=", "+", "-", "@", "\t", "\r", ""]), st.text())


@given(st.lists(CELLS, min_size=3, max_size=3))
def test_no_cell_of_the_dead_letters_is_a_formula(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("dead") / "dead.csv"
    write_dead_letters([DeadLetter(texts[0], "f", 1, texts[1], texts[2])], path)
    with path.open(newline="", encoding="utf-8") as file:
        _, row = csv.reader(file)
    assert all(not cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    assert all(text in cell for text, cell in zip(texts, [row[0], row[3], row[4]], strict=True))


def test_a_refused_run_leaves_the_last_results(port, few, last_results):
    (few.path / TIDE).unlink()
    result, out = port()
    assert result.exit_code == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == last_results


def test_a_run_that_fails_or_is_interrupted_leaves_the_last_results(port, last_results, monkeypatch):
    for raised in (RuntimeError("full"), KeyboardInterrupt()):

        def draw(*_, raised=raised):
            raise raised

        monkeypatch.setattr(command, "draw", draw)
        result, out = port()
        assert result.exit_code == 1
        assert {path.name: path.read_bytes() for path in out.iterdir()} == last_results


@pytest.mark.usefixtures("last_results")
def test_what_this_run_does_not_draw_is_not_left_from_the_last_one(port):
    result, out = port("--pack", "A")
    assert result.exit_code == 0
    assert {path.name for path in out.iterdir()} == {"verdicts.parquet", "dead_letters.csv"}


def test_a_truncated_file_is_judged_and_said_at_the_top_with_a_status_of_its_own(port, few):
    path = few.path / AIS
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    result, out = port()
    assert result.exit_code == results.DAMAGED == 3
    lines = [line for line in result.output.splitlines() if line]
    assert lines[0].startswith(f"DAMAGED INPUT: {path}: a file that is cut off")
    assert result.output.count("DAMAGED") == 1
    assert any("damaged input" in line and "1, named at the top" in line for line in lines)
    assert lines[-1].endswith("windows.png") or "Written to" in lines[-1]
    assert pq.read_table(out / "verdicts.parquet").num_rows


def test_a_truncated_file_of_messages_likewise(tmp_path):
    sentence = "!AIVDM,1,1,,A,13aEOK?P00PD2wVMdLDRhgvL289?,0*26"
    whole = gzip.compress("\n".join([sentence] * 3).encode())
    path = tmp_path / "some.nmea.gz"
    path.write_bytes(whole[:-6])
    result = CliRunner().invoke(
        command.main, ["--nmea", str(path), "--date", "2010-06-11", "--out", str(tmp_path / "out")]
    )
    assert result.output.startswith("DAMAGED INPUT")
    assert result.output.count("DAMAGED") == 1
    assert "1, named at the top" in result.output
    assert result.exit_code == 3


def test_a_small_file_that_unzips_to_a_large_one_is_bounded(port, few, monkeypatch):
    monkeypatch.setattr(tables, "_LARGEST", 100_000)
    path = few.path / TIDE
    path.write_bytes(path.read_bytes() + gzip.compress(b"\n" * 1_000_000))
    result, _ = port()
    assert result.exit_code == 3
    assert "more than 100,000 bytes when unzipped" in result.output


def test_so_are_its_lines(port, few, monkeypatch):
    """A list of many lines takes far more memory than their text, and what is wrong with each is said."""
    path = few.path / TIDE
    good = gzip.decompress(path.read_bytes()).count(b"\n")
    monkeypatch.setattr(tables, "_MOST_LINES", good + 100)
    path.write_bytes(path.read_bytes() + gzip.compress(b"\n" * 1_000_000))
    result, _ = port()
    assert result.exit_code == 3
    assert f"more than {good + 100:,} lines when unzipped" in result.output
    found = tables.read_lines(path)
    assert len(found.lines) == good + 100
