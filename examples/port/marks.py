"""How a verdict is shown: its word, a sign beside it, and a colour; and what is not known, in words.

The colours are those of Okabe and Ito, which the colour-blind tell apart; signs and words say the same without any.

Source: Okabe and Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from dsl.comparison import comparison_words as status_marks

if TYPE_CHECKING:
    from collections.abc import Iterable

COLOURS: Final = status_marks.COLOURS
"""What a verdict is painted in: blue, vermilion, grey."""
SIGNS: Final = status_marks.SIGNS
"""What stands before the word of a verdict."""


def marked(status: str, reasons: str = "") -> Text:
    """Return a verdict as it is printed, and why.

    >>> marked("restricted", "wind limit").plain
    '✗ restricted: wind limit'
    """
    text = Text(f"{SIGNS[status]} {status}", f"bold {COLOURS[status]}")
    return text.append(f": {reasons}", style="not bold default") if reasons else text


def in_words(missing: str) -> str:
    """Return how people call what is not known: the ship's own fields without her source.

    >>> in_words("vessel.vessel_type"), in_words("wind.gust"), in_words("other.length")
    ('vessel type', 'wind gust', 'length of another ship')
    """
    words = missing.replace("vessel.", "").replace("_", " ")
    if words.startswith("other."):
        return f"{words.removeprefix('other.')} of another ship"
    return words.replace(".", " ") if " " not in missing else words


def because(failed: Iterable[str], missing: Iterable[str]) -> str:
    """Return, in words, why a verdict is what it is.

    >>> because(["wind limit"], ["tide", "vessel.beam"])
    'wind limit; not known: beam, tide'
    """
    parts = [", ".join(failed), ", ".join(sorted(map(in_words, missing)))]
    return "; ".join(filter(None, [parts[0], parts[1] and f"not known: {parts[1]}"]))


def unknown_by_reason(missing: Iterable[Iterable[str]]) -> str:
    """Return how many verdicts are unknown, and for want of what: each counts once, the most frequent reason first.

    >>> unknown_by_reason([["vessel.beam"], ["vessel.draught", "vessel.beam"], ["vessel.beam"]])
    '3 unknown: no beam (2), no beam or draught (1)'
    >>> unknown_by_reason([])
    '0 unknown'

    Args:
        missing: What is not known, for each of the verdicts.
    """
    reasons = Counter(tuple(sorted({in_words(name) for name in names})) for names in missing)
    said = [
        f"no {' or '.join(filter(None, [', '.join(names[:-1]), names[-1]]))} ({number:,})"
        for names, number in sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    ]
    return f"{reasons.total():,} unknown" + (f": {', '.join(said)}" if said else "")
