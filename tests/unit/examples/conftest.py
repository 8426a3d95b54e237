"""Data of the port example: whole, cut down to a few ships, and with something wrong in it."""

from __future__ import annotations

import csv
import gzip
import shutil
import sqlite3
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from dsl import RulePack

DATA = Path(__file__).resolve().parents[3] / "examples" / "port" / "data"
AIS, TIDE, STREAM, WIND, BERTHS = (
    "ais_2020-06-30_00h.csv.gz",
    "tide_predicted_6min.csv.gz",
    "current_predicted_6min.csv.gz",
    "wind_2013_selected_days.csv",
    "berths.csv",
)
FEW_SHIPS = {"220413000", "338531000", "219947000", "636016796", "896876500"}


class Folder:
    """A folder of data that a test may spoil."""

    def __init__(self, path: Path):
        self.path = path

    def lines(self, name):
        return self._content(name).decode().splitlines()

    def write(self, name, lines):
        text = "\n".join(lines).encode() + b"\n"
        (self.path / name).write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)

    def keep(self, name, predicate):
        """Keep the rows, dicts of cells, that satisfy the predicate."""
        header, *rows = self.lines(name)
        cells = csv.DictReader([header, *rows])
        self.write(name, [header, *(row for row, cell in zip(rows, cells, strict=True) if predicate(cell))])

    def add(self, name, /, **cells):
        """Append a row like the last one, with these cells instead."""
        lines = self.lines(name)
        header = lines[0].split(",")
        last = next(csv.reader([lines[-1]]))
        row = {**dict(zip(header, last, strict=True)), **cells}
        self.write(name, [*lines, ",".join(f'"{row[column]}"' for column in header)])

    def rename(self, name, column, other):
        header, *rows = self.lines(name)
        self.write(name, [header.replace(column, other), *rows])

    def _content(self, name):
        content = (self.path / name).read_bytes()
        return gzip.decompress(content) if name.endswith(".gz") else content


@pytest.fixture(autouse=True, scope="module")
def _closed():
    """Close the databases that tests have opened and left: Python 3.13 warns of them."""
    opened, connect = [], sqlite3.connect

    def noted(*where, **how):
        opened.append(found := connect(*where, **how))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", noted)
        yield
    for one in opened:
        with suppress(sqlite3.ProgrammingError):  # of another thread, which closes it
            one.close()


_read = cache(RulePack.from_text)


@pytest.fixture(autouse=True, scope="module")
def _reading_once():
    """Read each text of rules once, as nobody adds to what is read: an office that begins anew reads them all again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RulePack, "from_text", _read)
        yield


@pytest.fixture(scope="session")
def kept_few(tmp_path_factory):
    """The data of a few ships, half their reports, and the first hours of the day; nobody writes there."""
    folder = Folder(tmp_path_factory.mktemp("few") / "data")
    shutil.copytree(DATA, folder.path)
    folder.keep(AIS, lambda row: row["mmsi"] in FEW_SHIPS and row["time_utc"][15] in "02468")
    for name in (TIDE, STREAM):
        folder.keep(name, lambda row: row["time_utc"].startswith("2020-06-30T0"))
    return folder.path


@pytest.fixture
def few(kept_few, tmp_path):
    """Likewise, for a test that may spoil it."""
    return Folder(shutil.copytree(kept_few, tmp_path / "data"))
