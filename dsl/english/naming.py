"""What the fields and the named terms of a pack are called, so that no two that mean different things are called alike.

Invariant: in one place of a pack, equal words for values are of terms that mean the same. In different places they need
not be: within a total the fields of its rows go without their source's name.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from dsl.terms.terms import Term

ARTICLES: Final = ("the ", "a ", "an ")
"""With what a named term may begin."""
_PLAIN: Final = re.compile(r"(?!.*\b(?:and|or|nor|is|must)\b)[^\W\d_][\w'-]*(?: [\w'-]+)*")
"""Names that end where they seem to, beside the signs and the words that phrases are made of."""


@attrs.frozen
class Names:
    """How fields and named terms are called.

    >>> Names("vessel").subject
    'vessel'
    """

    subject: str
    """The name of the pack's subject, whose fields go without it; empty if no source's do."""
    alike: frozenset[Term] = frozenset()
    """What would be called like something else: a field is shown as it is written then, a named term in quotes."""
    several: frozenset[Term] = frozenset()
    """Named terms whose name others have, too: it is told which is meant."""


def called(name: str, *, in_quotes: bool = False) -> str:
    """Return the name of a named term: in quotes where it has to be, or where it would not be seen where it ends.

    >>> called("under-keel clearance"), called("depth + 1 m")
    ('under-keel clearance', '"depth + 1 m"')
    """
    return json.dumps(name, ensure_ascii=False) if in_quotes or not _PLAIN.fullmatch(name) else name
