"""What is loaded when: numpy and Arrow with the compiled tier, and nothing heavy before. In fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {"numpy", "pyarrow", "pandas", "pyspark", "pint", "lark"}
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, *_):
        if name in {missing}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
"""
WITHOUT_PANDAS = WITHOUT.format(missing=["pandas"])
"""Arrow itself tries to import pandas, and takes it where it is installed."""
PUSHING = """
from cartesius import Engine, Reactive
from restrictions import combine_latest
import restrictions.streams, restrictions.tables, restrictions.windows
left, right = Reactive("left"), Reactive("right")
output = combine_latest(left, right)
for tier in (None, "in_place", "reference"):
    engine = Engine(output, tier=tier)
    engine.push(left, 1), engine.push(right, 2)
    engine = Engine.restore(engine.snapshot(), output, tier=tier)
    engine.push(left, 3), engine.stats, engine.close()
"""
BATCHES = """
engine = Engine(output)
engine.push_many({left: {"value": [1, 2.5, "x"], "order": [0, 2, 4]}, right: {"value": [1, 2], "order": [1, 3]}})
engine.push_many({left: {"a": [1, None], "b": [{"c": "x"}, None], "at": [7, 8]}})
from cartesius.columns.results import events_of
import numpy
events_of(engine.push_many({left: {"value": numpy.array(["2026-01-01"], "datetime64[ns]")}}))
engine.push(left, 3)
"""
RULES = """
import importlib, pkgutil, dsl
from cartesius import Engine
STORED = "dsl.histories.", "dsl.comparison.", "dsl.audit."  # what reads stored columns
for module in pkgutil.walk_packages(dsl.__path__, "dsl.", onerror=lambda name: None):
    if not (module.name + ".").startswith(STORED):
        importlib.import_module(module.name)
with open("examples/rules/harbour.rules") as file:
    pack = dsl.RulePack.from_text(file.read(), "harbour.rules")
assert pack.describe() and pack.lint() is not None
vessel = pack.sources["vessel"]
ship = dict.fromkeys(vessel.fields) | {"mmsi": 1, "draught": 15.5, "destination": "A"}
(change,) = Engine(pack.table()).push(vessel, ship)
assert change.value.value.status == "unknown"
"""


def loaded_by(program: str) -> set[str]:
    """Which heavy modules a program has loaded when it ends."""
    program += f"\nimport sys; print(*({HEAVY!r} & {{name for name, module in sys.modules.items() if module}}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "program", ["import cartesius", "import restrictions", PUSHING], ids=["core", "all", "pushing"]
)
def test_importing_building_and_pushing_load_nothing_heavy(program: str):
    assert loaded_by(program) == set()


def test_push_many_loads_numpy_and_arrow_and_needs_no_pandas():
    assert loaded_by(WITHOUT_PANDAS + PUSHING + BATCHES) == {"numpy", "pyarrow"}


def test_rules_need_no_columns():
    assert loaded_by(WITHOUT.format(missing=["numpy", "pyarrow", "pandas"]) + RULES) == {"pint", "lark"}


def test_units_come_with_rules():
    assert loaded_by("import dsl") - {"numpy"} == {"pint", "lark"}  # pint takes numpy where it is installed
