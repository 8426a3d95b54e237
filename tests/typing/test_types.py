"""What mypy and pyright find in ``ok_*.py``, and refuse in ``wrong_*.py``: types of programs, operations and handlers.

In ``wrong_*.py`` a line that must be refused ends with ``# E: part of mypy's message``; all others must pass. None of
them is run. Pyright, whose messages are others, looks at programs alone: what both say of them is the promise to users.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OK = sorted(HERE.glob("ok_*.py"))
WRONG = sorted(HERE.glob("wrong_*.py"))
PROGRAMS = sorted(HERE.glob("*_programs.py"))


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[tuple[str, int], str]:
    """What mypy says, by file and line; it is run once for all files."""
    configuration = (
        tmp_path_factory.mktemp("mypy") / "mypy.ini"
    )  # not the repository's: that excludes, and relaxes tests
    configuration.write_text(
        "[mypy]\nstrict = True\npython_version = 3.11\nexplicit_package_bases = True\n"
        f"mypy_path = {ROOT}\nfollow_imports = silent\n[mypy-greenlet,pyarrow.*]\nignore_missing_imports = True\n"
    )
    options = ["--config-file", str(configuration), "--cache-dir", str(ROOT / ".mypy_cache" / "typing")]
    output, errors, _ = api.run([*options, "--hide-error-context", "--no-error-summary", *map(str, OK + WRONG)])
    assert errors == ""
    found = defaultdict(str)
    for line in output.splitlines():
        match = re.match(r"(?P<path>.*?):(?P<line>\d+): error: (?P<text>.*)", line)
        if match:
            found[Path(match["path"]).name, int(match["line"])] += match["text"] + "\n"
    assert found or not output, output
    return dict(found)


@pytest.fixture(scope="module")
def pyright_said() -> dict[tuple[str, int], str]:
    """What pyright says, by file and line; it is run once for all programs."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, PROGRAMS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(PROGRAMS), done.stdout + done.stderr
    found = defaultdict(str)
    for one in report["generalDiagnostics"]:
        found[Path(one["file"]).name, one["range"]["start"]["line"] + 1] += one["message"] + "\n"
    return dict(found)


def expected(program: Path) -> dict[int, str]:
    lines = enumerate(program.read_text(encoding="utf-8").splitlines(), 1)
    return {number: line.partition("  # E: ")[2] for number, line in lines if "  # E: " in line}


@pytest.mark.parametrize("program", OK, ids=lambda program: program.stem)
def test_what_is_right_passes(said, program):
    assert {line: text for (name, line), text in said.items() if name == program.name} == {}


@pytest.mark.parametrize("program", WRONG, ids=lambda program: program.stem)
def test_what_is_wrong_is_refused_on_its_line_and_nowhere_else(said, program):
    refused = {line: text for (name, line), text in said.items() if name == program.name}
    wanted = expected(program)
    assert wanted
    assert {line: text for line, text in refused.items() if line not in wanted} == {}
    assert {line: text for line, text in wanted.items() if text not in refused.get(line, "")} == {}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_pyright_refuses_the_same_lines_of_programs_as_mypy(pyright_said, program):
    assert {line for (name, line) in pyright_said if name == program.name} == set(expected(program))
