"""What is installed: the version, namesakes of our packages, and what is said of a package that is missing."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module, invalidate_caches, metadata
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import cartesius
from cartesius import CartesiusError
from cartesius.errors import NotInstalled
from cartesius.installation import SOURCE_VERSION, needing, warn_of_namesakes

ROOT = Path(__file__).resolve().parents[3]


def test_a_missing_package_is_an_import_error_and_one_of_ours():
    with pytest.raises(NotInstalled, match="one: expected the package no_such but") as raised, needing("one", "other"):
        import_module("no_such.module")
    assert isinstance(raised.value, CartesiusError)
    assert isinstance(raised.value, ImportError)
    assert (raised.value.name, raised.value.__suppress_context__) == ("no_such", True)


def test_on_the_way_to_a_command_it_is_one_line_and_no_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["-m", "edit", "port.rules"])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-P", "-m", "their_command", "edit", "port.rules"])
    with pytest.raises(NotInstalled), needing("import dsl", "other"):  # theirs may do without
        import_module("no_such")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-P", "-m", "dsl", "edit", "port.rules"])
    said = 'pip install "other", or the extra of the command'
    with pytest.raises(SystemExit, match=said) as raised, needing("import dsl", "other"):
        import_module("no_such")
    assert raised.value.__suppress_context__


def test_a_mistake_of_ours_and_a_package_that_fails_are_not_called_missing(tmp_path, monkeypatch):
    with pytest.raises(ModuleNotFoundError, match=r"cartesius\.no_such"), needing("one", "other"):
        import_module("cartesius.no_such")
    (tmp_path / "fails_to_load.py").write_text("raise ImportError('no libgreat.so')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"no libgreat\.so") as raised, needing("one", "other"):
        import_module("fails_to_load")
    assert type(raised.value) is ImportError


def test_the_outermost_call_does_not_rename_what_is_missing_inside():
    with pytest.raises(NotInstalled, match="inner: "), needing("outer", "a"), needing("inner", "b"):
        import_module("no_such")


def test_a_checkout_says_that_it_is_none_of_the_releases(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    assert cartesius.__version__ == SOURCE_VERSION


@pytest.mark.parametrize(("place", "version"), [(ROOT, "7.1"), (Path("/elsewhere"), SOURCE_VERSION)])
def test_the_version_is_that_of_the_distribution_that_this_code_is_of(monkeypatch, place, version):
    monkeypatch.setattr(
        metadata, "distribution", lambda name: SimpleNamespace(version="7.1", locate_file=lambda path: place / path)
    )
    assert cartesius.__version__ == version


def test_there_are_no_other_names_than_those_that_are_there():
    with pytest.raises(AttributeError, match="module 'cartesius' has no attribute 'nope'"):
        cartesius.nope  # type: ignore[attr-defined]  # noqa: B018 - as a user would


@pytest.fixture
def warned(tmp_path, monkeypatch):
    """What is warned of if a folder of a user's comes first on the path, and our packages were not imported yet."""
    monkeypatch.syspath_prepend(tmp_path)

    def check():
        for name in ("restrictions", "dsl", "spark_bridge"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        invalidate_caches()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_of_namesakes()
        return [str(each.message) for each in caught]

    return check


def test_nothing_is_warned_of_where_ours_is_found(warned, tmp_path):
    (tmp_path / "restrictions").mkdir()  # without an __init__.py it hides nothing
    (tmp_path / "cartesius.txt").touch()
    assert warned() == []


@pytest.mark.parametrize(
    ("name", "file"),
    [("restrictions", "restrictions.py"), ("dsl", "dsl/__init__.py"), ("spark_bridge", "spark_bridge.py")],
)
def test_a_module_that_hides_one_of_ours_is_warned_of(warned, tmp_path, name, file):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    (said,) = warned()
    assert said.startswith(f"import cartesius: expected import {name} to give {ROOT / name / '__init__.py'} but got ")
    assert f"{tmp_path / file}, which hides it; rename that one" in said


def test_a_module_of_the_name_that_is_imported_already_counts(monkeypatch):
    monkeypatch.setitem(sys.modules, "dsl", SimpleNamespace(__file__="/theirs/dsl.py"))
    with pytest.warns(UserWarning, match=r"to give \S+ but got /theirs/dsl\.py"):
        warn_of_namesakes()


def test_whoever_lacks_the_extra_of_ours_may_have_a_module_of_its_name(warned, tmp_path, monkeypatch):
    (tmp_path / "dsl.py").touch()
    monkeypatch.setattr("cartesius.installation.find_spec", lambda name: None if name == "pint" else find_spec(name))
    assert warned() == []


def test_packages_that_are_not_installed_beside_this_one_are_not_missed(warned, tmp_path, monkeypatch):
    (tmp_path / "dsl.py").touch()
    monkeypatch.setattr("cartesius.installation.__file__", str(tmp_path / "vendored" / "cartesius" / "installation.py"))
    assert warned() == []


def test_the_warning_shows_the_line_that_imports_cartesius(tmp_path):
    (tmp_path / "restrictions.py").touch()
    program = tmp_path / "program.py"
    program.write_text("# a user's\nimport cartesius\n")
    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.startswith(f"{program}:2: UserWarning: import cartesius: expected import restrictions to give ")
