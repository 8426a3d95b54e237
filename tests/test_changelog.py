"""The fragments of `changelog.d` are what the changelog is made of: each has a kind, says something, and is printed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "changelog.d"
KINDS = ("added", "changed", "removed", "fixed")
NAME = re.compile(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md")


def wrong_fragments(folder: Path) -> list[str]:
    """What is wrong with the files of a folder of fragments, in words."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name == "template.jinja":
            continue
        text = path.read_text(encoding="utf-8").strip()
        if not NAME.fullmatch(path.name):
            found.append(f"{path.name}: expected <what>.<kind>.md, of a kind of {', '.join(KINDS)}")
        elif not text:
            found.append(f"{path.name}: says nothing")
        elif not (text[0].isupper() or text[0] == "`") or not text.endswith("."):
            found.append(f"{path.name}: expected whole sentences")
    return found


def test_every_fragment_has_a_kind_and_says_something():
    assert wrong_fragments(FOLDER) == []


def test_a_fragment_of_another_kind_or_without_words_is_found(tmp_path: Path):
    texts = {
        "template.jinja": "",
        "good.added.md": "`Engine.why` tells why.\n",
        "doing.improved.md": "This is better.\n",
        "Loud.fixed.md": "A name with a capital.\n",
        "plain.fixed.txt": "Not Markdown.\n",
        "blank.removed.md": " \n",
        "note.changed.md": "faster joins",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [found.partition(":")[0] for found in wrong_fragments(tmp_path)] == [
        "Loud.fixed.md",
        "blank.removed.md",
        "doing.improved.md",
        "note.changed.md",
        "plain.fixed.txt",
    ]


def test_the_kinds_are_those_that_towncrier_knows():
    kinds = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]["type"]
    assert tuple(kind["directory"] for kind in kinds) == KINDS


def test_a_release_prints_every_fragment():
    draft = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    printed = subprocess.run(draft, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("## 9.9.9 (")
    for path in FOLDER.glob("*.md"):
        for line in path.read_text(encoding="utf-8").split("\n"):
            assert line.strip() in printed, path.name
