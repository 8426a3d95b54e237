"""The wheel holds the four packages and nothing else, and the README's code runs where only it is installed.

The quick variant installs nothing from the network: the new environment borrows third parties from the running one.
The slow one lets pip install them, at the locked versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.architecture_rules import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    # Without isolation the build backend is the locked one, and no network is needed.
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def borrowing_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that has the wheel, and borrows its dependencies."""
    folder = tmp_path_factory.mktemp("borrowing") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(site, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def installed_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment into which pip installed the wheel with its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    constraints = folder / "constraints.txt"
    # pip takes no hashes for a constraint on what a local file needs; the versions are what matters here.
    pins = re.findall(r"^(\S+==[^\\\n]+?) *\\?$", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    constraints.write_text("\n".join(pins) + "\n")
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, wheel)
    return python


def check_imports(python: Path, elsewhere: Path) -> None:
    program = f"import {', '.join(PACKAGES)}; print(*(p.__file__ for p in ({', '.join(PACKAGES)})), sep='\\n')"
    homes = run(python, "-I", "-c", program, cwd=elsewhere).split()
    site = run(python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    assert homes == [f"{site}/{package}/__init__.py" for package in PACKAGES]


def run_readme(python: Path, elsewhere: Path) -> None:
    program = python_blocks(README.read_text(encoding="utf-8"))
    assert program.strip(), "README.md shows no Python: it should have at least one ```python block"
    script = elsewhere / "README.md.py"
    script.write_text(program, encoding="utf-8")
    empty = elsewhere / "empty"
    empty.mkdir()
    run(python, "-I", script, cwd=empty)


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    information = f"{wheel.name.split('-py3')[0]}.dist-info/"
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


def test_the_wheel_says_what_it_needs(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().split("\n\n", 1)[0].splitlines()
    assert "License-Expression: Apache-2.0" in lines
    assert "Requires-Python: >=3.11" in lines
    needed = {re.split(r"[<>=; ]", line.removeprefix("Requires-Dist: "))[0] for line in lines if "extra ==" not in line}
    assert {"attrs", "greenlet", "numpy", "pandas", "pint", "pyarrow", "pyspark"} <= needed


def test_the_packages_are_imported_from_the_installed_wheel(borrowing_python: Path, tmp_path: Path):
    check_imports(borrowing_python, tmp_path)


def test_the_readmes_code_runs_outside_the_repository(borrowing_python: Path, tmp_path: Path):
    run_readme(borrowing_python, tmp_path)


@pytest.mark.slow
def test_pip_installs_the_wheel_and_what_it_needs(installed_python: Path, tmp_path: Path):
    check_imports(installed_python, tmp_path)
    run(installed_python, "-m", "pip", "check")


@pytest.mark.slow
def test_the_readmes_code_runs_with_what_pip_installed(installed_python: Path, tmp_path: Path):
    run_readme(installed_python, tmp_path)


def test_only_python_blocks_are_run_and_keep_their_line_numbers():
    page = "# Title\n```python\na = 1\n```\ntext\n```bash\nmake run\n```\n\n```python\nb = a\n```\n"
    assert python_blocks(page) == "\n\na = 1\n" + "\n" * 7 + "b = a\n\n"
    assert python_blocks("none\n```pycon\n>>> 1\n```\n").strip() == ""
