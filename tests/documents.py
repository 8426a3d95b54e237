"""What stands in the pages: their fenced blocks, by language, and how each is checked.

A block of Python with a prompt (`>>>`) is a doctest, whose output is compared; any other is executed, and what it
prints is compared with the block of `output` that follows, if one does. All blocks of a page share one namespace, in
order. A block of bash shows commands that exist; `text` is a drawing, or what nobody can run here.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import tomllib
import traceback
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
LANGUAGES = {
    "python": "it runs: test_documents.py, and tests/spark/test_documents_on_spark.py where it needs a session",
    "output": "what the Python above it has printed: it is compared",
    "bash": "its commands exist: make targets, modules that answer --help, files, and programs of Spark and Kafka",
    "toml": "a file of subscriptions: tests/unit/examples/test_port_alerts.py reads it",
    "text": "nothing to run: a drawing, a form, or what a command prints that takes long",
    "sql": "nothing to run: a text of another tool, as it is written there",
    "java": "likewise",
    "{toctree}": "make docs",
    "{include}": "make docs; what is included is checked where it stands",
    "{eval-rst}": "make docs",
    "{literalinclude}": "make docs",
    "{names}": "make docs; test_reference.py compares the names with what the packages export",
}
"""The languages of blocks, and how each of them is checked."""
PROGRAMS = {"git", "venv-pack", "spark-submit"}
"""What `bash` blocks may name that is neither `make`, `python -m` nor a file of ours."""
ASSIGNMENT = re.compile(r"[A-Z_]+=")


class Block(NamedTuple):
    """A block of code: its language, how many lines stand above its first one, and what it says."""

    language: str
    above: int
    code: str


def blocks(text: str) -> list[Block]:
    """All blocks of code of a page, in order; an indented one, or one without a language, has the language ''."""
    return [
        Block(
            token.info.split(" ")[0],
            (token.map or [0])[0] + (token.type == "fence"),
            token.content,
        )
        for token in MarkdownIt().parse(text)
        if token.type in {"fence", "code_block"}
    ]


def of_language(language: str, path: Path) -> list[Block]:
    """The blocks of a page in one language."""
    return [block for block in _blocks_of(path) if block.language == language]


@cache
def _blocks_of(path: Path) -> list[Block]:
    """Three modules of tests ask for those of each page, as they are collected."""
    return blocks(path.read_text(encoding="utf-8"))


def needs_spark(path: Path) -> bool:
    """Whether the Python of a page starts a Spark session."""
    return any("SparkSession" in block.code for block in of_language("python", path))


def executed_pages() -> list[Path]:
    """The pages with Python in them."""
    return [path for path in PAGES if of_language("python", path)]


def name_of(path: Path) -> str:
    """A page as tests name it."""
    return str(path.relative_to(ROOT))


def problem(path: Path) -> str | None:
    """What is wrong with the Python of a page, with its file and line; None if all of it runs."""
    found = [each for each in blocks(path.read_text(encoding="utf-8")) if each.language in {"python", "output"}]
    if not any(each.language == "python" for each in found):
        return f"{path}:1: has no Python block"
    namespace: dict[str, object] = {"__name__": path.stem}
    printed = ""
    for block in found:
        wrong = None
        if block.language == "output":
            if printed.strip() != block.code.strip():
                wrong = f"{path}:{block.above + 1}: Expected:\n{block.code}Got:\n{printed}"
        elif ">>>" in block.code:
            wrong = _wrong_output(path, block, namespace)
        else:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                wrong = _wrong_code(path, block, namespace)
            printed = out.getvalue()
        if wrong:
            return wrong
    return None


def _wrong_code(path: Path, block: Block, namespace: dict[str, object]) -> str | None:
    try:
        # With as many empty lines in front, lines are counted as in the document.
        exec(compile("\n" * block.above + block.code, str(path), "exec"), namespace)
    except SyntaxError as error:
        return f"{path}:{error.lineno}: {error!r}"
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        return f"{path}:{lines[0]}: {error!r}"
    return None


def _wrong_output(path: Path, block: Block, namespace: dict[str, object]) -> str | None:
    test = doctest.DocTestParser().get_doctest(block.code, {}, path.name, str(path), block.above)
    test.globs = namespace  # not a copy: what a block defines is there in the next ones
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    if runner.run(test, out=said.append, clear_globs=False).failed:
        report = "".join(said)
        line = re.search(r"line (\d+)", report)
        return f"{path}:{line[1] if line else block.above + 1}: {report}"
    return None


def commands(code: str) -> list[list[str]]:
    """The commands of a block of bash, as words; variables that are set in front of one are left out."""
    lines = code.replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    return [words for line in found if (words := _without_assignments(line))]


def _without_assignments(words: list[str]) -> list[str]:
    first = next((place for place, word in enumerate(words) if not ASSIGNMENT.match(word)), len(words))
    return words[first:]


def unknown_command(words: list[str], targets: set[str]) -> str | None:
    """Why a command cannot be run as it is shown; None if it can. Whether modules answer --help is checked apart."""
    match words:
        case ["make", *rest]:
            named = [word for word in rest if not ASSIGNMENT.match(word)]
            return None if set(named) <= targets else f"make has no such target: {' '.join(named)}"
        case ["python" | ".venv/bin/python", "-m", _, *_]:
            return None
        case ["pip", "install", *requirements]:
            wrong = [each for each in requirements if not installable(each)]
            return f"neither our distribution, with its extras, nor a bound: {wrong}" if wrong else None
        case [".venv/bin/python", "tutorial.py"]:  # which its reader writes
            return None
        case [program, *_] if program in PROGRAMS or (ROOT / program).exists():
            return None
    return f"nobody knows {words[0]}"


def installable(requirement: str) -> bool:
    """Whether pages may tell people to install it: our distribution with extras that it has, or what those bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    name, _, given = re.split(r"[<>=!~]", requirement, maxsplit=1)[0].rstrip("]").partition("[")
    if name == project["name"]:
        return set(given.split(",") if given else ()) <= extras.keys() - {"dev", "examples"}
    return any(re.split(r"[\[<>=!~]", each, maxsplit=1)[0] == name for extra in extras.values() for each in extra)


def modules_named(text: str) -> set[str]:
    """The modules that a page says to run, in a block or in a sentence; comments are for its writers, and left out."""
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return set(re.findall(r"python\s-m\s([a-z_]+(?:\.[a-z_]+)*)", shown))
