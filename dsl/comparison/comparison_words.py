"""A comparison in words and figures, as every report of it has them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dsl.comparison.comparing import Comparison
    from dsl.comparison.verdict_differences import RuleHours

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST: Final = 1e-9


def moment(time: int) -> datetime:
    """Return a time, in microseconds since the epoch, in UTC."""
    return _EPOCH + timedelta(microseconds=time)


def printable(text: str) -> str:
    r"""Return a text with its control and formatting characters, new lines apart, as escapes.

    >>> print(printable("EVA\x1b[2J\u202e"))
    EVA\x1b[2J\u202e
    """
    return "".join(
        each.encode("unicode_escape").decode() if each != "\n" and unicodedata.category(each).startswith("C") else each
        for each in text
    )


def changed_rules(found: Comparison) -> list[RuleHours]:
    """Return the requirements that restrict for another time, the greatest change first."""
    changed = [each for each in found.rules if abs(each.change) > _LEAST]
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
    rows: list[dict[str, Any]] = found.differences.sort_by(order).slice(0, number).to_pylist()
    return rows


def spanned(found: Comparison) -> str:
    """Return from when to when the history is."""
    return f"{moment(found.start):%-d %B %Y %H:%M} to {moment(found.end):%-d %B %Y %H:%M} UTC"
