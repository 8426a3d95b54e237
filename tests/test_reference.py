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
from tests.documents import DOCS, ROOT, blocks

PACKAGES = [
    "cartesius",
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
    assert len(public_names(module)) >= 4
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
