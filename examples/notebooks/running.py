"""Running a notebook: each cell in order, in a kernel of its own, where a warning is an error.

Stored are the outputs, too, so that whoever reads a notebook without running it, here or in the pages, sees what it
shows, and so that building the pages needs no kernel. A test runs each anew and compares.

Invariant: two runs of one notebook are equal, to the byte.
"""

from __future__ import annotations

import os
import re
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).parent
_ROOT = FOLDER.parent.parent
_STRICT = "import warnings\n\nwarnings.simplefilter('error')"
_CELL_FILE = re.compile(r"[^\s'\"<>]*ipykernel_\d+[/\\]+\d+\.py")
_LENIENT = "warnings.simplefilter('ignore')"  # what the kernel does to shut down is not the notebook's


def notebooks() -> list[Path]:
    """Return the notebooks of this folder."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """Return a notebook as it is stored."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # it has no types
    return notebook


def executed(path: Path) -> NotebookNode:
    """Return a notebook as it is after all its cells have run, where it is stored.

    Raises:
        CellExecutionError: A cell raises, or warns.
    """
    stored = read(path)
    notebook = deepcopy(stored)
    strict, lenient = map(nbformat.v4.new_code_cell, (_STRICT, _LENIENT))
    notebook.cells = [strict, *notebook.cells, lenient]
    python_path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    client = NotebookClient(
        notebook, timeout=120, record_timing=False, resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute(env={**os.environ, "PYTHONPATH": python_path})
    notebook.cells = notebook.cells[1:-1]
    notebook.metadata = stored.metadata  # without the versions of this machine
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number
        cell.outputs = [_settled(output, number) for output in cell.outputs]
    return notebook


def _settled(output: Any, number: int) -> Any:
    """Return an output without what differs from run to run: the count of cells, and the names of their files."""
    if isinstance(output, str):
        return _CELL_FILE.sub("cell.py", output)
    if isinstance(output, list):
        return [_settled(one, number) for one in output]
    if isinstance(output, dict):
        found = {name: _settled(value, number) for name, value in output.items()}
        found |= {"execution_count": number} if "execution_count" in found else {}
        return nbformat.from_dict(found)  # type: ignore[no-untyped-call]  # as above
    return output
