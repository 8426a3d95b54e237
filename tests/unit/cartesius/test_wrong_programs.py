"""Programs of the core that must fail, each with its whole message: `tests/wrong/core_<case>.py` and `.txt`.

After a deliberate change of a message, `WRITE_MESSAGES=1 pytest …/test_wrong_programs.py` writes them anew;
read the difference.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.unit.dsl.test_wrong_programs import WRONG, message_of

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = sorted(WRONG.glob("core_*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_wrong_program_is_refused_with_this_message(program: Path):
    golden = program.with_suffix(".txt")
    if os.environ.get("WRITE_MESSAGES"):
        golden.write_text(message_of(program), encoding="utf-8")
    assert message_of(program) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_every_message_says_what_was_expected_and_what_came(program: Path):
    assert ": expected " in message_of(program)
    assert " but " in message_of(program)


def test_every_message_has_its_program():
    assert [path.stem for path in sorted(WRONG.glob("core_*.txt"))] == [path.stem for path in PROGRAMS]
