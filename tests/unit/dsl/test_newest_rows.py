"""The newest row of each key at a moment, however many rows there are and however they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dsl import RulePack, Source, instant, require
from dsl.histories import History, history_folders, newest_rows
from dsl.histories.newest_rows import newest
from dsl.units import metres

if TYPE_CHECKING:
    from pathlib import Path

ship = Source("ship", key="id", id=int, eta=instant, draught=metres)
tide = Source("tide", key=None, height=metres, forecast=True)
gauge = Source("gauge", key=None, height=metres)
pack = RulePack("port", subject=ship)
with pack:
    require(tide.at(ship.eta).height >= ship.draught)
    require(gauge.height >= 1 * metres)


def written(folder: Path) -> list[tuple[int, int, float]]:
    """Write a history, and return the reports of ships in it: time, ship, draught."""
    reports = [(n, n * 7 % 5, float(n)) for n in range(60)]
    (folder / "ship.csv").write_text("time,id,eta,draught\n" + "".join(f"{t},{i},5,{d}\n" for t, i, d in reports))
    (folder / "tide.csv").write_text(
        "time,issued,start,end,height\n" + "".join(f"{t},{t},{t},90,1\n" for t in range(9))
    )
    (folder / "gauge.csv").write_text("time,height\n" + "".join(f"{t},{t}\n" for t in range(0, 60, 3)))
    return reports


@pytest.mark.parametrize(("batch", "many"), [(50_000, 200_000), (3, 4), (7, 1)])
@pytest.mark.parametrize("until", [0, 4, 30, 1000])
def test_they_are_those_of_reading_all_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, many: int, until: int
) -> None:
    reports = written(tmp_path)
    monkeypatch.setattr(newest_rows, "_MANY", many)
    monkeypatch.setattr(history_folders, "BATCH", batch)
    history = History(tmp_path, pack)
    if batch != 50_000:
        whole = history.batches
        monkeypatch.setattr(history, "batches", lambda: whole(batch))

    found = newest(history, until)

    last = {ship: (time, draught) for time, ship, draught in reports if time <= until}
    rows = [(time, row["id"], row["draught"]) for row, time in found.rows("ship")]
    assert rows == sorted((time, ship, draught) for ship, (time, draught) in last.items())
    assert [time for _, time in found.rows("gauge")] == [min(until, 57) // 3 * 3]
    assert [row["start"] for row, _ in found.rows("tide")] == [each for each in range(9) if each <= until]
    assert found.first == 0


def test_of_an_empty_history_there_are_none(tmp_path: Path) -> None:
    for name, columns in (
        ("ship", "time,id,eta,draught"),
        ("tide", "time,issued,start,end,height"),
        ("gauge", "time,height"),
    ):
        (tmp_path / f"{name}.csv").write_text(f"{columns}\n")

    found = newest(History(tmp_path, pack), 5)

    assert (found.first, found.rows("ship"), found.rows("gauge")) == (None, [], [])
