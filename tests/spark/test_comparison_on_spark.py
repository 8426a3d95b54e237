"""A comparison on Spark finds what one in this process finds."""

from __future__ import annotations

import pytest

from cartesius.errors import InvalidArgument
from dsl import RulePack, Source, against, another, number_of, require
from dsl.comparison import compare, judging_on_spark
from dsl.units import metres

pytestmark = pytest.mark.spark
RULES = """pack: port
subject: vessel
source vessel by mmsi:
    mmsi: number
    draught: metres
    berth: text
source berth by id:
    id: text
    depth: metres
{}links:
    berth id is vessel berth
berth depth - draught must be at least 1 m
    name: clearance
"""
TUGS = "source tug by id, stale after 20 min:\n    id: number\n"


def test_a_comparison_on_spark_is_that_in_process_and_says_how_far_it_is(spark, tmp_path, monkeypatch):
    """Before 1970, too: the clock of Spark's own watermarks stands still there, and nothing was said of any row."""
    monkeypatch.setattr(judging_on_spark, "_LOOK_S", 0.01)
    told: list[tuple[int, int]] = []
    ships = [f"1960-06-30T{hour:02}:{mmsi:02}Z,{mmsi},{9 + (hour + mmsi) % 4},{'AB'[mmsi % 2]}"
             for hour in range(6) for mmsi in range(1, 9)]  # fmt: skip
    berths = ["1960-06-30T00:05Z,A,12", "1960-06-30T03:30Z,B,11.5", "1960-06-30T04:30Z,A,"]
    (tmp_path / "vessel.csv").write_text(
        "\n".join(["time,mmsi,draught,berth", *ships, "1960-06-30T20:00Z,9,9,B", "noon,1,9,A"]) + "\n"
    )
    (tmp_path / "berth.csv").write_text("\n".join(["time,id,depth", *berths]) + "\n")
    (tmp_path / "tug.csv").write_text("time,id\n1960-06-30T09:00Z,1\n1960-06-30T20:00Z,2\n")
    told_of = "number of tug must be at least 2\n"
    old = RulePack.from_text(RULES.format("").replace("by id:", "by id, stale after 14 h:"))
    new = RulePack.from_text(RULES.format(TUGS).replace("1 m", "2 m") + told_of)
    here = compare(old, new, tmp_path)
    there = compare(old, new, tmp_path, spark=spark, progress=lambda *far: told.append(far))
    assert here.differences.num_rows > 3
    assert here.at_the_end
    assert {"berth"} < {each for row in here.differences.to_pylist() for each in row["missing_before"]}
    assert there.differences.equals(here.differences)
    assert (there.statuses, there.rules, there.changed) == (here.statuses, here.rules, here.changed)
    assert (there.rows, there.start, there.end) == (here.rows, here.start, here.end)
    assert there.number_unread == here.number_unread == 1
    new_rows = here.rows + here.number_unread
    old_rows = new_rows - 2  # it has no tugs
    assert told == sorted(told)
    assert {(each, old_rows + new_rows) for each in (old_rows, old_rows + new_rows)} <= {*told}


@pytest.mark.parametrize("relation", ["pairs", "totals"])
def test_rules_about_the_others_are_refused_before_anything_is_written(tmp_path, relation, monkeypatch):
    """The histories of both packs were written first, which may take minutes."""
    monkeypatch.setattr(judging_on_spark, "Prepared", None)
    vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, berth=str)
    other = another(vessel, "other")
    old, new = (RulePack("port", subject=vessel) for _ in range(2))
    with old:
        require(vessel.draught <= 9 * metres)
    with new:
        if relation == "pairs":
            with against(other, where=other.berth == vessel.berth):
                require(other.draught <= vessel.draught)
        else:
            require(number_of(other, where=other.berth == vessel.berth) <= 3)
    (tmp_path / "vessel.csv").write_text("time,mmsi,draught,berth\n2020-06-30T00:00Z,1,9,A\n")
    with pytest.raises(InvalidArgument, match=r"about pairs, or about totals over the others .*; leave out --spark"):
        compare(old, new, tmp_path, spark=object())  # type: ignore[arg-type]  # it is not asked
