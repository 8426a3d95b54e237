"""What pages and hooks tell people to type exists: each `make` target, in dry run, and each file that is named."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / ".ci" / "run",
    ROOT / ".pre-commit-config.yaml",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TARGETS = sorted(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
# At the start of a line, in backquotes, in quotes, or as the entry of a hook.
SHOWN = re.compile(r'(?:^\s*|[`"]|entry: )make ([a-z][a-z0-9-]*)', re.MULTILINE)


def make(*arguments: str) -> str:
    """Run make as typed in a shell, even when these tests were started by make themselves."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_that_is_shown_exists(page: Path):
    assert set(SHOWN.findall(page.read_text(encoding="utf-8"))) <= set(TARGETS)


def test_the_targets_that_are_shown_are_recognised():
    assert {"help", "test", "check", "run", "lock"} <= set(SHOWN.findall((ROOT / "CONTRIBUTING.md").read_text()))
    assert SHOWN.findall((ROOT / ".ci" / "run").read_text()) == ["setup", "docs", "check", "test", "run"]
    assert SHOWN.findall((ROOT / ".pre-commit-config.yaml").read_text()) == ["format", "check"]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_can_be_planned(target: str):
    make("--dry-run", target)


def test_help_describes_every_target():
    assert sorted(line.split()[0] for line in make("help").splitlines()) == TARGETS


def test_arguments_reach_the_program():
    assert "-m examples.port --in-process" in make("--dry-run", "run", "ARGS=--in-process")


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_named_exists(page: Path):
    named = re.findall(r"[`(]((?:\w+/)+\w+\.(?:md|py|sh)|\.ci/run)[`)]", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []
