# How Sphinx builds these pages: `make docs`, with warnings as errors. The reference is made from the docstrings.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

project = "Cartesius for Python"
author = "the Cartesius authors"
html_title = project

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
add_module_names = False

# The sections of a docstring that are ours (CONTRIBUTING.md).
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Law", "Laws", "Source", "Sources", "State"]
