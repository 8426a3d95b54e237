"""The port on Spark gives the verdicts that it gives in this process, and sets aside what would spoil its clock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from dsl import RulePack
from dsl.versions import FollowedRules
from examples.port.in_process import run_in_process
from examples.port.inputs import SOURCES, Reading, read_day
from examples.port.office.records import noted
from examples.port.programs import rule_pack
from examples.port.slices import number_of_slices, slice_of
from tests.unit.dsl.harbour import save

from .conftest import AIS, DATA, TIDE

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def run(spark):
    from examples.port.on_spark import run_on_spark

    def both(day, pack="port", **options):
        rules = rule_pack(pack, day.berths, day.gauges, day.stations)
        return run_in_process(day, rules), run_on_spark(spark, day, rules, **options)

    return both


def test_the_verdicts_are_the_same_and_absurd_times_move_no_clock(run, few):
    few.keep(TIDE, lambda row: row["time_utc"][11:13] in {"00", "01", "02"})
    few.add(AIS, mmsi="220413000", time_utc="2100-01-01T00:00:00Z", nav_status="0", draught_m="20")
    few.add(AIS, mmsi="220413000", time_utc="", nav_status="0", draught_m="20")
    few.add(TIDE, station_id="8519483", time_utc="2100-01-01T00:00:00Z", predicted_m_mllw="-9")
    few.add(AIS, draught_m="-3")
    day = read_day(few.path)
    done = []
    here, there = run(day, slice_minutes=360, buckets=2, progress=done.append)
    assert there.log.changes == here.changes
    assert {change.status for change in here.changes} == {"allowed", "restricted"}
    assert there.dead == day.dead
    assert len(day.dead) == 4
    assert sorted(there.set_aside) == [
        ("tide", "its event time 2100-01-01 00:00:00 is absurdly late"),
        ("vessel", "its event time 2100-01-01 00:00:00 is absurdly late"),
        ("vessel", "its event time is null"),
    ]
    assert done[-1] == number_of_slices(360) - 1


@pytest.mark.slow
@pytest.mark.parametrize(("pack", "options"), [("port", {}), ("port", {"slice_minutes": 100, "buckets": 1}), ("D", {})])
def test_all_verdicts_are_the_same_on_all_data(run, pack, options):
    here, there = run(read_day(DATA), pack, **options)
    assert there.log.changes == here.changes
    assert there.dead == ()


def test_every_reading_is_in_one_slice(few):
    day = read_day(few.path)
    numbers = [slice_of(day, reading, 50) for reading in day.readings]
    assert numbers == sorted(numbers)
    assert max(numbers) < number_of_slices(50)
    reading = day.readings[0]
    assert isinstance(reading, Reading)
    for time in (None, day.start - 1, day.start + 86_400_000_000):
        assert slice_of(day, attrs.evolve(reading, time=time), 50) == 0
    assert [slice_of(day, attrs.evolve(reading, time=day.start + at), 50) for at in (0, 2_999_999_999)] == [0, 0]
    assert slice_of(day, attrs.evolve(reading, time=day.start + 3_000_000_000), 50) == 1


def test_the_order_of_the_sources_is_that_of_the_page():
    page = (DATA.parent / "RULES.md").read_text()
    assert f"the sources in the order {', '.join(SOURCES)}." in " ".join(page.split())


def test_without_java_there_is_one_line_that_says_what_to_do(monkeypatch, tmp_path):
    from examples.port.on_spark import NoSpark, spark_session

    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(NoSpark, match=r"needs Java 17 or newer.*`make run`.*--in-process"),
        spark_session(tmp_path / "log"),
    ):
        pass


def test_a_java_that_is_none_is_one_line_too(tmp_path):
    said = subprocess.run(
        [sys.executable, "-m", "examples.port", "--out", tmp_path],
        cwd=DATA.parents[2],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 2
    assert said.stderr.count("\n") == 1
    assert said.stderr.startswith(f"port: Spark does not start; {tmp_path / 'spark.log'} says why")
    assert "java" in (tmp_path / "spark.log").read_text()


def test_a_connector_that_cannot_be_had_is_not_called_a_want_of_java(tmp_path):
    from examples.port.on_spark import reason_in

    log = tmp_path / "spark.log"
    log.write_text("RuntimeException: [unresolved dependency: org.apache.spark#spark-sql-kafka;4.3.0: not found]\n")
    assert "does not find org.apache.spark#spark-sql-kafka;4.3.0" in reason_in(log)
    assert "--jars" in reason_in(log)
    log.write_text("Error: no Java\n")
    assert "needs Java" in reason_in(log)


def test_what_libraries_log_goes_to_the_end_of_the_file_and_not_to_the_terminal(tmp_path):
    """After Ctrl-C py4j logs each call that was broken off, by ``logging`` itself, which then makes a handler."""
    told = (
        "import logging, sys; from pathlib import Path; from examples.port.on_spark import logged_to\n"
        "with logged_to(Path(sys.argv[1])):\n"
        "    logging.exception('broken off')\n"
        "    logging.getLogger('py4j.clientserver').error('so was this')\n"
        "logging.getLogger('spark').error('and now it is told')\n"
    )
    log = tmp_path / "spark.log"
    log.write_text("of Java\n")
    said = subprocess.run(
        [sys.executable, "-c", told, log], cwd=DATA.parents[2], capture_output=True, text=True, check=False
    )
    assert said.stderr == "and now it is told\n"
    (first, second, _, third) = log.read_text().splitlines()
    assert first == "of Java"
    assert second.endswith(" ERROR root: broken off")
    assert third.endswith(" ERROR py4j.clientserver: so was this")


@pytest.mark.slow
def test_rules_that_change_under_way_hold_from_the_next_micro_batch_on(spark, few, tmp_path):
    from examples.port.on_spark import run_on_spark

    few.keep(TIDE, lambda row: row["time_utc"][11:13] in {"00", "12"})
    day, file = read_day(few.path), tmp_path / "port.rules"
    before = (ROOT / "examples/rules/new_york.rules").read_text(encoding="utf-8")
    after = before.replace("wind velocity must be at most 45 kn", "wind velocity must be at most 1 kn")
    save(file, before)
    rules, lines, tried = FollowedRules(file), [], [after, after.replace("pack: port", "pack: quay"), after + "must"]
    packs = {rules.pack.version: 0, RulePack.from_text(after).version: 1}

    said, refused, changed, asked = [], [], [], []

    class Office:
        def write(self, rows, number):
            said.extend((number, packs[row["pack"]]) for row in rows)
            if tried:
                save(file, tried.pop(0))

        def finish(self):
            pass

        def packs(self):
            return [noted(rules.pack, day.start, 0, "eva")]

        def is_new(self, number):
            asked.append(number)
            return True

        def change_rules(self, pack, before, who, number):
            changed.append((packs[pack.version], number))

        def refuse(self, why, who):
            refused.append(why)

    found = run_on_spark(
        spark, day, rules.pack, slice_minutes=360, buckets=2, say=lines.append, office=Office(), follow=rules
    )
    assert changed == [(1, 1)]
    assert asked == [1, 2, 3]  # there is no slice after the last that could begin with others
    assert {number for number, pack in said if pack == 0} == {0}
    assert {number for number, pack in said if pack == 1} >= {1}
    assert ["the outputs were 'port' and are 'quay'" in why for why in refused if why] == [True, False]
    assert sum("the rules go on as they were" in line for line in lines) == 2
    fresh = run_in_process(day, RulePack.from_text(after))
    latest = {change.mmsi: (change.status, change.because) for change in fresh.changes}
    assert {change.mmsi: (change.status, change.because) for change in found.log.changes} == latest
