"""Findings: what `RulePack.lint` says of a pack, each with the rule, the line, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, final

import attrs

from cartesius.drawing.html_tables import paragraphs

if TYPE_CHECKING:
    from dsl.terms.statements import Written

Flaw: TypeAlias = Literal[
    "never applies",
    "always applies",
    "never fails",
    "always fails",
    "subsumed",
    "contradiction",
    "unknown location",
    "duplicate name",
    "unused source",
    "no requirement",
]
"""What is wrong:

- never applies: the conditions around a rule cannot hold together, so what is inside is dead;
- always applies: a condition holds wherever it is asked, so it says nothing;
- never fails, always fails: a requirement is met, or failed, by every subject that it applies to;
- subsumed: where a requirement fails, another one fails too, so it decides nothing;
- contradiction: two requirements cannot both hold, so every subject that both apply to is restricted;
- unknown location: no berth has the location's id;
- duplicate name: two requirements at one place have one name, so that a verdict does not tell them apart;
- unused source: no rule observes a linked source;
- no requirement: nothing is required, so every subject is allowed whatever happens.
"""


@final
@attrs.frozen
class Finding:
    """One flaw of a rule pack.

    >>> print(
    ...     Finding("never fails", "height", "it holds for every ship", ("height",), ("rules.py", 12), "leave it out")
    ... )
    rules.py:12: never fails: height
      it holds for every ship
      fix: leave it out
    """

    kind: Flaw
    rule: str
    """The requirement's name, the condition as it is written, or the source."""
    text: str
    """What was found, in a sentence."""
    concerns: tuple[str, ...]
    """The names of the requirements that it is about."""
    written: Written | None
    """The file and line of the rule, if they are known."""
    fix: str
    """What to do."""

    def _repr_html_(self) -> str:
        return paragraphs(str(self))._repr_html_()

    def __str__(self) -> str:
        """Show it in three lines, the place first."""
        where = f"{self.written[0]}:{self.written[1]}: " if self.written is not None else ""
        return f"{where}{self.kind}: {self.rule}\n  {self.text}\n  fix: {self.fix}"
