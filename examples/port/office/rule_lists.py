"""What the office notes of a pack: its version, and the text of each of its rules."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from dsl.terms.statements import Requirement
from dsl.terms.texts import text
from examples.port.office.records import Pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsl import RulePack
    from dsl.terms.statements import Statement


def version_of(pack: RulePack) -> str:
    """Return the version of a pack."""
    return sha256(pack.to_text().encode()).hexdigest()[:12]


def noted(pack: RulePack, at: int, changed: int, who: str) -> Pack:
    """Return what is noted of a pack.

    Args:
        pack: The rules.
        at: From when on they are in force, in microseconds since the epoch.
        changed: When that was done, likewise, of wall time.
        who: By whom.
    """
    return Pack(version_of(pack), at, changed, who, tuple(_rules(pack.statements)))


def _rules(statements: Iterable[Statement], guards: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for each in statements:
        condition = text(each.condition)
        if isinstance(each, Requirement):
            yield each.name, f"{' and '.join(guards)}: {condition}" if guards else condition
        else:
            yield from _rules(each.body, (*guards, f"({condition})" if " or " in condition else condition))
