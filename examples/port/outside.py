"""Texts from outside: whatever a transmitter or a file says is shown, and never does anything.

Any station can transmit any name. On a terminal such a text is no markup, and its control characters are shown, not
obeyed; in a table for a spreadsheet it is no formula.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

if TYPE_CHECKING:
    from rich.text import Text

_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


def printable(text: str) -> str:
    r"""Return ``text`` with its control and formatting characters, new lines apart, as escapes.

    >>> print(printable("EVA\x1b[2J\u202e"))
    EVA\x1b[2J\u202e
    """
    if text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode() if each != "\n" and unicodedata.category(each).startswith("C") else each
        for each in text
    )


def no_formula(text: str) -> str:
    """Return ``text``, behind an apostrophe where a spreadsheet would compute it.

    >>> no_formula("=1+1"), no_formula("EVA")
    ("'=1+1", 'EVA')
    """
    return f"'{text}" if text.startswith(_FORMULAS) else text


class PlainConsole(Console):
    """A console on which a string is shown as it is: no markup, no emoji, no control characters."""

    def __init__(self, **options: Any) -> None:
        """Make one; ``options`` as those of `rich.console.Console`."""
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make of a string what is shown."""
        return super().render_str(printable(text), **options)
