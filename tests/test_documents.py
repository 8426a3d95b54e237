"""The Python in the documents runs: block by block, in order, in one namespace for each document.

A block with a prompt (`>>>`) is a doctest, whose output is compared; any other is executed.
"""

from __future__ import annotations

import doctest
import re
import traceback
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    "docs/walkthrough.md", "docs/tutorial.md", "docs/tables.md", "docs/windows.md", "docs/sequences.md",
    "docs/absence.md", "docs/order.md", "docs/order_types.md", "docs/rules.md", "docs/rules_as_text.md",
    "docs/relations.md", "docs/forecasts.md", "docs/columns.md", "docs/experiments.md", "docs/equivalence.md",
    "docs/bounds.md",
    "README.md",
]  # fmt: skip
FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code, and how many lines stand above its first one."""

    above: int
    code: str


def blocks(text: str) -> list[Block]:
    """The Python blocks of a document, in order."""
    return [Block(text.count("\n", 0, found.start(1)), found[1]) for found in FENCE.finditer(text)]


def problem(path: Path) -> str | None:
    """What is wrong with the Python of a document, with its file and line; None if all of it runs."""
    found = blocks(path.read_text(encoding="utf-8"))
    if not found:
        return f"{path}:1: has no Python block"
    namespace: dict[str, object] = {"__name__": path.stem}
    for block in found:
        wrong = (_wrong_output if ">>>" in block.code else _wrong_code)(path, block, namespace)
        if wrong:
            return wrong
    return None


def _wrong_code(path: Path, block: Block, namespace: dict[str, object]) -> str | None:
    try:
        # With as many empty lines in front, lines are counted as in the document.
        exec(compile("\n" * block.above + block.code, str(path), "exec"), namespace)
    except SyntaxError as error:
        return f"{path}:{error.lineno}: {error!r}"
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        return f"{path}:{lines[0]}: {error!r}"
    return None


def _wrong_output(path: Path, block: Block, namespace: dict[str, object]) -> str | None:
    test = doctest.DocTestParser().get_doctest(block.code, {}, path.name, str(path), block.above)
    test.globs = namespace  # not a copy: what a block defines is there in the next ones
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    if runner.run(test, out=said.append, clear_globs=False).failed:
        report = "".join(said)
        line = re.search(r"line (\d+)", report)
        return f"{path}:{line[1] if line else block.above + 1}: {report}"
    return None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_python_of_a_document_runs(document: str):
    wrong = problem(ROOT / document)
    assert wrong is None, wrong


# ---------------------------------------------------------------------------- the check itself can fail, and says where


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("# A page\n\nNothing runs here.\n\n```\nx = 1\n```\n", 1, "has no Python block"),
        ("# A page\n\n```python\nx = 1\nassert x == 2\n```\n", 5, "AssertionError"),
        ("```python\ndef f():\n    return g()\n```\n\nText.\n\n```python\nf()\n```\n", 9, "NameError"),
        ("# A page\n\n```python\nx = (\n```\n", 4, "SyntaxError"),
        ("# A page\n\n```python\n>>> 1 + 1\n2\n>>> 1 + 2\n4\n```\n", 6, "Expected:\n    4\nGot:\n    3"),
        ("```python\nx = 1\n```\n\n```python\n>>> x + y\n3\n```\n", 6, "NameError"),
    ],
)
def test_what_does_not_run_is_found_with_its_line(tmp_path: Path, text: str, line: int, what: str):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    found = problem(page)
    assert found is not None
    assert found.startswith(f"{page}:{line}: ")
    assert what in found


def test_blocks_share_what_they_define(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\n```\n\n"
        "```python\n>>> def f():\n...     return x\n>>> y = 2\n```\n\n"
        "```text\nno code\n```\n\n"
        "```python\nx = 3\nassert (f(), y) == (3, 2)\n```\n",
        encoding="utf-8",
    )
    assert len(blocks(page.read_text(encoding="utf-8"))) == 3
    assert problem(page) is None


@pytest.mark.parametrize("document", ["docs/features.md", "docs/rsp4j.md"])
def test_the_tests_that_documents_name_exist(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    files = list(ROOT.glob("tests/**/test_*.py"))
    sources = (path.read_text(encoding="utf-8") for path in files)
    functions = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.MULTILINE)}
    named = set(re.findall(r"`(test_\w+(?:\.py)?)`", text))
    assert len(named) > 5
    assert named - functions - {path.name for path in files} == set()
    assert [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not (ROOT / "docs" / link).exists()] == []
