"""The reference has every public name, once, by subject; `{names}` blocks say which (docs/conf.py shows them)."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from cartesius import Engine
from tests.conftest import CHROMIUM
from tests.documents import DOCS, ROOT, blocks

PACKAGES = [
    "cartesius",
    "cartesius.pictures",
    "cartesius.connectors",
    "cartesius.testing",
    "cartesius.transducers",
    "restrictions",
    "restrictions.streams",
    "restrictions.tables",
    "restrictions.windows",
    "restrictions.operators",
    "dsl",
    "dsl.units",
    "spark_bridge",
    "spark_bridge.testing",
]
"""What users import from; DESIGN.md, section 5, and what has come since."""
FENCE = re.compile(r"^```\{names\} (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def public_names(module: str) -> set[str]:
    """The names in `__all__`; else those that are exported as `from .x import y as y`, or defined and public."""
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return set(found.__all__)
    assert found.__file__
    names = set()
    for statement in ast.parse(Path(found.__file__).read_text(encoding="utf-8")).body:
        match statement:
            case ast.ImportFrom(names=aliases):
                names |= {alias.asname for alias in aliases if alias.asname == alias.name}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
    return {name for name in names if name and not name.startswith("_")}


def documented() -> list[tuple[str, str]]:
    """(module, name) of all that the pages name, in order."""
    texts = [page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md"))]
    return [(module, name) for text in texts for module, names in FENCE.findall(text) for name in names.split()]


def missing(module: str, named: list[tuple[str, str]]) -> set[str]:
    """The public names of a module of which the pages have neither the name nor, elsewhere, the object itself."""
    objects = [getattr(importlib.import_module(path), name) for path, name in named]
    there = importlib.import_module(module)
    return {
        name
        for name in public_names(module)
        if (module, name) not in named and not any(getattr(there, name) is each for each in objects)
    }


@pytest.mark.parametrize("module", PACKAGES)
def test_every_public_name_is_in_the_reference(module: str):
    assert len(public_names(module)) >= 3
    assert missing(module, documented()) == set()


def test_what_is_not_in_the_reference_is_found():
    named = documented()
    assert missing("cartesius", [each for each in named if each[1] != "correlate"]) == {"correlate"}
    assert missing("dsl.units", [each for each in named if each != ("dsl.units", "knots")]) == {"knots"}


def test_nothing_is_twice_in_the_reference():
    assert [each for each, count in Counter(documented()).items() if count > 1] == []


def test_what_the_reference_names_exists():
    assert [each for each in documented() if not hasattr(importlib.import_module(each[0]), each[1])] == []
    count = sum(block.language == "{names}" for page in DOCS.rglob("*.md") for block in blocks(page.read_text()))
    assert count == sum(len(FENCE.findall(page.read_text())) for page in DOCS.rglob("*.md")) > 20


def test_whoever_chooses_a_restriction_is_shown_each():
    page = (DOCS / "how_to" / "choose_a_restriction.md").read_text(encoding="utf-8")
    assert public_names("restrictions") - set(re.findall(r"\w+", page)) == set()


def named_on_one_page(page: str) -> list[tuple[str, str]]:
    """(module, name) of all that the page of all names lists: in the first column of its tables, or in a sentence."""
    found = []
    for module, section in re.findall(r"^## `(\S+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
        for line in section.splitlines():
            shown = line.split(" | ")[0] if line.startswith("|") else line if line.startswith("The names are") else ""
            found += [(module, name) for name in re.findall(r"`(\w+)`", shown)]
    return found


def test_one_page_has_every_name_once_with_the_words_of_others():
    page = (DOCS / "reference" / "names.md").read_text(encoding="utf-8")
    listed = named_on_one_page(page)
    assert sorted(listed) == sorted(documented())
    assert [line for line in page.splitlines() if line.startswith("| `") and not line.split("|")[2].strip()] == []


def test_no_name_has_two_meanings():
    """A name in two packages is one object; of two meanings one is called otherwise."""
    meanings: dict[str, set[int]] = {}
    for module, name in documented():
        meanings.setdefault(name, set()).add(id(getattr(importlib.import_module(module), name)))
    # `now` is the moment of judging in rules, as in their text, and in streams, as in the paper, an operator.
    assert {name for name, objects in meanings.items() if len(objects) > 1} == {"now"}


@pytest.mark.slow
def test_the_built_pages_have_every_name_and_no_warning(tmp_path: Path):
    """As `make docs` builds them, from nothing."""
    [line] = [line for line in (ROOT / "Makefile").read_text().splitlines() if "-m sphinx" in line]
    options = line.split("-m sphinx ")[1].replace("out/doctrees", str(tmp_path / "doctrees")).split()[:-1]
    command = [sys.executable, "-m", "sphinx", *options, str(tmp_path / "html")]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    inventory = InventoryFile.loads((tmp_path / "html" / "objects.inv").read_bytes(), uri="").data
    built = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    assert {f"{module}.{name}" for module, name in documented()} - built == set()
    methods = {f"cartesius.Engine.{name}" for name in dir(Engine) if not name.startswith("_")}
    assert methods - built == set()  # those that a base has which users never see as well
    for notebook in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        page = (tmp_path / "html" / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert '<div class="cartesius-drawing"' in page, notebook.name
        assert 'class="cartesius"' in page, notebook.name
    check_in_a_browser(tmp_path / "html")


def check_in_a_browser(built: Path) -> None:
    """Opened as files, pages are searched, their navigation folds, and on a phone the page itself comes first."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.goto((built / "how_to" / "tables.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate("document.querySelector('h1').getBoundingClientRect().top") < 150
        left = "document.querySelector('.sidebar-drawer').getBoundingClientRect().left"
        assert page.evaluate(left) < -200  # out of the page
        page.locator("label.nav-overlay-icon").click()
        windows = page.locator(".sidebar-tree").get_by_role("link", name="Compute in windows")
        windows.wait_for(state="visible")
        page.locator(".sidebar-tree .current > label").first.click()
        windows.wait_for(state="hidden")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(map(int, re.findall(r"\d+", ground)[:3])) < 60  # dark, as the system is
        page.set_viewport_size({"width": 1280, "height": 900})
        page.locator("input.sidebar-search").fill("most_recently")
        page.keyboard.press("Enter")
        for name in ("restrictions.most_recently", "Choose a restriction"):
            page.locator("#search-results").get_by_role("link", name=name, exact=True).wait_for()
        chromium.close()
