"""What Python asks of a rule too early: a truth value, elements, a number. A rule has them when events are judged.

The errors point at what asks, in the user's own line, and show the spelling that does not ask (`spellings`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl.refusals.errors import NoTruthValue, refusal
from dsl.refusals.excerpts import excerpt
from dsl.refusals.spellings import number_asked, spelling
from dsl.terms.texts import text

if TYPE_CHECKING:
    from dsl.terms.terms import Term


def no_truth_value(term: Term, collection: bool = False) -> NoTruthValue:
    """Return the error for Python asking ``term`` for a truth value or its elements while the rule is written."""
    span, construct, fix = spelling(collection)
    wanted = "elements" if collection else "a truth value"
    summary = f"{construct}: expected {wanted} but got the term {text(term)}, which has none until events are judged"
    return NoTruthValue(refusal(summary, [("fix", fix)], place=excerpt(span)))


def no_number(term: Term) -> NoTruthValue:
    """Return the error for Python asking ``term`` for a number while the rule is written."""
    span, construct, fix = number_asked()
    summary = f"{construct}: expected a number but got the term {text(term)}, which has none until events are judged"
    return NoTruthValue(refusal(summary, [("fix", fix)], place=excerpt(span)))
