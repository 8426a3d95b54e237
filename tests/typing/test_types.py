"""The types of operations and handlers: what mypy finds in ``ok_*.py``, and refuses in ``wrong_*.py``.

In ``wrong_*.py`` a line that must be refused ends with ``# E: part of the message``; all others must pass. None
of them is run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OK = sorted(HERE.glob("ok_*.py"))
WRONG = sorted(HERE.glob("wrong_*.py"))


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
