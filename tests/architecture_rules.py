"""The rules about the source tree, each a function from the root of a tree to its violations, in words.

They read the syntax tree and import nothing, so that they can be shown to fail on a tree made for the purpose.
`test_architecture.py` applies them to this repository.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGES = ("cartesius", "restrictions", "dsl", "spark_bridge")
"""What the wheel holds."""

MAY_IMPORT = {
    "cartesius": set(),
    "restrictions": {"cartesius"},
    "dsl": {"restrictions", "cartesius"},
    "spark_bridge": {"cartesius"},  # it runs whatever was built with the others, and knows none of them
    "examples": set(PACKAGES),
    "bench": {*PACKAGES, "examples"},
}
"""Which of our own top-level packages each may import, besides itself."""

MAY_ALSO_IMPORT = {
    "dsl/comparison/judging_on_spark.py": {"spark_bridge", "pyspark"},
    "dsl/comparison/comparing.py": {"pyspark"},  # the type of a session that it may be given
}
"""Modules that know more than their package: whoever asks them to run on Spark has it."""

ONLY_IN = {
    "confluent_kafka": "cartesius/connectors/kafka.py",
    "greenlet": "cartesius/effects/resumptions.py",
    "lark": "dsl/text/parsing.py",
    "pint": "dsl/units.py",
    "starlette": "cartesius/pages/local_pages.py",
    "uvicorn": "cartesius/pages/local_pages.py",
}
"""Third parties that exactly one module imports (tests, which look from outside, are free)."""

SPARK_AND_PANDAS = {"pyspark", "pandas", "py4j"}
SPARK_AND_PANDAS_IN = {"spark_bridge", "examples", "bench"}
LONGEST = 300
LONGER_BECAUSE = "over 300 lines because"
FORBIDDEN_MODULES = {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
FORBIDDEN_CALLS = {"eval", "exec"}
CHANGING = {
    "add",
    "append",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "popleft",
    "push",
    "remove",
    "update",
}
MAY_CALL_THEM = {"cartesius/data/generated.py", "cartesius/show/program_files.py"}
"""They call exec: on text that our own generators composed, and on the program that a user lets `show` run."""
SILENCING = re.compile(r"# (type: ignore|noqa)\b")
SILENCED = re.compile(
    r"# (type: ignore\[[a-z, -]+\]  # (?!noqa)\S|(type: ignore\[[a-z, -]+\]  # )?noqa: [A-Z0-9, ]+ - \S)"
)
"""How that is written: ``# type: ignore[code]  # why``, ``# noqa: CODE - why``, or the former before the latter."""
MOST_IN_A_ROOM = 15
SHARED_FILE_NAMES = {"__init__.py", "__main__.py", "errors.py", "testing.py"}
"""Users look for these in each package."""
COLUMNAR = {"numpy", "pyarrow"}
COLUMNAR_IN = ("cartesius/columns", "dsl/histories", "dsl/comparison")
"""What `import cartesius` and `import dsl` must not load, and where it may be imported in cartesius, restrictions and
dsl: rooms that are themselves imported where they are used."""


class Import(NamedTuple):
    """One imported module, by its full name, and the line that imports it."""

    module: str
    line: int


