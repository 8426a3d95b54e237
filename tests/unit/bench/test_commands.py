"""The commands that measure: they refuse numbers that cannot be measured, and print what they have when interrupted."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from threading import Event
from threading import enumerate as threads
from typing import Any

import click
import pytest
from click.testing import CliRunner
from py4j.protocol import Py4JError

from bench import memory, office_load, pushes, rules, small_batches, spark_speed, spark_streams, tables
from bench.__main__ import main
from dsl.command_lines import INTERRUPTED

ROOT = Path(__file__).resolve().parents[3]
A_LOOK = "a look, and no figures to quote"


def commands():
    """Return each command of these folders."""
    for folder in ("bench", "examples/experiments"):
        for path in sorted((ROOT / folder).glob("*.py")):
            if 'if __name__ == "__main__"' in path.read_text():
                yield import_module(f"{folder.replace('/', '.')}.{path.stem}").main


def test_every_number_on_a_command_line_has_bounds_and_what_lies_beyond_is_refused():
    numbers = [
        (command, option)
        for command in commands()
        for option in command.params
        if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    ]
    assert len(numbers) > 20
    for command, option in numbers:
        name, kind = option.opts[0], option.type
        assert None not in (getattr(kind, "min", None), getattr(kind, "max", None)), (command.help, name)
        assert not isinstance(option.default, int | float) or kind.min <= option.default <= kind.max
        least = kind.min if kind.min_open else kind.min - 1
        for beyond in (least, kind.max + 1, -(10**30), 10**30, "nan", "inf", "much"):
            run = CliRunner().invoke(command, [name, str(beyond)])
            assert run.exit_code == 2, (command.help, name, beyond)
            assert f"Invalid value for '{name}'" in run.output


RUN = tables.At([1.0], [1.0], 1, 1)
COST = rules.Cost("it", [1.0], 1.0)
MEASURED = {
    "pushes": (pushes, "measure_all", pushes.Figure("it", 1.0, 2.0, 0.5, 1.0)),
    "small": (small_batches, "measure", small_batches.Cost("it", 1.0, 2.0)),
    "tables": (tables, "measure", tables.Figure("it", (10, 20), {10: RUN, 20: RUN})),
    "memory": (memory, "measure", (memory.Held("it", 10, 100.0), memory.Held("it", 10, 100.0, 100.0))),
    "rules": (rules, "programs", (COST, COST)),
}


@pytest.mark.parametrize("part", MEASURED)
def test_what_a_part_has_measured_is_printed_when_it_is_interrupted_and_a_quick_run_says_so(part, monkeypatch):
    module, name, figure = MEASURED[part]

    def interrupted(*_, **__):
        yield figure
        raise KeyboardInterrupt

    monkeypatch.setattr(rules, "growing", lambda *_: [COST] * 3)
    monkeypatch.setattr(module, name, interrupted)
    for given in ([], ["--quick"]):
        run = CliRunner().invoke(main, ["--only", part, *given], env={"COLUMNS": "200"})
        assert run.exit_code == INTERRUPTED
        assert "interrupted; this is what was measured" in run.stderr
        assert "│ it " in run.stdout
        assert (A_LOOK in run.stderr) == bool(given)


def test_what_was_measured_on_spark_is_printed_when_it_is_interrupted(monkeypatch):
    def interrupted(wanted, load, cores, ships, bench):
        bench.rates["ours"] = 1_234.0
        raise KeyboardInterrupt

    monkeypatch.setattr(spark_speed, "_measure", interrupted)
    run = CliRunner().invoke(spark_speed.main, ["--rows", "2"])
    assert run.exit_code == INTERRUPTED
    assert "interrupted; this is what was measured" in run.stderr
    assert "1,234" in run.stdout
    assert "Ratios" not in run.stdout  # of which there are none
    assert A_LOOK in run.stderr


def test_a_folder_is_removed_when_the_queries_that_write_there_have_stopped():
    class Spark:
        """A session with one query, which fails as it is stopped."""

        def __init__(self):
            self.sparkContext = self.streams = self
            self.active, self.log = [self], []

        def setLogLevel(self, level):
            self.log.append(level)

        def stop(self):
            self.log.append(folder.exists())
            raise Py4JError

    spark: Any = Spark()
    with pytest.raises(KeyboardInterrupt), spark_streams.scratch(spark) as folder:
        raise KeyboardInterrupt
    assert spark.log == ["OFF", True]
    assert not folder.exists()


def test_what_goes_on_meanwhile_ends_with_what_it_goes_beside():
    before = threads()
    with pytest.raises(KeyboardInterrupt), office_load.meanwhile(Event.wait):
        raise KeyboardInterrupt
    assert threads() == before


def test_an_interrupted_load_is_told_in_a_line(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(office_load, "measure", interrupted)
    run = CliRunner().invoke(office_load.main, [])
    assert run.exit_code == INTERRUPTED
    assert run.output.count("\n") == 1
    assert run.output.startswith("interrupted; ")
