"""What is built holds the four packages and nothing else; the core stands alone; what is missing says what to install.

The quick tests take nothing from the network: pip installs wheels that are made of what the running environment has.
The slow ones let pip fetch the third parties, at the locked versions. `make dist` tests what it has built (DIST).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from hatchling.build import build_sdist, build_wheel, prepare_metadata_for_build_wheel

from tests.architecture_rules import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CORE = {"attrs", "greenlet"}
EXTRAS = {"columns", "compare", "rules", "spark", "edit", "kafka", "postgresql"}
LARGEST_CORE = 15_000_000
"""Bytes of the core with what it needs, installed, without byte code."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; what fails shows all it said."""
    # Neither the repository nor pytest's environment may help what is run.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    # As in an activated environment: Spark's workers are the `python3` of the PATH.
    environment["PATH"] = os.pathsep.join([os.path.dirname(command[0]), environment["PATH"]])
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def python_blocks(markdown: str) -> str:
    """The fenced python blocks of a page as one program; each line keeps its number, for the traceback."""
    program, inside = [], False
    for line in markdown.splitlines():
        if inside and line.startswith("```"):
            inside = False
        program.append(line if inside else "")
        inside = inside or line.strip() == "```python"
    return "\n".join(program) + "\n"


def first_python_block(markdown: str) -> str:
    """The first of them."""
    return markdown.partition("```python\n")[2].partition("```")[0]


def made_wheel(name: str, folder: Path) -> None:
    """Make a wheel of a distribution as it is installed here, so that pip can install it where there is no network."""
    installed = metadata.distribution(name)
    tag = re.search(r"^Tag: (\S+)", installed.read_text("WHEEL") or "", re.MULTILINE)
    assert tag, name
    files = [path for path in installed.files or () if ".." not in path.parts and path.suffix != ".pyc"]
    record = next(path for path in files if path.name == "RECORD")
    stem = f"{record.parent.name.removesuffix('.dist-info')}-{tag[1]}"
    with zipfile.ZipFile(folder / f"{stem}.whl", "w") as archive:
        lines = [f"{record},,"]
        for path in files:
            if path != record:
                content = path.read_binary()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                lines.append(f"{path},sha256={digest},{len(content)}")
                archive.writestr(str(path), content)
        archive.writestr(str(record), "\n".join(lines) + "\n")


