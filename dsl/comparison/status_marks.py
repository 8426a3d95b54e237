"""How a verdict is shown: a sign beside its word, and a colour.

The colours are those of Okabe and Ito, which the colour-blind tell apart; signs and words say the same without any.

Source: Okabe and Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

from typing import Final

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
