"""A comparison in words, figures, signs and colours, as every report of it has them.

The colours are those of Okabe and Ito, which the colour-blind tell apart; signs and words say the same without any.

Source: Okabe and Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dsl.command_lines import printable
from dsl.terms.instants import moment_of

if TYPE_CHECKING:
    from dsl.comparison.comparing import Comparison
    from dsl.comparison.verdict_differences import RuleHours

_LEAST: Final = 1e-9


def changed_rules(found: Comparison) -> list[RuleHours]:
    """Return the requirements that restrict for another time, or others, the greatest change first."""
    changed = [each for each in found.rules if abs(each.change) > _LEAST or each.subjects_before != each.subjects_after]
    return sorted(changed, key=lambda each: (-abs(each.change), each.rule))


def why(row: dict[str, Any]) -> str:
    """Return, in words, why a difference is one: what fails now, what does no longer, and what is missing.

    >>> empty = {"failed_before": [], "missing_before": [], "missing_after": []}
    >>> why({**empty, "failed_before": ["wind"], "failed_after": ["draught"]})
    '+ draught, - wind'
    >>> why({**empty, "failed_after": [], "missing_after": ["tide"]})
    'not known: tide'
    """
    before, after = row["failed_before"], row["failed_after"]
    said = [f"+ {each}" for each in after if each not in before] + [f"- {each}" for each in before if each not in after]
    missing = [each for each in row["missing_after"] if row.get("status_after", "unknown") == "unknown"]
    parts = [", ".join(said), f"not known: {', '.join(missing)}" if missing else ""]
    return printable("; ".join(filter(None, parts)))


def longest(found: Comparison, number: int) -> list[dict[str, Any]]:
    """Return the longest differences, as rows."""
    order = [("hours", "descending"), ("start", "ascending")]
    most = min(number, found.differences.num_rows)  # Arrow takes no number of over 64 bits
    rows: list[dict[str, Any]] = found.differences.sort_by(order).slice(0, most).to_pylist()
    return rows


def spanned(found: Comparison) -> str:
    """Return from when to when the history is."""
    return f"{moment_of(found.start):%-d %B %Y %H:%M} to {moment_of(found.end):%-d %B %Y %H:%M} UTC"


def begun(found: Comparison) -> str:
    """Return how many differences begin with the last rows; empty if none does."""
    said = f"{found.at_the_end:,} of the differences begin with the last rows, and have no hours"
    return said if found.at_the_end else ""


COLOURS: Final = {"allowed": "#0072b2", "restricted": "#d55e00", "unknown": "#999999"}
"""What a verdict is painted in: blue, vermilion, grey."""
SIGNS: Final = {"allowed": "✓", "restricted": "✗", "unknown": "?"}
"""What stands before the word of a verdict."""


def marked(status: str) -> str:
    """Return the word of a verdict behind its sign.

    >>> marked("restricted"), marked("not judged")
    ('✗ restricted', '· not judged')
    """
    return f"{SIGNS.get(status, '·')} {status}"
