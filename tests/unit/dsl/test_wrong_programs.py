"""Programs that must fail, each with its whole message beside it: `tests/wrong/dsl_<case>.py` and `.txt`.

After a deliberate change of a message, `WRITE_MESSAGES=1 pytest …/test_wrong_programs.py` writes them anew;
read the difference.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

from cartesius.errors import CartesiusError

WRONG = Path(__file__).resolve().parents[2] / "wrong"
PROGRAMS = sorted(WRONG.glob("dsl_*.py"))


def message_of(program: Path) -> str:
    with pytest.raises(CartesiusError) as refused:
        runpy.run_path(str(program))
    error = refused.value
    return f"{type(error).__name__}: {error}\n".replace(str(program.parent) + os.sep, "")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_wrong_program_is_refused_with_this_message(program: Path):
    golden = program.with_suffix(".txt")
    if os.environ.get("WRITE_MESSAGES"):
        golden.write_text(message_of(program), encoding="utf-8")
    found, expected = message_of(program).splitlines(), golden.read_text(encoding="utf-8").splitlines()
    if sys.version_info >= (3, 12):  # which knows places within an f-string, where 3.11 knows the whole of it
        assert found[3].lstrip() in expected[3]
        assert len(found[3]) <= len(expected[3])
        del found[3], expected[3]
    assert found == expected


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_every_message_shows_the_line_a_caret_and_the_fix(program: Path):
    lines = message_of(program).splitlines()
    source = [line.strip() for line in program.read_text(encoding="utf-8").splitlines()]
    assert program.name in lines[1]
    assert lines[2].strip() in source
    assert set(lines[3].strip()) == {"^"}
    assert any(line.startswith("  fix: ") for line in lines) or "did you mean" in lines[0]


def test_every_message_has_its_program():
    assert [path.stem for path in sorted(WRONG.glob("dsl_*.txt"))] == [path.stem for path in PROGRAMS]
