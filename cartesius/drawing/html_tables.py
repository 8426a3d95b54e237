"""What a notebook shows of a value: tables of HTML, in one style that is readable on light and on dark pages.

A panel carries its style, whose names all begin alike, so that it looks the same wherever it is put, and changes
nothing around it. Invariant: of a long table it is said how many rows are left out.
"""

from __future__ import annotations

from itertools import groupby
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from cartesius.drawing.markup import element, shortened, text_of
from cartesius.errors import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from xml.etree.ElementTree import Element

    from cartesius.drawing.markup import Child

MOST_ROWS = 20
_STYLE = """
.cartesius { overflow-x: auto; max-width: 100%; margin: 0.3em 0; color: inherit }
.cartesius table { border-collapse: collapse; margin: 0.3em 0; font-size: 0.9em; color: inherit; border: 0 }
.cartesius caption { caption-side: top; text-align: left; font-weight: 600; padding: 0.2em 0; color: inherit }
.cartesius table th, .cartesius table td { text-align: left; vertical-align: top; padding: 0.2em 0.7em 0.2em 0;
 border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.35); background: none; color: inherit }
.cartesius table th { font-weight: 600; white-space: nowrap }
.cartesius table th[scope="row"] { white-space: normal; min-width: 6.5em; max-width: 12em }
.cartesius table td { white-space: pre-wrap; overflow-wrap: break-word; max-width: 60em; min-width: 3em }
.cartesius table tbody tr { background: none }
.cartesius table td.cartesius-number { text-align: right; font-variant-numeric: tabular-nums }
.cartesius .cartesius-more { opacity: 0.8; font-style: italic }
.cartesius .cartesius-alert::before { content: "⚠ " }
.cartesius ul { margin: 0; padding-left: 1.3em }
.cartesius pre { margin: 0.3em 0; padding: 0; background: none; color: inherit; white-space: pre; border: 0 }
"""


class HtmlText(str):
    """A text that a notebook shows as HTML; everything else takes it for the text that it is.

    >>> report = HtmlText("3 rows", lambda: "<b>3 rows</b>")
    >>> report, report._repr_html_()
    ('3 rows', '<b>3 rows</b>')

    Args:
        text: The text.
        html: Makes the HTML, once it is asked for.
        plain: What IPython shows where it cannot show HTML; by default the text.
    """

    __slots__ = ("_html", "_plain")
    _html: Callable[[], str]
    _plain: str

    def __new__(cls, text: str, html: Callable[[], str], plain: str = "") -> HtmlText:
        """Keep how it is shown."""
        made = super().__new__(cls, text)
        made._html = html
        made._plain = plain
        return made

    def _repr_html_(self) -> str:
        return self._html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._plain or str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Copy and pickle the text alone."""
        return (str, (str(self),))


def panel(*children: Child) -> str:
    """Return the HTML of what is shown together, with its style.

    >>> panel("a < b").endswith("a &lt; b</div>")
    True
    """
    return text_of(element("div", element("style", _STYLE), *children, class_="cartesius"))


def drawing(svg: str) -> HtmlText:
    """Return the text of an SVG such that a notebook draws it; a wide one is scrolled.

    >>> drawing("<svg></svg>") == "<svg></svg>"
    True
    """
    style = "overflow-x:auto;max-width:100%"
    html = f'<div class="cartesius-drawing" style="{style}">{svg}</div>'
    return HtmlText(svg, lambda: html, plain=f"<a picture: {len(svg):,} characters of SVG>")


def paragraphs(text: str) -> HtmlText:
    r"""Return a text of paragraphs such that a notebook shows the first line of each as the heading of the others.

    >>> paragraphs("rules\n  1. depth")._repr_html_().partition("<tbody>")[2].startswith('<tr><th scope="row">rules')
    True
    """

    def html() -> str:
        found = [block.strip("\n").split("\n") for block in text.split("\n\n")]
        parts = [
            table((), [(first, dedent("\n".join(others))) for first, *others in blocks], most=len(found))
            if has_others
            else element("p", *(element("b", first) for (first,) in blocks))
            for has_others, blocks in groupby(found, lambda block: len(block) > 1)
        ]
        return panel(*parts)

    return HtmlText(text, html)


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    caption: str = "",
    most: int = MOST_ROWS,
    total: int | None = None,
) -> Element:
    """Return a table. A cell is a text, an element, or a value, which is written as `print` does.

    Args:
        headings: Of the columns; none: the first cell of each row is its heading.
        rows: In order.
        caption: What stands above.
        most: Of more rows the first are shown, with how many are left out.
        total: How many rows there are, if only the first are given.
    """
    shown = [element("tr", *_cells(row, has_headings=bool(headings))) for row in rows[:most]]
    width = max(len(headings), max(map(len, rows[:most]), default=1))
    left_out = max(len(rows), total or 0) - len(shown)
    if left_out:
        more = f"{left_out:,} more {'row is' if left_out == 1 else 'rows are'} left out"
        shown.append(element("tr", element("td", more, colspan=width, class_="cartesius-more")))
    parts = [element("caption", caption)] if caption else []
    if headings:
        parts.append(element("thead", element("tr", *(element("th", one, scope="col") for one in headings))))
    return element("table", *parts, element("tbody", *shown))


def _cells(row: Iterable[Any], *, has_headings: bool) -> Iterable[Element]:
    for place, value in enumerate(row):
        if place == 0 and not has_headings:
            yield element("th", cell(value), scope="row")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield element("td", cell(value), class_="cartesius-number")
        else:
            yield element("td", cell(value))


def cell(value: Any) -> Child:
    """Return a value as a cell shows it: texts and elements as they are, nothing for None, others as `print` does."""
    if isinstance(value, str) or hasattr(value, "tag"):
        return value  # type: ignore[no-any-return]  # an element, whose class is imported only where one is made
    return "" if value is None else shortened(as_text(value, str), 2000)