@dataclass(frozen=True)
class Module:
    """A parsed source file."""

    path: Path
    """Relative to the root."""
    source: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.path.parts[0]

    @property
    def name(self) -> str:
        """The dotted name; that of the folder for an `__init__.py`."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def short_name(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    def absolute(self, module: str | None, level: int) -> str:
        """The full name of a module that this one imports relatively (`level` dots)."""
        if level == 0:
            return module or ""
        here = self.name.split(".")
        if self.path.stem != "__init__":
            here = here[:-1]
        return ".".join([*here[: len(here) - level + 1], *([module] if module else [])])

    def imports(self) -> Iterator[Import]:
        """Every import, wherever it stands: inside functions and under TYPE_CHECKING too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield Import(self.absolute(node.module, node.level), node.lineno)

    def exported(self) -> list[str]:
        """The names in `__all__`, in order; none without one."""
        for node in self.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]  # both kinds have a value
        return []

    def bindings(self) -> dict[str, list[ast.stmt]]:
        """The statements that bind each name at the top level, also within `if`, `try` and `with`."""
        found: dict[str, list[ast.stmt]] = defaultdict(list)
        pending = list(self.tree.body)
        while pending:
            node = pending.pop(0)
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found[node.name].append(node)
                case ast.Import() | ast.ImportFrom():
                    for alias in node.names:
                        found[alias.asname or alias.name.partition(".")[0]].append(node)
                case ast.Assign() | ast.AnnAssign():
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        for part in ast.walk(target):
                            if isinstance(part, ast.Name):
                                found[part.id].append(node)
                case ast.If() | ast.Try() | ast.With():
                    pending = [*ast.iter_child_nodes(node), *pending]  # type: ignore[list-item]  # expressions match no case
        return dict(found)


def modules(root: Path, *packages: str) -> list[Module]:
    """The modules of these top-level packages, in order of path."""
    paths = sorted(path for package in packages for path in (root / package).rglob("*.py"))
    return [_module(path.relative_to(root), path.read_text(encoding="utf-8")) for path in paths]


@cache
def _module(path: Path, text: str) -> Module:
    return Module(path, text, ast.parse(text))


def wrong_directions(root: Path) -> list[str]:
    """Imports that go against `dsl → restrictions → cartesius ← spark_bridge`."""
    ours = {*MAY_IMPORT, "tests"}
    return [
        f"{module.path}:{line}: {module.package} may not import {imported}"
        for module in modules(root, *MAY_IMPORT)
        for imported, line in module.imports()
        if imported.partition(".")[0]
        in ours - {module.package} - MAY_IMPORT[module.package] - MAY_ALSO_IMPORT.get(module.path.as_posix(), set())
    ]


def broken_quarantines(root: Path) -> list[str]:
    """Third parties imported outside the place they are confined to, or not even there."""
    found = []
    unused = set(ONLY_IN)
    for module in modules(root, *MAY_IMPORT):
        for imported, line in module.imports():
            top = imported.partition(".")[0]
            if top in ONLY_IN:
                if module.path.as_posix() == ONLY_IN[top]:
                    unused.discard(top)
                else:
                    found.append(f"{module.path}:{line}: only {ONLY_IN[top]} may import {top}")
            is_lean = module.package in ("cartesius", "restrictions", "dsl")
            if top in COLUMNAR and is_lean and not module.path.as_posix().startswith(COLUMNAR_IN):
                found.append(f"{module.path}:{line}: only {', '.join(COLUMNAR_IN)} may import {top}")
            may_also = MAY_ALSO_IMPORT.get(module.path.as_posix(), set())
            if top in SPARK_AND_PANDAS - may_also and module.package not in SPARK_AND_PANDAS_IN:
                found.append(f"{module.path}:{line}: only {sorted(SPARK_AND_PANDAS_IN)} and tests may import {top}")
    return found + [f"{ONLY_IN[name]}: does not import {name}, which it is there for" for name in sorted(unused)]


def shared_names(root: Path) -> list[str]:
    """Modules named like something they, or the package around them, export: one would hide the other."""
    every = modules(root, *PACKAGES)
    submodules = {module.name for module in every}
    found = []
    for module in every:
        namesakes = module.bindings().get(module.short_name, ()) if module.path.stem != "__init__" else ()
        if any(not isinstance(node, ast.Import | ast.ImportFrom) for node in namesakes):
            found.append(f"{module.path}: shares its name with something it defines")
        found += [
            f"{module.path}: exports {name}, which is also the name of a module"
            for name in module.exported()
            if f"{module.name}.{name}" in submodules
        ]
    return found


