"""Sheets: tables of text that are shown on a terminal, and written into a page between two marks."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

import attrs
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BEGIN: Final = "<!-- what follows is written by `python -m bench --only speed --markdown` -->"
END: Final = "<!-- up to here -->"


@attrs.frozen
class Sheet:
    """A table: columns named ``left`` stand to the left, all others to the right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1

    def as_table(self) -> Table:
        """Return it for a terminal."""
        table = Table(title=self.title)
        for place, name in enumerate(self.header):
            table.add_column(name, justify="left" if place < self.left else "right")
        for row in self.rows:
            table.add_row(*row)
        return table

    def as_markdown(self) -> str:
        """Return it for a page."""
        rules = ["---" if place < self.left else "--:" for place in range(len(self.header))]
        lines = [f"**{self.title}**", "", *map(_line, (self.header, rules, *self.rows))]
        return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write(page: Path, text: str) -> None:
    """Put ``text`` between the marks of a page, or make the page if there is none.

    Raises:
        ValueError: The page is there but has no marks.
    """
    before, after = around(page)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def around(page: Path) -> tuple[str, str]:
    """Return what stands before and after the marks of a page; of one that is not there, nothing.

    Raises:
        ValueError: The page is there but has no marks.
    """
    if not page.exists():
        return "", "\n"
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        message = f"{page}: expected the lines {BEGIN!r} and {END!r}, between which the figures are written"
        raise ValueError(message)
    return before, after


def verdict(is_kept: bool) -> str:
    """Return how it is shown whether a bound is kept."""
    return "yes" if is_kept else "NO"


def rate(rates: Sequence[float]) -> str:
    """Return the median of events a second, and half the range as a share of it."""
    middle = median(rates)
    shown = f"{middle / 1e6:.2f} M" if middle >= 1e6 else f"{middle / 1e3:.0f} k" if middle >= 1e4 else f"{middle:,.0f}"
    return f"{shown} ±{(max(rates) - min(rates)) / 2 / middle:.0%}"
