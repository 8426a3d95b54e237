"""What an experiment writes: text, tables and pictures, as Markdown and as one page of HTML; data as CSV and Parquet.

Invariant: what is shown is what was measured in this run: a sheet has no numbers of its own.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from markdown_it import MarkdownIt
from matplotlib.backends.backend_agg import FigureCanvasAgg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Restriction strategies compared</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #1f2933 }
table { border-collapse: collapse; font-size: 0.86rem; margin: 1rem 0; display: block; overflow-x: auto }
th, td { padding: 0.25rem 0.5rem; border-bottom: 1px solid #d9dee4; white-space: nowrap }
th { text-align: left; vertical-align: bottom; white-space: normal; background: #f2f5f8 }
img { max-width: 100% } code { background: #f2f5f8 }
</style>
"""


@attrs.frozen
class Sheet:
    """The page of one experiment, as it is written.

    Args:
        name: The name of the experiment, with which its files begin.
        folder: Where the files go.
        plan: Is told how many runs there will be.
        told: Is told of each run before it begins.
        clock: What speeds are measured by, in seconds.
    """

    name: str
    folder: Path
    plan: Callable[[int], None]
    told: Callable[[str], None]
    clock: Callable[[], float]
    faults: list[str] = attrs.field(factory=list, init=False)  # what had to be so, and is not
    _blocks: list[str] = attrs.field(factory=list, init=False)
    _runs: dict[str, list[dict[str, Any]]] = attrs.field(factory=dict, init=False)  # that are not written yet

    def say(self, text: str) -> None:
        """Add Markdown."""
        self._blocks.append(text.strip())

    def table(self, rows: Iterable[Sequence[Any]], *columns: str) -> None:
        """Add a table; numbers stand right, and have their thousands apart."""
        rows = [list(row) for row in rows]
        is_number = [all(isinstance(row[place], int | float | None) for row in rows) for place in range(len(columns))]
        lines = [columns, ["---:" if right else "---" for right in is_number]]
        lines += [[shown(one) for one in row] for row in rows]
        self._blocks.append("\n".join("| " + " | ".join(line) + " |" for line in lines))

    def picture(self, name: str, figure: Figure, text: str, caption: str) -> None:
        """Add a picture, what is said for those who cannot see it, and what one sees."""
        path = self.folder / f"{self.name}-{name}.png"
        save_figure(figure, path)
        self._blocks.append(f"![{text}]({path.name})\n\n*{caption}*")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return a list to which an experiment adds each run when it is made, so that none is lost."""
        return self._runs.setdefault(name, [])

    def data(self, name: str) -> None:
        """Write the runs of a list to files, and say where."""
        rows = self._runs.pop(name)
        if rows:
            stem = f"{self.name}-{name}"
            save_table(pa.Table.from_pylist(rows), self.folder / stem)
            self._blocks.append(f"All runs: [{stem}.csv]({stem}.csv), [{stem}.parquet]({stem}.parquet).")

    def stop(self) -> None:
        """Write what was measured before the experiment was interrupted, and say that it was."""
        self.say("**Interrupted here.** What was measured until then is kept.")
        for name in list(self._runs):
            self.data(name)

    def check(self, fault: str, *, holds: bool) -> None:
        """Note a fault, on the page, too, unless something holds that has to."""
        if not holds:
            self.faults.append(fault)
            self.say(f"**Wrong: {fault}.**")

    def _repr_html_(self) -> str:
        """Show the page in a notebook, with the pictures that it has by now."""
        html = _rendered(self.markdown)
        for path in self.folder.glob(f"{self.name}-*.png"):
            data = base64.b64encode(path.read_bytes()).decode()
            html = html.replace(f'src="{path.name}"', f'src="data:image/png;base64,{data}"')
        return html

    @property
    def markdown(self) -> str:
        """The page."""
        return "\n\n".join(self._blocks) + "\n"


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture."""
    FigureCanvasAgg(figure)
    figure.savefig(path)


def save_table(table: pa.Table, stem: Path) -> None:
    """Write a table as CSV and as Parquet, to files whose names begin alike."""
    pyarrow.csv.write_csv(table, f"{stem}.csv")
    pyarrow.parquet.write_table(table, f"{stem}.parquet")


def write(sheets: Sequence[Sheet], folder: Path, introduction: str) -> Path:
    """Write the pages of experiments, and the report of all: report.md and report.html; return the latter."""
    text = "\n\n".join([introduction.strip(), *(sheet.markdown for sheet in sheets)])
    (folder / "report.md").write_text(text, encoding="utf-8")
    page = folder / "report.html"
    page.write_text(f"{_HEAD}{_rendered(text)}</html>\n", encoding="utf-8")
    return page


def _rendered(markdown: str) -> str:
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return html


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