def crowded_rooms(root: Path) -> list[str]:
    """Rooms of more modules than a stranger looks through."""
    inside: dict[Path, int] = defaultdict(int)
    for module in modules(root, *PACKAGES):
        inside[module.path.parent] += module.path.stem != "__init__"
    return [f"{room}: has {count} modules" for room, count in inside.items() if count > MOST_IN_A_ROOM]


def unnamed_modules(root: Path) -> list[str]:
    """Modules that the room they are in does not name."""
    every = modules(root, *PACKAGES)
    rooms = {
        module.path.parent: ast.get_docstring(module.tree) or "" for module in every if module.path.stem == "__init__"
    }
    return [
        f"{module.path}: is not named in the docstring of its room"
        for module in every
        if module.path.stem != "__init__" and len(module.path.parts) > 2
        if f"`{module.short_name}`" not in rooms.get(module.path.parent, "")
    ]


def knotted_rooms(root: Path) -> list[str]:
    """Rooms of a package that import each other, be it for types alone: none of them can be read first.

    A module that stands beside the rooms is a room of its own.
    """
    every = {module.name: module for module in modules(root, *PACKAGES)}

    def room_of(module: Module) -> str:
        return module.name if len(module.path.parts) == 2 else ".".join(module.path.parts[:-1])

    needs: dict[str, dict[str, str]] = defaultdict(dict)
    for module in every.values():
        for imported in _imported(module, every):
            if imported.package == module.package and room_of(imported) != room_of(module):
                needs[room_of(module)].setdefault(room_of(imported), f"{module.path} imports {imported.name}")
    while free := [
        room
        for room, others in needs.items()
        if not others.keys() & needs.keys() or not any(room in more for more in needs.values())
    ]:
        for room in free:  # all that it needs stands below it, or all that need it above
            del needs[room]
    return [
        f"{room} and {other} need each other, directly or not: {said}"
        for room, others in needs.items()
        for other, said in others.items()
        if other in needs
    ]


def _imported(module: Module, every: dict[str, Module]) -> Iterator[Module]:
    """The modules of ours that ``module`` imports, or imports something from."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = module.absolute(node.module, node.level)
            names = [full if (full := f"{base}.{alias.name}") in every else base for alias in node.names]
        else:
            continue
        yield from (every[name] for name in names if name in every)


def shared_file_names(root: Path) -> list[str]:
    """Modules of one file name in several places: whoever looks for one finds another."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules(root, *PACKAGES):
        places[module.path.name].append(module.path.parent.as_posix())
    return [
        f"{name}: is in {', '.join(found)}"
        for name, found in places.items()
        if len(found) > 1 and name not in SHARED_FILE_NAMES
    ]


def missing_docstrings(root: Path) -> list[str]:
    """Modules that do not say what they are."""
    return [
        f"{module.path}: has no docstring"
        for module in modules(root, *MAY_IMPORT)
        if not ast.get_docstring(module.tree)
    ]


def long_modules(root: Path) -> list[str]:
    """Modules over the soft cap that do not say why."""
    return [
        f"{module.path}: has {length} lines; split it, or write `{LONGER_BECAUSE} …` in its docstring"
        for module in modules(root, *MAY_IMPORT)
        if (length := len(module.source.splitlines())) > LONGEST
        and LONGER_BECAUSE not in " ".join((ast.get_docstring(module.tree) or "").split())
    ]


def _origin(module: str, name: str, known: dict[str, Module]) -> tuple[str, str]:
    """Where a name comes from, followed through the imports of our own modules."""
    seen = set()
    while (module, name) not in seen and module in known:
        seen.add((module, name))
        for node in known[module].bindings().get(name, ()):
            if isinstance(node, ast.ImportFrom):
                original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
                module, name = known[module].absolute(node.module, node.level), original
                break
    return module, name


