"""The parts of ``make test-long``: what is in each, and that its two processes divide one list."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import attrs

from tests.conftest import ROOT, of_part


@attrs.frozen(order=True)
class Item:
    """A test, as pytest has collected it."""

    number: int

    @property
    def obj(self):
        """Its function: each third one is a law."""
        return Function(self.number % 3 == 0)


@attrs.frozen(order=True)
class Function:
    is_hypothesis_test: bool


def test_each_test_is_in_one_part_and_each_law_in_all_and_every_part_begins_elsewhere():
    items = [Item(number) for number in range(100)]
    parts = [of_part(part, 12, items) for part in range(1, 13)]
    laws = {item for item in items if item.number % 3 == 0}
    assert all(laws <= {*part} for part in parts)
    others = [item for part in parts for item in part if item not in laws]
    assert sorted(others) == [item for item in items if item not in laws]
    assert [part[0].number for part in parts] == sorted({part[0].number for part in parts})


SEEDS = """
import pathlib

import pytest


@pytest.mark.parametrize("number", range(8))
def test_a_seed_that_is_refused(number, pytestconfig, worker_id):
    pathlib.Path(__file__).with_name(worker_id).write_text(pytestconfig.getoption("--hypothesis-seed"))
"""


def test_both_processes_of_a_part_have_its_tests_and_draw_by_the_seed_that_is_said(tmp_path):
    for number in range(40):  # each process collects them from another end
        folder = tmp_path / f"{number % 4}"
        folder.mkdir(exist_ok=True)
        (folder / f"test_seeds_{number}.py").write_text(SEEDS)
    command = [sys.executable, "-m", "pytest", "-n", "2", __file__, str(tmp_path), "-k", "refused"]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "long", "TEST_PART": "2/3"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout
    (said,) = re.findall("--hypothesis-seed=([0-9]+)", run.stdout)
    assert {one.read_text() for one in tmp_path.rglob("gw*")} == {said}
