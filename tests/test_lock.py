"""The lock is what it says: every package pinned with hashes, and every dependency of the project in it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==\S+", re.MULTILINE)


def name_of(requirement):
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_every_package_is_pinned_with_a_hash():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(blocks) > 20
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
    assert {name_of(requirement) for requirement in wanted} <= locked
