"""The parts of ``make test-long``: its two processes divide one list, whatever order each has collected it in."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT


def test_both_processes_of_a_part_have_its_tests():
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "tests/unit/bench", "-k", "refused"]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "long", "TEST_PART": "2/3"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout
