"""Histories by two packs, whatever their fields are called, and with forecasts."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from dsl import RulePack
from dsl.comparison import compare
from dsl.comparison.comparison_picture import draw
from dsl.comparison.verdict_spans import VerdictSpans, common_end

DAY = "2020-06-30T"
VESSEL = "pack: p\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n"
FIELDS = {
    "deleted": ("deleted: yes or no", "deleted", "yes", "berth deleted must be true"),
    "order": ("order: number", "order", "3", "berth order must be 3"),
    "at": ("at: number", "at", "3", "berth at must be 3"),
    "key": ("key: number", "key", "3", "berth key must be 3"),
    "value": ("value: metres", "value", "3", "berth value must be 3 m"),
    "start and end": ("start: number\n    end: number", "start,end", "3,4", "berth end must be 4"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_may_be_called_as_batches_call_what_they_know_of_rows(tmp_path, name):
    """A row with a field `deleted` was taken for a deletion, and others were refused."""
    declared, header, cells, rule = FIELDS[name]
    berth = f"source berth by id:\n    id: text\n    {declared}\n"
    pack = RulePack.from_text(f"{VESSEL}    berth: text\n{berth}links:\n    berth id is berth\n{rule}\n")
    (tmp_path / "vessel.csv").write_text(f"time,mmsi,berth\n{DAY}12:00Z,1,A\n{DAY}18:00Z,1,A\n")
    (tmp_path / "berth.csv").write_text(f"time,id,{header}\n{DAY}11:00Z,A,{cells}\n")
    found = compare(pack, pack, tmp_path)
    assert [(each.before, each.after, each.hours) for each in found.statuses] == [("allowed", "allowed", 6.0)]


def test_a_source_of_which_the_only_field_is_called_value_has_rows(tmp_path):
    pack = RulePack.from_text(f"{VESSEL}source fog:\n    value: metres\nfog value must be at least 100 m\n")
    (tmp_path / "vessel.csv").write_text(f"time,mmsi\n{DAY}12:00Z,1\n{DAY}18:00Z,1\n")
    (tmp_path / "fog.csv").write_text(f"time,value\n{DAY}11:00Z,500\n{DAY}15:00Z,50\n")
    found = compare(pack, pack, tmp_path)
    assert {each.before: each.hours for each in found.statuses} == {"allowed": 3.0, "restricted": 3.0}


def test_packs_with_forecasts_are_compared(tmp_path):
    forecast = "    eta: instant\nsource tide, forecast:\n    height: metres\n"
    text = f"{VESSEL}{forecast}tide height predicted for eta must be at least 1 m\n"
    (tmp_path / "vessel.csv").write_text(f"time,mmsi,eta\n{DAY}12:00Z,1,{DAY}14:00Z\n{DAY}15:00Z,1,{DAY}14:00Z\n")
    (tmp_path / "tide.csv").write_text(
        f"time,issued,start,end,height\n{DAY}11:00Z,{DAY}11:00Z,{DAY}12:00Z,{DAY}16:00Z,1.5\n"
        f"{DAY}14:00Z,{DAY}12:00Z,{DAY}12:00Z,{DAY}16:00Z,2.5\n"
    )
    found = compare(RulePack.from_text(text), RulePack.from_text(text.replace("1 m", "2 m")), tmp_path)
    assert {(each.before, each.after): each.hours for each in found.statuses} == {
        ("allowed", "restricted"): 2.0,
        ("allowed", "allowed"): 1.0,
    }


def test_rows_go_stale_up_to_the_last_row_of_either_pack(tmp_path):
    """A pack whose sources end earlier was taken to say the same for ever: a source more was a change of verdicts."""
    old = f"{VESSEL}source gauge, stale after 30 min:\n    height: metres\ngauge height must be at least 1 m\n"
    new = f"{old}source tug by id:\n    id: number\nnumber of tug must be at least 0\n"
    (tmp_path / "vessel.csv").write_text(f"time,mmsi\n{DAY}12:00Z,1\n")
    (tmp_path / "gauge.csv").write_text(f"time,height\n{DAY}12:00Z,2\n")
    (tmp_path / "tug.csv").write_text(f"time,id\n{DAY}11:00Z,1\n{DAY}20:00Z,1\n")
    for texts in ((old, new), (new, old)):
        found = compare(RulePack.from_text(texts[0]), RulePack.from_text(texts[1]), tmp_path)
        assert found.changed == ()
        assert {each.before: each.hours for each in found.statuses} == {"allowed": 0.5, "unknown": 7.5}


def test_a_history_before_1970_ends_with_its_last_row(tmp_path):
    pack = RulePack.from_text(f"{VESSEL}it must hold that mmsi is at least 2\n")
    (tmp_path / "vessel.csv").write_text("time,mmsi\n1950-01-01T00:00Z,1\n1950-01-01T03:00Z,1\n")
    assert compare(pack, pack, tmp_path).hours("after") == 3
    seen, without_rows = VerdictSpans(), VerdictSpans()
    seen.saw((-9, -5), 2)
    assert common_end([seen, without_rows]) == -5


def test_a_history_of_one_moment_is_drawn(tmp_path):
    """Warnings are errors here: its stretches lasted nothing, and were divided by that."""
    pack = RulePack.from_text(f"{VESSEL}it must hold that mmsi is at least 1\n")
    (tmp_path / "vessel.csv").write_text(f"time,mmsi\n{DAY}12:00Z,1\n")
    draw(compare(pack, pack, tmp_path), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_what_begins_with_the_last_rows_is_said_in_a_line_and_in_the_picture(tmp_path, monkeypatch):
    texts: list[str] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, _: texts.extend(each.get_text() for each in self.texts))
    old, new = (RulePack.from_text(f"{VESSEL}it must hold that mmsi is at least {most}\n") for most in (1, 2))
    (tmp_path / "vessel.csv").write_text(f"time,mmsi\n{DAY}12:00Z,1\n")
    found = compare(old, new, tmp_path)
    draw(found, tmp_path / "picture.png")
    said = "1 of the differences begin with the last rows, and have no hours"
    assert str(found).endswith(f"; {said}")
    assert texts[1].endswith(f". {said}")
