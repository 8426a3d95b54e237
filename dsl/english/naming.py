"""What the fields and the named terms of a pack are called, so that no two that mean different things are called alike.

Invariant: equal words are of equal terms, so what is said of equal words may be said together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from dsl.terms.terms import Term

ARTICLES: Final = ("the ", "a ", "an ")
"""With what a named term may begin."""


@attrs.frozen
class Names:
    """How fields and named terms are called, so that no two that mean different things are called alike.

    >>> Names("vessel").subject
    'vessel'
    """

    subject: str
    """The name of the pack's subject, whose fields go without it; empty if no source's do."""
    alike: frozenset[Term] = frozenset()
    """What would be called like something else: a field is shown as it is written then, a named term in quotes."""
