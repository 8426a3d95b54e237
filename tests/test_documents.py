"""Each block of code in the pages is checked by its language, and no block escapes; see `documents.py`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import (
    DOCS,
    LANGUAGES,
    PAGES,
    ROOT,
    blocks,
    commands,
    executed_pages,
    modules_named,
    name_of,
    needs_spark,
    of_language,
    problem,
    unknown_command,
)

TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
WITHOUT_SPARK = [page for page in executed_pages() if not needs_spark(page)]
RUN_ALL = """
import contextlib, io, json, runpy, sys
said = {}
for module in sys.argv[1:]:
    out = io.StringIO()
    sys.argv = [module, "--help"]
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        said[module] = "it ran, instead of helping"
    except SystemExit as end:
        said[module] = "" if end.code in (0, None) and "usage" in out.getvalue().lower() else f"exits with {end.code}"
    except ImportError as error:
        said[module] = str(error)
print(json.dumps(said))
"""


@pytest.mark.parametrize("page", WITHOUT_SPARK, ids=name_of)
def test_the_python_of_a_page_runs(page: Path):
    wrong = problem(page)
    assert wrong is None, wrong


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_that_uses_examples_says_that_they_are_in_a_clone(page: Path):
    text = page.read_text(encoding="utf-8")
    if re.search(r"python -m (cartesius show )?examples|(from|import) examples\b", text):
        for_developers = page in (ROOT / "CONTRIBUTING.md", DOCS / "rationale.md")
        assert for_developers or "clone of the repository" in text


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_of_a_page_escapes(page: Path):
    found = blocks(page.read_text(encoding="utf-8"))
    unknown = [(block.above, block.language or "no language") for block in found if block.language not in LANGUAGES]
    assert unknown == []
    assert [block.above for block in found if block.language == "text" and re.search(r">>>|^import ", block.code)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page_exist(page: Path):
    found = [words for block in of_language("bash", page) for words in commands(block.code)]
    assert [why for words in found if (why := unknown_command(words, TARGETS))] == []


def test_the_modules_that_pages_name_answer_help():
    named = set().union(*(modules_named(page.read_text(encoding="utf-8")) for page in PAGES))
    assert {"dsl", "spark_bridge", "examples.restrictions"} <= named
    command = [sys.executable, "-c", RUN_ALL, *sorted(named), "examples.no_such_module"]
    said = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert "No module named" in said.pop("examples.no_such_module")
    assert {module: why for module, why in said.items() if why} == {}


def test_every_page_is_in_the_table_of_contents():
    """Once: docs/index.md lists the sections, and the page of a section its pages."""
    listed = [
        (page.parent / f"{line}.md").relative_to(DOCS)
        for page in DOCS.rglob("*.md")
        for block in of_language("{toctree}", page)
        for line in block.code.splitlines()
        if line and not line.startswith(":")
    ]
    pages = {page.relative_to(DOCS) for page in DOCS.rglob("*.md")}
    notebooks = {Path("notebooks", f"{one.stem}.md") for one in (ROOT / "examples" / "notebooks").glob("*.ipynb")}
    assert sorted(listed) == sorted((pages | notebooks) - {Path("index.md")})


def test_a_section_says_of_each_of_its_pages_what_it_is_for():
    sections = [
        (page, block.code.splitlines())
        for page in DOCS.rglob("*.md")
        for block in of_language("{toctree}", page)
        if ":hidden:" in block.code and page != DOCS / "index.md"
    ]
    assert len(sections) > 5
    for page, lines in sections:
        text = page.read_text(encoding="utf-8")
        for name in (line for line in lines if line and not line.startswith(":")):
            assert re.search(rf"^- \[.+\]\({name}\.md\): .{{10}}", text, flags=re.MULTILINE), f"{page}: {name}"


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
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", 6, "Expected:\n2\nGot:\n1"),
        ("```python\n>>> print(1)\n1\n```\n\n```output\n1\n```\n", 7, "Got:\n"),
        ("- A list\n\n  ```python\n  x = 1\n  assert x == 2\n  ```\n", 5, "AssertionError"),
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
    assert len(of_language("python", page)) == 3
    assert problem(page) is None


@pytest.mark.parametrize(
    "text", ["Text.\n\n    x = 1\n", "```\nx = 1\n```\n", "~~~ruby\nx\n~~~\n", "- a\n\n      x = 1\n"]
)
def test_a_block_without_a_language_that_is_known_is_found(text: str):
    assert [block.language in LANGUAGES for block in blocks(text)] == [False]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("make test  # all\nmake test ARGS='-k x'", []),
        ("make tset", ["make has no such target: tset"]),
        ("A=1 B=2 \\\n  spark-submit x.py", []),
        ("tools/setup.sh", []),
        ("tools/no_such.sh", ["nobody knows tools/no_such.sh"]),
        ("curl example.org", ["nobody knows curl"]),
        ('pip install "cartesius-joins[columns,rules]" "pandas<3"', []),
        ("pip install cartesius", ["neither our distribution, with its extras, nor a bound: ['cartesius']"]),
        (
            'pip install "cartesius-joins[colums]"',
            ["neither our distribution, with its extras, nor a bound: ['cartesius-joins[colums]']"],
        ),
    ],
)
def test_a_command_that_does_not_exist_is_found(code: str, why: list[str]):
    assert [one for words in commands(code) if (one := unknown_command(words, TARGETS))] == why


@pytest.mark.parametrize("document", ["docs/features.md", "docs/reference/rsp4j.md"])
def test_the_tests_that_documents_name_exist(document: str):
    page = ROOT / document
    text = page.read_text(encoding="utf-8")
    files = list(ROOT.glob("tests/**/test_*.py"))
    sources = (path.read_text(encoding="utf-8") for path in files)
    functions = {name for source in sources for name in re.findall(r"^(?:def )?(test_\w+)", source, re.MULTILINE)}
    named = set(re.findall(r"`(test_\w+(?:\.py)?)`", text))
    assert len(named) > 5
    assert named - functions - {path.name for path in files} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_files_that_a_page_links_to_exist(page: Path):
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
