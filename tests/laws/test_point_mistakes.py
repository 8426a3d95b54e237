"""That the tests of what went wrong beside the results of programs find it, if it comes back (issue 18, B)."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.laws.point_mistakes import POINTS


@pytest.mark.slow  # each has a process of its own
@pytest.mark.parametrize("name", POINTS)
def test_a_planted_mistake_fails_the_tests_of_its_point(name):
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "tests.laws.point_mistakes"]
    environment = {**os.environ, "PLANTED": name, "HYPOTHESIS_PROFILE": "ci"}
    environment.pop("TEST_PART", None)
    run = subprocess.run(
        [*command, *POINTS[name].tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (run.returncode, "1 failed" in run.stdout) == (1, True), run.stdout[-3000:]
    print(*re.findall(r"^FAILED \S+", run.stdout, re.MULTILINE))
