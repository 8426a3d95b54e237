"""Locks are what they say: every package pinned with hashes, every dependency in them, and every jar by its digest."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==\S+", re.MULTILINE)


def name_of(requirement):
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


OTHERS = sorted((ROOT / "tools" / "environments").glob("*.in"))


@pytest.mark.parametrize(
    "lock", [ROOT / "requirements.lock", *(each.with_suffix(".lock") for each in OTHERS)], ids=lambda lock: lock.stem
)
def test_every_package_is_pinned_with_a_hash(lock):
    text = lock.read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(blocks) > 20 or lock.stem == "locking"
    for block in blocks:
        assert PIN.match(block), block.splitlines()[0]
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_every_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    locked = {name.lower().replace("_", "-") for name in PIN.findall((ROOT / "requirements.lock").read_text("utf-8"))}
    assert {name_of(requirement) for requirement in wanted} - {project["name"]} <= locked


@pytest.mark.parametrize("wanted", OTHERS, ids=lambda wanted: wanted.stem)
def test_every_requirement_of_another_environment_is_locked(wanted):
    lines = [line for line in wanted.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    locked = {name.lower().replace("_", "-") for name in PIN.findall(wanted.with_suffix(".lock").read_text("utf-8"))}
    assert {name_of(line) for line in lines} <= locked


ELSEWHERE = ["tests/spark", "tests/unit/spark_bridge", "tests/unit/examples/test_port_on_spark.py", "tests/clusters"]
ELSEWHERE += ["tests/brokers/test_kafka.py", "tests/brokers/test_delta.py"]
"""What `make` runs in the other environments."""
COLLECTING = """
import importlib.metadata, sys

import pytest

locked, wanted = {*sys.argv[1].split(",")}, sys.argv[2:]
missing = {
    module for module, names in importlib.metadata.packages_distributions().items()
    if not any(name.lower().replace("_", "-") in locked for name in names)
}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"no other environment has {name}", name=name)

sys.meta_path.insert(0, Missing())
plugins = ["-p", "xdist.plugin", "-p", "_hypothesis_pytestplugin"]
sys.exit(pytest.main(["--collect-only", "-q", "--no-header", *plugins, *wanted]))
"""


def test_what_is_tested_in_other_environments_imports_what_they_have():
    locks = [each.with_suffix(".lock") for each in OTHERS if each.stem != "locking"]
    packages = [{name.lower().replace("_", "-") for name in PIN.findall(lock.read_text("utf-8"))} for lock in locks]
    locked = set.union(*packages)  # each has the dependencies of other versions: pandas 3 goes without pytz
    command = [sys.executable, "-c", COLLECTING, ",".join(locked), *ELSEWHERE]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "test_a_record_of_a_topic_of_rules" in run.stdout


def test_nothing_is_installed_without_a_hash():
    """Every pip and uv that scripts call to install something is told to want hashes."""
    for script in [ROOT / "Makefile", *(ROOT / "tools").glob("*.sh"), *(ROOT / ".ci").iterdir()]:
        for line in re.sub(r"\\\n", " ", script.read_text(encoding="utf-8")).splitlines():
            if "pip install" in line and not line.lstrip().startswith("#"):
                assert "--require-hashes" in line, f"{script.name}: {line}"


def tool(name, *arguments, **environment):
    return subprocess.run(
        [ROOT / "tools" / name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def fake_maven(folder):
    """A Maven that "fetches" one jar with the content of the variable JAR."""
    folder.mkdir()
    (folder / "mvn").write_text(
        '#!/bin/sh\nfor each in "$@"; do case $each in -DoutputDirectory=*) folder=${each#*=};; esac; done\n'
        'mkdir -p "$folder" && printf %s "$JAR" >"$folder/a.jar"\n'
    )
    (folder / "mvn").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def known():
    """Digests of jars that are tried here alone, in the folder where those of real ones are."""
    path = ROOT / "tools" / "jars" / "tried.sha256"
    yield path
    path.unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", ROOT / "out" / "jars" / "tried"], check=True)


def test_a_jar_that_is_not_the_one_that_was_tried_is_not_used(tmp_path, known):
    maven = fake_maven(tmp_path / "bin")
    assert "there are no digests of tried" in tool("jars.sh", "tried", "a:a:1", PATH=maven, JAR="good").stderr
    made = tool("jars.sh", "--record", "tried", "a:a:1", PATH=maven, JAR="good")
    assert (Path(made.stdout.strip()) / "a.jar").read_text() == "good"
    subprocess.run(["rm", "-rf", ROOT / "out" / "jars" / "tried"], check=True)
    bad = tool("jars.sh", "tried", "a:a:1", PATH=maven, JAR="evil")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert "are not those of" in bad.stderr
    assert tool("jars.sh", "tried", "a:a:1", PATH=maven, JAR="good").returncode == 0
    assert known.exists()


def test_the_broker_removes_no_folder_that_it_did_not_make(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letters.txt").write_text("dear")
    refused = tool("kafka.sh", "9092", str(mine))
    assert refused.returncode == 1
    assert "not of this script's making" in refused.stderr
    assert (mine / "letters.txt").read_text() == "dear"
