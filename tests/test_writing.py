"""Pages are for a reader in a hurry: a short first page, an opening that says what a page is for, no filler."""

from __future__ import annotations

import ast
import importlib
import re
from typing import TYPE_CHECKING

import pytest

from tests.documents import DOCS, PAGES, ROOT, name_of, of_language
from tests.test_reference import documented

if TYPE_CHECKING:
    from pathlib import Path

README = ROOT / "README.md"
GUIDES = sorted(DOCS.rglob("*.md"))
FILLERS = re.compile(
    r"\b(simply|just(?! (before|after)\b)|of course|obviously|basically|easily"
    r"|for somebody|whatever comes|what comes|what is there|the rest(?! of\b))\b",
    re.IGNORECASE,
)
"""What makes a sentence longer and no clearer, and what a stranger has to guess the meaning of."""


def prose(path: Path) -> str:
    """The text of a page, without blocks of code, and code in a line."""
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2 *$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]+`", "`x`", text)


def fillers(text: str) -> list[str]:
    """Where fillers are, with some words on either side."""
    flat = re.sub(r"\s+", " ", text)
    return [flat[max(0, found.start() - 40) : found.end() + 40] for found in FILLERS.finditer(flat)]


def opening(path: Path) -> str:
    """The first sentence of a page."""
    _, _, text = prose(path).strip().partition("\n")
    return re.split(r"(?<=[.?])\s", re.sub(r"\s+", " ", text.strip()), maxsplit=1)[0]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_has_fillers(page: Path):
    assert fillers(prose(page)) == []


@pytest.mark.parametrize("page", [page for page in GUIDES if page != DOCS / "index.md"], ids=name_of)
def test_a_page_begins_with_one_sentence_that_says_what_it_is_for(page: Path):
    first = opening(page)
    assert first[-1:] in {".", "?"}, first
    assert 5 <= len(first.split()) <= 40, first
    assert not first.startswith(("#", "|", "-", "`")), first


def test_no_public_docstring_has_fillers():
    found = {
        f"{module}.{name}": fillers(getattr(importlib.import_module(module), name).__doc__ or "")
        for module, name in documented()
    }
    assert {name: where for name, where in found.items() if where} == {}


def test_no_message_that_a_stranger_meets_has_fillers():
    texts = sorted((ROOT / "tests" / "wrong").glob("*.txt"))
    assert len(texts) > 50
    found = {text.name: fillers(text.read_text(encoding="utf-8")) for text in texts}
    assert {name: where for name, where in found.items() if where} == {}


def test_fillers_are_found_and_what_only_looks_like_them_is_not(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\nYou simply\npush it. Until just before 5.\n\n```python\nx = just\n```\n\nSee `what comes`.\n"
    )
    assert fillers(prose(page)) == ["# A page You simply push it. Until just before 5. See `x`. "]
    assert opening(page) == "You simply push it."


# ------------------------------------------------------------------------------------------------------ the first page


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_first_page_installs_shows_a_picture_and_a_program_of_twelve_lines_and_says_what_one_gets():
    start, end = "<!-- docs/index.md includes what follows, up to the next mark -->", "<!-- end -->"
    assert start in (DOCS / "index.md").read_text(encoding="utf-8")
    shown = README.read_text(encoding="utf-8").split(start)[1].split(end)[0]
    places = [
        shown.index(text) for text in ("pip install cartesius-joins", "![", "```python", "```output", "What you get")
    ]
    assert places == sorted(places)
    first = of_language("python", README)[0].code
    assert sum(bool(line.strip()) for line in first.splitlines()) <= 12
    imported = {node.module for node in ast.walk(ast.parse(first)) if isinstance(node, ast.ImportFrom)}
    assert imported == {"datetime", "cartesius", "restrictions"}  # the core alone
