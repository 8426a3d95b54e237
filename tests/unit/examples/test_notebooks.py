"""The notebooks run, without warnings, and show what is stored in them."""

import json

import pytest

from examples.notebooks.running import executed, notebooks, read
from tests.documents import DOCS

NAMES = [path.stem for path in notebooks()]


def outputs(notebook):
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_three():
    assert NAMES == ["first_join", "port_rules", "sequences_and_windows"]


@pytest.mark.parametrize("path", notebooks(), ids=NAMES)
def test_a_notebook_that_runs_anew_shows_what_is_stored_in_it(path):
    stored, fresh = read(path), executed(path)
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        told = f"{path.name}: `python -m examples.notebooks` stores what this cell shows now:\n{after.source}"
        assert before == after, told


@pytest.mark.parametrize("path", notebooks(), ids=NAMES)
def test_a_notebook_shows_html_and_drawings_and_nothing_of_this_machine(path):
    found = [output for shown in outputs(read(path)) for output in shown]
    html = [output["data"]["text/html"] for output in found if "text/html" in output.get("data", {})]
    assert len(html) >= 6
    assert sum("<svg" in text for text in html) >= 1
    assert not [output for output in found if output.output_type == "error" or output.get("name") == "stderr"]
    text = path.read_text(encoding="utf-8")
    assert not any(word in text for word in ("object at 0x", "ipykernel_", str(path.parent)))


@pytest.mark.parametrize("path", notebooks(), ids=NAMES)
def test_a_notebook_is_stored_as_it_is_written_by_the_command(path):
    assert json.loads(path.read_text(encoding="utf-8"))["metadata"].keys() == {"kernelspec", "language_info"}


def test_the_pages_show_each_notebook():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert all(f"\nnotebooks/{name}\n" in index for name in NAMES)
