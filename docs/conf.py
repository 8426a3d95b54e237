# How Sphinx builds these pages: `make docs`, with warnings as errors. The reference is made from the docstrings.
from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from types import ModuleType

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cartesius import Restriction

project = "Cartesius for Python"
author = "the Cartesius authors"
html_title = project

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
nb_execution_mode = "off"  # notebooks are stored with what they show; tests/unit/examples/test_notebooks.py compares
_NOTEBOOKS = Path(__file__).parent / "notebooks"  # copies, as Sphinx reads only what is below docs/
_NOTEBOOKS.mkdir(exist_ok=True)
for _stored in (Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"):
    _copy = _NOTEBOOKS / _stored.name
    if not _copy.exists() or _copy.read_bytes() != _stored.read_bytes():
        _copy.write_bytes(_stored.read_bytes())
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
add_module_names = False

# The sections of a docstring that are ours (CONTRIBUTING.md).
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Law", "Laws", "Source", "Sources", "State"]

# `name` in a docstring is a link, where there is such a name.
default_role = "py:obj"
autosummary_generate = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # which a page that is opened as a file may not fetch
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


class Names(Directive):
    """A table of the named exports of a module, and below it the documentation of each: ``{names} module``.

    What a restriction does is in its docstring; its clauses are not for callers, so they are left out.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        names = [line.strip() for line in self.content if line.strip()]
        lines = [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   ~{module.__name__}.{name}" for name in names if not _is_data(getattr(module, name))]
        for name in names:
            lines += ["", *self._described(module, name)]
        text = StringList(["````{eval-rst}", *lines, "````"], source=f"names of {module.__name__}")
        found = nodes.container()
        self.state.nested_parse(text, self.content_offset, found)
        return found.children

    def _described(self, module: ModuleType, name: str) -> list[str]:
        value = getattr(module, name)
        if _is_data(value):
            shown = [f".. py:data:: {name}", f"   :module: {module.__name__}", ""]
            return shown + [f"   {line}" for line in _said_of(module, name, value)]
        if not isinstance(value, type):
            return [f".. autofunction:: {module.__name__}.{name}"]
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        is_a_restriction = issubclass(value, Restriction) and value is not Restriction
        options = ["   :no-members:"] if is_a_restriction else []
        options += ["   :show-inheritance:"] if kind == "autoexception" else []
        # What a base that users never see has is documented where they see it.
        inner = [base for base in value.__mro__[1:-1] if _is_ours(base) and not hasattr(module, base.__name__)]
        options += ["   :inherited-members:"] if inner and not options else []
        return [f".. {kind}:: {module.__name__}.{name}", *options]


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("cartesius", "restrictions", "dsl", "spark_bridge")


def _is_data(value: object) -> bool:
    return not isinstance(value, type) and not inspect.isroutine(value)


def _said_of(module: ModuleType, name: str, value: object) -> list[str]:
    """What stands below the assignment, in the module that defines it."""
    package = module.__name__.partition(".")[0]
    for path, other in list(sys.modules.items()):
        if path.partition(".")[0] == package and getattr(other, name, None) is value:
            lines = ModuleAnalyzer.for_module(path).find_attr_docs().get(("", name))
            if lines:
                return lines
    return [repr(value)]


def _signature_of(app: Sphinx, what: str, name: str, value: object, *_: object) -> tuple[str, str] | None:
    """What a restriction takes: its annotations say it, and its ``__init__`` is that of all of them."""
    if isinstance(value, type) and issubclass(value, Restriction) and value.__init__ is Restriction.__init__:
        return (f"({Restriction._usage(value)})", "") if value is not Restriction else None
    return None


def _by_last_name(
    app: Sphinx, env: BuildEnvironment, node: nodes.Element, shown: nodes.Element
) -> nodes.Element | None:
    """Find what a docstring mentions of another module, if there is one such name in all of the reference."""
    if node.get("refdomain") != "py":
        return None
    found = env.domains.python_domain.find_obj(env, "", "", node["reftarget"], None, 1)
    places = {(entry.docname, entry.node_id) for _, entry in found}
    if len(places) != 1:
        return None
    [(page, place)] = places
    return make_refnode(app.builder, node["refdoc"], page, place, shown, node["reftarget"])


def _without_overloads(app: Sphinx) -> None:
    """Show one signature of what has many for type checkers alone: docs/how_to/types.md says what they know."""
    for module in (
        "cartesius.programs.correlating",
        "cartesius.core.engine_core",
        "cartesius.engines.engine",
        "cartesius.language.reactives",
    ):
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.analyze()
        analyzer.overloads.clear()


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _without_overloads)
    app.add_directive("names", Names)
    app.connect("autodoc-process-signature", _signature_of)
    app.connect("missing-reference", _by_last_name)
