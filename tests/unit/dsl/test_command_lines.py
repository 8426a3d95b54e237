"""How commands end, whoever reads them and however, and that they look first where they shall write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cartesius.errors import InvalidArgument
from dsl.command_lines import INTERRUPTED, UNREAD, check_writable, run

ROOT = Path(__file__).resolve().parents[3]


def unread() -> int:
    """What one writes into that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def test_ctrl_c_ends_a_command_without_a_traceback():
    def interrupted() -> int:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit, match=f"^{INTERRUPTED}$"):
        run(interrupted)


@pytest.mark.parametrize("ending", [lambda: 3, sys.exit])
def test_a_reader_that_goes_ends_a_command(ending, monkeypatch):
    with open(unread(), "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(SystemExit, match=f"^{UNREAD}$"):
            run(lambda: print("x") or ending())
        monkeypatch.undo()


def test_the_command_prints_whatever_the_terminal_lacks_and_whoever_has_gone():
    command = [sys.executable, "-m", "dsl", "describe", "examples/rules/harbour.rules"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert r"\xb0" in done.stdout
    writer = unread()
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (UNREAD, "")


def test_where_nothing_can_be_written_is_refused_before(tmp_path):
    check_writable("--out", tmp_path / "new" / "folder", "data")
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "folder"]
    (tmp_path / "data").mkdir()
    with pytest.raises(
        InvalidArgument, match=f"^cannot write to {tmp_path / 'data'}: Is a directory; choose another --out$"
    ):
        check_writable("--out", tmp_path, "data")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match=f"^cannot write to {tmp_path / 'file'}: File exists"):
        check_writable("--out", tmp_path / "file")
    (tmp_path / "file").write_text("kept")
    check_writable("--out", tmp_path, "file")
    assert (tmp_path / "file").read_text() == "kept"