def _is_documented(definition: Module, name: str) -> bool:
    """Whether a definition has a docstring; for a plain value, a string below it, a `#:` comment at it, or `doc=`."""
    body = definition.tree.body
    lines = definition.source.splitlines()
    for node in definition.bindings().get(name, ()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(node):
                return True
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            if isinstance(node.value, ast.Call) and any(keyword.arg == "doc" for keyword in node.value.keywords):
                return True
            match body[body.index(node) + 1 :] if node in body else []:
                case [ast.Expr(value=ast.Constant(value=str())), *_]:
                    return True
            if "#: " in lines[node.lineno - 1] or lines[node.lineno - 2].lstrip().startswith("#: "):
                return True
    return False


def wrong_exports(root: Path) -> list[str]:
    """Public names that have two public paths, are not there at all, or have no docstring."""
    known = {module.name: module for module in modules(root, *PACKAGES)}
    paths: dict[tuple[str, str], list[str]] = defaultdict(list)
    found = []
    for module in known.values():
        for name in module.exported():
            if name not in module.bindings():
                found.append(f"{module.path}: exports {name}, which it does not have")
            elif not (name.startswith("__") and name.endswith("__")):
                paths[_origin(module.name, name, known)].append(f"{module.name}.{name}")
    for (origin, name), public in paths.items():
        if len(public) > 1:
            found.append(f"{origin}.{name}: has {len(public)} public paths: {', '.join(sorted(public))}")
        if origin not in known:
            found.append(f"{public[0]}: is not ours but {origin}'s; let users import it from there")
        elif not _is_documented(known[origin], name):
            found.append(f"{origin}.{name}: is public, as {public[0]}, and has no docstring")
    return found


def forbidden_calls(root: Path) -> list[str]:
    """Uses of pickle and its kin (a snapshot is data), and of `eval` and `exec` (a rule is data)."""
    found = []
    for module in modules(root, *PACKAGES):
        for imported, line in module.imports():
            if FORBIDDEN_MODULES & set(imported.split(".")):
                found.append(f"{module.path}:{line}: imports {imported}")
        for node in ast.walk(module.tree):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="builtins"), attr=name)):
                    if name in FORBIDDEN_CALLS and module.path.as_posix() not in MAY_CALL_THEM:
                        found.append(f"{module.path}:{node.lineno}: calls {name}")
                case ast.ImportFrom(module="builtins") if FORBIDDEN_CALLS & {alias.name for alias in node.names}:
                    found.append(f"{module.path}:{node.lineno}: imports a forbidden builtin")
    return found


def assertions_that_do(root: Path) -> list[str]:
    """Assertions that change something: under `python -O` they are not there."""
    found = []
    for module in modules(root, *MAY_IMPORT):
        asserted = [node.test for node in ast.walk(module.tree) if isinstance(node, ast.Assert)]
        for node in (inner for test in asserted for inner in ast.walk(test)):
            match node:
                case ast.Call(func=ast.Attribute(attr=name)) if name in CHANGING:
                    found.append(f"{module.path}:{node.lineno}: asserts and changes: {name}")
                case ast.NamedExpr(target=target):
                    found.append(f"{module.path}:{node.lineno}: asserts and changes: {target.id}")
    return found


def unexplained_exceptions(root: Path) -> list[str]:
    """Places that tell mypy or ruff to look away and do not say why, in `SILENCED`."""
    found = []
    for module in modules(root, *MAY_IMPORT, "tests"):
        if not SILENCING.search(module.source):
            continue  # telling comments from strings takes the time
        for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
            if token.type == tokenize.COMMENT and SILENCING.search(token.string) and not SILENCED.search(token.string):
                found.append(f"{module.path}:{token.start[0]}: does not say why: {token.string}")
    return found


def untyped_packages(root: Path) -> list[str]:
    """Packages of the wheel whose types a user's checker would ignore."""
    return [f"{package}: has no py.typed" for package in PACKAGES if not (root / package / "py.typed").is_file()]
