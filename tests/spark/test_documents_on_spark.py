"""The Python of the pages that start a Spark session runs, on the session of the tests; see tests/documents.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.documents import DOCS, executed_pages, name_of, needs_spark, problem

if TYPE_CHECKING:
    from pathlib import Path


FAST = DOCS / "tutorial"
"""What `make test` runs; the how-to guides, each with a query or two, are left to `make test-long`."""
ON_SPARK = [
    pytest.param(page, marks=() if page.is_relative_to(FAST) else pytest.mark.slow, id=name_of(page))
    for page in executed_pages()
    if needs_spark(page)
]


@pytest.mark.parametrize("page", ON_SPARK)
def test_the_python_of_a_page_runs_on_spark(spark, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # pages write into folders beside them
    wrong = problem(page)
    assert wrong is None, wrong