class Built(NamedTuple):
    """What a release consists of."""

    wheel: Path
    source: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    if "DIST" in os.environ:  # there the wheel was made from the source distribution
        folder = Path(os.environ["DIST"]).resolve()
        (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        return Built(wheel, source)
    folder = tmp_path_factory.mktemp("dist")
    with contextlib.chdir(ROOT):  # as build backends are called
        return Built(folder / build_wheel(str(folder)), folder / build_sdist(str(folder)))


@pytest.fixture(scope="module")
def core_python(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment into which pip installed the wheel with what it says it needs."""
    folder = tmp_path_factory.mktemp("core")
    for name in CORE:
        made_wheel(name, folder)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    options = ("--quiet", "--no-index", "--no-compile", "--find-links", folder)
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, built.wheel)
    return python


@pytest.fixture(scope="module")
def borrowing_python(core_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that borrows the core's installation and the third parties of the running one."""
    folder = tmp_path_factory.mktemp("borrowing") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    Path(site_of(python), "borrowed.pth").write_text(f"{site_of(core_python)}\n{sysconfig.get_path('purelib')}\n")
    return python


@pytest.fixture(scope="module")
def installed_python(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment into which pip installed the wheel with all extras."""
    folder = tmp_path_factory.mktemp("installed")
    constraints = folder / "constraints.txt"
    # pip takes no hashes for a constraint on what a local file needs; the versions are what matters here.
    pins = re.findall(r"^(\S+==[^\\\n]+?) *\\?$", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    constraints.write_text("\n".join(pins) + "\n")
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, f"{built.wheel}[all]")
    return python


def site_of(python: Path) -> str:
    return run(python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()


def check_readme(python: Path, site: str, elsewhere: Path) -> None:
    """Run all of the README's code, and look where the packages came from."""
    program = python_blocks(README.read_text(encoding="utf-8"))
    assert program.strip(), "README.md shows no Python: it should have at least one ```python block"
    program += f"import {', '.join(PACKAGES)}\nprint(*(p.__file__ for p in ({', '.join(PACKAGES)})), sep='\\n')"
    homes = run_program(python, program, elsewhere).splitlines()[-len(PACKAGES) :]
    assert homes == [f"{site}/{package}/__init__.py" for package in PACKAGES]


def run_program(python: Path, program: str, elsewhere: Path) -> str:
    script = elsewhere / "README.md.py"
    script.write_text(program, encoding="utf-8")
    empty = elsewhere / "empty"
    empty.mkdir()
    return run(python, "-I", script, cwd=empty)


# ---------------------------------------------------------------------------------------------------- what is built


def test_the_wheel_holds_the_four_packages_and_nothing_else(built: Built):
    with zipfile.ZipFile(built.wheel) as archive:
        held = set(archive.namelist())
    information = f"{built.wheel.name.split('-py3')[0]}.dist-info/"
    ours = {name for name in held if not name.startswith(information)}
    source = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in {".py", ".lark", ".html", ".css", ".js"} or path.name == "py.typed"
    }
    assert ours == source
    assert {f"{package}/py.typed" for package in PACKAGES} <= ours
    assert f"{information}licenses/LICENSE" in held


def test_the_source_distribution_holds_the_packages_and_how_they_are_built(built: Built):
    with tarfile.open(built.source) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    with zipfile.ZipFile(built.wheel) as archive:
        ours = {name for name in archive.namelist() if name.partition("/")[0] in PACKAGES}
    assert held - ours == {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO", ".gitignore"}
    assert ours <= held


def test_the_wheel_says_what_it_needs(built: Built):
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().split("\n\n", 1)[0].splitlines()
    assert {"Name: cartesius-joins", "License-Expression: Apache-2.0", "Requires-Python: >=3.11"} <= set(lines)
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    needed = {re.split(r"[<>=; ]", need)[0] for need in needs if "extra ==" not in need}
    assert needed == CORE
    given = {line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")}
    assert given == {*EXTRAS, "all", "examples", "dev"}


def test_the_extra_all_has_all_others_that_the_library_uses():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras["all"] == [f"cartesius-joins[{','.join(sorted(EXTRAS))}]"]


def test_each_extra_that_code_names_exists():
    named = {
        extra
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for extra in re.findall(r"cartesius-joins\[(\w+)\]", path.read_text(encoding="utf-8"))
    }
    assert {"columns", "rules", "spark", "edit", "postgresql"} <= named <= EXTRAS


# ---------------------------------------------------------------------------------------------------- the version


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory):
    """What the version of a repository is, after each command that is given."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (folder / name).write_bytes((ROOT / name).read_bytes())

    def version(*commands: str) -> str:
        for command in commands:
            who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
            subprocess.run(["git", *who, *command.split()], cwd=folder, check=True, capture_output=True)
        with contextlib.chdir(folder):
            information = prepare_metadata_for_build_wheel(str(tmp_path_factory.mktemp("metadata")))
        return information.removesuffix(".dist-info").partition("-")[2]

    return version


def test_the_version_follows_from_the_tag(tagged):
    assert tagged() == "0.0.0"  # an archive without a repository can be built as well
    assert re.fullmatch(r"0\.0\.1\.dev1\+g[0-9a-f]+", tagged("init -q", "add .", "commit -qm first"))
    assert tagged("tag v1.2.3") == "1.2.3"


# ---------------------------------------------------------------------------------------------------- the core alone

REFUSALS = """
import importlib, json, pkgutil
import cartesius, restrictions
from cartesius import CartesiusError, Engine, Reactive

def refusal(call):
    try:
        call()
    except ImportError as error:
        return f"{isinstance(error, CartesiusError)}: {error}"

engine = Engine(restrictions.zip_(Reactive("a"), Reactive("b")))
left_out = set()
for package in (cartesius, restrictions):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except ImportError:
            left_out.add(".".join(module.name.split(".")[:2]) if "columns" in module.name else module.name)
print(json.dumps({
    "version": cartesius.__version__,
    "push_many": refusal(lambda: engine.push_many({})),
    "dsl": refusal(lambda: importlib.import_module("dsl")),
    "again": refusal(lambda: importlib.import_module("dsl.units")),
    "spark_bridge": refusal(lambda: importlib.import_module("spark_bridge.sinks")),
    "results": refusal(lambda: importlib.import_module("cartesius.columns.results")),
    "explain": engine.explain().splitlines()[-1],
    "source": engine.source().strip().splitlines()[-1],
    "left out": sorted(left_out),
}))
"""
AT_WORK = """
from cartesius import Engine, Reactive, correlate, run
from cartesius.testing import marbles
from restrictions import affinely, cartesian, in_sequence, key_by, tumbling, within, without
from restrictions.tables import map_table, to_table

assert marbles(cartesian, left="1--|", right="-xy|", restrict=affinely("left")) == "-(1x)-|"

start, end, warned = map(Reactive, ("start", "end", "warned"))
ship = key_by(start="ship", end="ship", warned="ship")
quiet = ship | in_sequence("start", "end") | within(9, "start", "end") | without(warned, between=("start", "end"))
safe = correlate(start=start, end=end, yields=lambda start: start.ship, restrict=quiet)
engine = Engine(safe, lateness=0, trace=True)
engine.push(start, {"ship": "EVA"}, at=1)
(event,) = [*engine.push(end, {"ship": "EVA"}, at=5), *engine.advance(9)]
assert event.value == "EVA"
assert "EVA" in str(engine.why(event))

bid, ask = Reactive("bid"), Reactive("ask")
deals = correlate(bid=bid, ask=ask, yields=lambda bid, ask, window: (bid, ask, window.start), restrict=tumbling(10))
assert [event.value for event in run(deals, [(bid, 5, 1), (ask, 4, 6), (bid, 7, 12)])] == [(5, 4, 0)]

report = Reactive("report")
draughts = map_table(to_table(report, key="name"), lambda ship: ship.draught)
engine = Engine(draughts)
engine.push(report, {"name": "EVA", "draught": 9})
engine = Engine.restore(engine.snapshot(), draughts)
engine.push(report, {"name": "EVA", "draught": 8})
assert engine.query(draughts) == {"EVA": 8}
"""


def test_the_core_is_small_and_needs_two_packages(core_python: Path):
    site = Path(site_of(core_python))
    names = {path.name.partition("-")[0] for path in site.glob("*.dist-info")}
    assert names == {"cartesius_joins", *CORE}
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert 1_000_000 < size < LARGEST_CORE


def test_the_readmes_first_program_and_what_it_does_not_show_run_on_the_core_alone(core_python: Path, tmp_path: Path):
    first = first_python_block(README.read_text(encoding="utf-8"))
    assert "cartesius" in first
    run_program(core_python, first + AT_WORK, tmp_path)


def test_what_is_missing_says_what_to_install(built: Built, core_python: Path, tmp_path: Path):
    def said(call: str, package: str, extra: str) -> str:
        return f'{call}: expected the package {package} but it is not installed; pip install "cartesius-joins[{extra}]"'

    batch = said("a batch of columns", "numpy", "columns")
    assert json.loads(run_program(core_python, REFUSALS, tmp_path)) == {
        "version": built.wheel.name.split("-")[1],
        "push_many": "True: " + said("Engine.push_many", "numpy", "columns"),
        "dsl": "True: " + said("import dsl", "pint", "rules"),
        "again": "True: " + said("import dsl", "pint", "rules"),
        "spark_bridge": "True: " + said("import spark_bridge", "pyspark", "spark"),
        "results": "True: " + said("import cartesius.columns.results", "numpy", "columns"),
        "explain": f"  push_many     {batch}",
        "source": f"# {batch}",
        "left out": [
            "cartesius.columns",
            "cartesius.connectors.kafka",
            "cartesius.engines.saving",
            "cartesius.pages.local_pages",
        ],
    }


# ---------------------------------------------------------------------------------------------------- all of it


def test_the_readmes_code_runs_outside_the_repository(core_python: Path, borrowing_python: Path, tmp_path: Path):
    check_readme(borrowing_python, site_of(core_python), tmp_path)


@pytest.mark.slow
def test_the_readmes_code_runs_with_what_pip_installed(installed_python: Path, tmp_path: Path):
    run(installed_python, "-m", "pip", "check")
    check_readme(installed_python, site_of(installed_python), tmp_path)


def test_only_python_blocks_are_run_and_keep_their_line_numbers():
    page = "# Title\n```python\na = 1\n```\ntext\n```bash\nmake run\n```\n\n```python\nb = a\n```\n"
    assert python_blocks(page) == "\n\na = 1\n" + "\n" * 7 + "b = a\n\n"
    assert python_blocks("none\n```pycon\n>>> 1\n```\n").strip() == ""
    assert first_python_block(page) == "a = 1\n"
