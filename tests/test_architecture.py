"""The source tree keeps the rules of `architecture_rules.py`, and each rule notices a tree that breaks it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import architecture_rules as rules

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
ALL_RULES = [
    rules.wrong_directions,
    rules.broken_quarantines,
    rules.shared_names,
    rules.crowded_rooms,
    rules.unnamed_modules,
    rules.knotted_rooms,
    rules.shared_file_names,
    rules.missing_docstrings,
    rules.long_modules,
    rules.wrong_exports,
    rules.forbidden_calls,
    rules.assertions_that_do,
    rules.unexplained_exceptions,
    rules.untyped_packages,
]

GOOD_TREE = {
    "cartesius/py.typed": "",
    "restrictions/py.typed": "",
    "dsl/py.typed": "",
    "spark_bridge/py.typed": "",
    "cartesius/__init__.py": '"""Core."""\nfrom .shapes import area as area\nfrom .shapes import SIDES as SIDES\n__all__ = ["SIDES", "area"]\n',
    "cartesius/shapes.py": '"""Shapes."""\nSIDES = 4\n"""Of a square."""\n\n\ndef area():\n    """The area."""\n',
    "cartesius/effects/__init__.py": '"""Effects: `resumptions`."""',
    "cartesius/connectors/__init__.py": '"""Connectors: `kafka`."""',
    "cartesius/connectors/kafka.py": '"""Kafka."""\nfrom confluent_kafka import Consumer\n',
    "cartesius/effects/resumptions.py": '"""Resumptions."""\nimport greenlet\n',
    "restrictions/__init__.py": '"""Restrictions."""\nfrom cartesius.shapes import area\n',
    "dsl/__init__.py": '"""Rules."""\nimport restrictions\nimport cartesius.shapes\n',
    "dsl/units.py": '"""Units."""\nfrom pint import Unit\n',
    "cartesius/pages/__init__.py": '"""Its server is `local_pages`."""',
    "dsl/text/__init__.py": '"""Texts: `parsing`."""',
    "cartesius/pages/local_pages.py": '"""Server."""\nimport uvicorn\nfrom starlette.routing import Route\n',
    "dsl/text/parsing.py": '"""Parsing."""\nfrom lark import Lark  # type: ignore[import]  # has none\nx = "# noqa"  # noqa: E1 - text\n',
    "spark_bridge/__init__.py": '"""Bridge."""\nimport pandas as pd\nfrom pyspark.sql import functions\nimport cartesius\n',
    "examples/port/__main__.py": '"""Main."""\nimport dsl, restrictions, cartesius, spark_bridge, pandas\n',
}
DOC = '"""Doc."""\n'

# What a file is replaced with, or added, and what the rule must say of it.
BAD_TREES = [
    pytest.param(rule, {path: text}, said, id=said)
    for rule, path, text, said in [
        (rules.wrong_directions, "cartesius/x.py", DOC + "import restrictions", "cartesius may not import restrictions"),
        (rules.wrong_directions, "restrictions/x.py", DOC + "from dsl import a", "restrictions may not import dsl"),
        (rules.wrong_directions, "dsl/x.py", DOC + "def f():\n    import spark_bridge", "dsl may not import spark_bridge"),
        (rules.wrong_directions, "spark_bridge/x.py", DOC + "import restrictions.basics.keys", "spark_bridge may not import restrictions.basics.keys"),
        (rules.wrong_directions, "spark_bridge/x.py", DOC + "if TYPE_CHECKING:\n    import dsl", "spark_bridge may not import dsl"),
        (rules.wrong_directions, "dsl/x.py", DOC + "import examples.port", "dsl may not import examples.port"),
        (rules.wrong_directions, "examples/x.py", DOC + "import tests", "examples may not import tests"),
        (rules.broken_quarantines, "cartesius/x.py", DOC + "from greenlet import getcurrent", "only cartesius/effects/resumptions.py may import greenlet"),
        (rules.broken_quarantines, "dsl/x.py", DOC + "import lark", "only dsl/text/parsing.py may import lark"),
        (rules.broken_quarantines, "examples/x.py", DOC + "import pint", "only dsl/units.py may import pint"),
        (rules.broken_quarantines, "cartesius/x.py", DOC + "import pyspark.sql", "and tests may import pyspark"),
        (rules.broken_quarantines, "dsl/x.py", DOC + "import pandas as pd", "and tests may import pandas"),
        (rules.broken_quarantines, "dsl/units.py", DOC, "dsl/units.py: does not import pint"),
        (rules.shared_names, "cartesius/push.py", DOC + "def push(): ...", "shares its name with something it defines"),
        (rules.shared_names, "cartesius/area.py", DOC, "exports area, which is also the name of a module"),
        (rules.shared_file_names, "dsl/shapes.py", DOC, "shapes.py: is in cartesius, dsl"),
        (rules.unnamed_modules, "dsl/text/x.py", DOC, "dsl/text/x.py: is not named in the docstring of its room"),
        (rules.missing_docstrings, "bench/__main__.py", "x = 1", "bench/__main__.py: has no docstring"),
        (rules.long_modules, "dsl/x.py", DOC + "\n" * 300, "has 301 lines"),
        (rules.wrong_exports, "dsl/__init__.py", DOC + "from cartesius import area\n__all__ = ['area']", "has 2 public paths: cartesius.area, dsl.area"),
        (rules.wrong_exports, "dsl/__init__.py", DOC + "__all__ = ['nothing']", "exports nothing, which it does not have"),
        (rules.wrong_exports, "cartesius/shapes.py", DOC + "SIDES = 4\ndef area():\n  'Doc.'", "SIDES: is public"),
        (rules.wrong_exports, "cartesius/shapes.py", DOC + "SIDES = 4  #: sides\ndef area(): ...", "area: is public"),
        (rules.wrong_exports, "dsl/__init__.py", DOC + "from math import pi\n__all__ = ['pi']", "is not ours but math's"),
        (rules.forbidden_calls, "cartesius/x.py", DOC + "import pickle", "imports pickle"),
        (rules.forbidden_calls, "spark_bridge/x.py", DOC + "from pyspark.cloudpickle import dumps", "imports pyspark.cloudpickle"),
        (rules.forbidden_calls, "dsl/x.py", DOC + "x = eval('1')", "calls eval"),
        (rules.forbidden_calls, "dsl/x.py", DOC + "exec('1')", "calls exec"),
        (rules.forbidden_calls, "dsl/x.py", DOC + "import builtins\nbuiltins.exec('1')", "calls exec"),
        (rules.forbidden_calls, "dsl/y.py", DOC + "from builtins import exec as run", "imports a forbidden builtin"),
        (rules.assertions_that_do, "dsl/x.py", DOC + "x = {}\nassert x.pop('a', None) is None", "asserts and changes: pop"),
        (rules.assertions_that_do, "bench/x.py", DOC + "assert (x := 1)", "asserts and changes: x"),
        (rules.unexplained_exceptions, "cartesius/x.py", DOC + "x = 1  # type: ignore[misc]", "does not say why: # type: ignore[misc]"),
        (rules.unexplained_exceptions, "tests/x.py", DOC + "x = 1  # type: ignore  # mypy", "does not say why: # type: ignore  # mypy"),
        (rules.unexplained_exceptions, "dsl/x.py", DOC + "x = 1  # noqa: E501", "does not say why: # noqa: E501"),
        (rules.unexplained_exceptions, "bench/x.py", DOC + "x = 1  # noqa - it is long", "does not say why: # noqa - it is long"),
        (rules.unexplained_exceptions, "tests/x.py", DOC + "x: 'Y'  # type: ignore[misc]  # noqa: F821", "# type: ignore[misc]  # noqa: F821"),
    ]
]  # fmt: skip


def plant(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.__name__)
def test_this_repository_keeps(rule: Callable[[Path], list[str]]):
    assert rule(ROOT) == []


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.__name__)
def test_a_good_tree_passes(rule: Callable[[Path], list[str]], tmp_path: Path):
    assert rule(plant(tmp_path, GOOD_TREE)) == []


@pytest.mark.parametrize(("rule", "files", "said"), BAD_TREES)
def test_a_bad_tree_is_noticed(rule: Callable[[Path], list[str]], files: dict[str, str], said: str, tmp_path: Path):
    violations = rule(plant(tmp_path, {**GOOD_TREE, **files}))
    assert len(violations) == 1
    assert said in violations[0]


def test_a_crowded_room_is_noticed(tmp_path: Path):
    rooms = {f"dsl/text/{name}.py": DOC for name in "abcdefghijklmnop"}
    assert rules.crowded_rooms(plant(tmp_path, rooms)) == ["dsl/text: has 16 modules"]


@pytest.mark.parametrize("text", ["from dsl.upper import x", "if TYPE_CHECKING:\n    from dsl.upper.x import X"])
def test_rooms_that_import_each_other_are_noticed(text: str, tmp_path: Path):
    plant(
        tmp_path,
        {"dsl/upper/x.py": "import dsl.middle.x", "dsl/middle/x.py": "import dsl.lower.x\nimport dsl.middle.y"},
    )
    plant(tmp_path, {"dsl/lower/x.py": "", "dsl/middle/y.py": "import dsl.middle.x"})
    assert rules.knotted_rooms(tmp_path) == []
    plant(tmp_path, {"dsl/lower/x.py": text})
    assert [line.partition(":")[0] for line in rules.knotted_rooms(tmp_path)] == [
        "dsl.lower and dsl.upper need each other, directly or not",
        "dsl.middle and dsl.lower need each other, directly or not",
        "dsl.upper and dsl.middle need each other, directly or not",
    ]


def test_a_package_without_py_typed_is_noticed(tmp_path: Path):
    plant(tmp_path, GOOD_TREE)
    (tmp_path / "dsl" / "py.typed").unlink()
    assert rules.untyped_packages(tmp_path) == ["dsl: has no py.typed"]


def test_every_rule_has_a_tree_that_breaks_it():
    broken = {parameters.values[0] for parameters in BAD_TREES}
    broken |= {rules.untyped_packages, rules.crowded_rooms, rules.knotted_rooms}
    assert broken == set(ALL_RULES)


def test_a_long_module_may_say_why(tmp_path: Path):
    text = '"""Tables.\n\nOver the cap, that is over 300\nlines because the table is one.\n"""\n' + "\n" * 400
    assert rules.long_modules(plant(tmp_path, {**GOOD_TREE, "dsl/x.py": text})) == []


def test_the_tour_shows_every_room():
    page = (ROOT / "docs/architecture.md").read_text()
    floors = set(re.findall(r"\w+", page.partition("```text")[2].partition("```")[0]))
    rooms = {path.parent.name for package in rules.PACKAGES for path in (ROOT / package).glob("*/__init__.py")}
    assert rooms - floors == set()
