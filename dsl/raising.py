"""Raising: what a rule is called where it raises.

What cannot be computed is missing (`dsl.evaluation`); what raises is something else: a value of the wrong type, such as
a text where a number was declared.

Source: DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl.statements import Requirement
from dsl.texts import text

if TYPE_CHECKING:
    from dsl.statements import Statement


def called(statement: Statement) -> str:
    """Return what a rule is called in the notes of an error: its name and text, or, of a block, its condition.

    >>> from dsl.statements import EVERY_PAIR
    >>> called(Requirement(EVERY_PAIR, "always", None))
    "requirement 'always': True"
    """
    written = text(statement.condition)
    if isinstance(statement, Requirement):
        return f"requirement {statement.name!r}" + (f": {written}" if written != statement.name else "")
    return f"condition {written!r}"
