"""What an experiment writes: text, tables and pictures, as Markdown and as one page of HTML; data as CSV and Parquet.

Invariant: what is shown is what was measured in this run: a sheet has no numbers of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pyarrow.csv
import pyarrow.parquet
from markdown_it import MarkdownIt
from matplotlib.backends.backend_agg import FigureCanvasAgg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import pyarrow as pa
    from matplotlib.figure import Figure

_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Restriction strategies compared</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1f2933 }
table { border-collapse: collapse; font-size: 0.86rem; margin: 1rem 0; display: block; overflow-x: auto }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #d9dee4; white-space: nowrap }
th { text-align: left; background: #f2f5f8 } img { max-width: 100% } code { background: #f2f5f8 }
</style>
"""


@attrs.frozen
class Sheet:
    """The page of one experiment, as it is written.

    Args:
        name: The name of the experiment, with which its files begin.
        folder: Where the files go.
        told: Is told what is being measured.
    """

    name: str
    folder: Path
    told: Callable[[str], None]
    blocks: list[str] = attrs.field(factory=list, init=False)

    def say(self, text: str) -> None:
        """Add Markdown."""
        self.blocks.append(text.strip())

    def table(self, rows: Iterable[Sequence[Any]], *columns: str) -> None:
        """Add a table; numbers stand right, and have their thousands apart."""
        rows = [list(row) for row in rows]
        is_number = [all(isinstance(row[place], int | float | None) for row in rows) for place in range(len(columns))]
        lines = [columns, ["---:" if right else "---" for right in is_number]]
        lines += [[shown(one) for one in row] for row in rows]
        self.blocks.append("\n".join("| " + " | ".join(line) + " |" for line in lines))

    def picture(self, name: str, figure: Figure, text: str) -> None:
        """Add a picture, and what is said for those who cannot see it."""
        path = self.folder / f"{self.name}-{name}.png"
        FigureCanvasAgg(figure)
        figure.savefig(path)
        self.blocks.append(f"![{text}]({path.name})")

    def data(self, name: str, table: pa.Table) -> None:
        """Write a table to files, and say where."""
        path = self.folder / f"{self.name}-{name}"
        pyarrow.csv.write_csv(table, f"{path}.csv")
        pyarrow.parquet.write_table(table, f"{path}.parquet")
        self.blocks.append(f"All runs: [{path.name}.csv]({path.name}.csv), [{path.name}.parquet]({path.name}.parquet).")

    @property
    def markdown(self) -> str:
        """The page."""
        return "\n\n".join(self.blocks) + "\n"


def write(sheets: Sequence[Sheet], folder: Path, introduction: str) -> Path:
    """Write the pages of experiments, and the report of all: report.md and report.html; return the latter."""
    text = "\n\n".join([introduction.strip(), *(sheet.markdown for sheet in sheets)])
    (folder / "report.md").write_text(text, encoding="utf-8")
    page = folder / "report.html"
    body = MarkdownIt("commonmark").enable("table").render(text)
    page.write_text(f"{_HEAD}{body}</html>\n", encoding="utf-8")
    return page


def shown(value: Any) -> str:
    r"""Return a value as a table shows it.

    >>> shown(1234567), shown(1234.5), shown(0.125), shown(None), shown("a|b")
    ('1,234,567', '1,234', '0.125', '', 'a\\|b')
    """
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 or value == 0 else f"{value:.4g}"
    return str(value).replace("|", "\\|")
