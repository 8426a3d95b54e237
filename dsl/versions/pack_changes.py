"""What changed between two packs, as lines that an officer reads: rules added, removed, changed, and declarations.

A rule is told by its name; of several with one name, the first is compared with the first. Its text is the sentence
that a file of rules would have, with the conditions around it.
"""

from __future__ import annotations

from collections import defaultdict
from difflib import ndiff
from itertools import zip_longest
from typing import TYPE_CHECKING, final

import attrs

from dsl.terms.statements import alone, requirements

if TYPE_CHECKING:
    from dsl.rule_packs import RulePack


@final
@attrs.frozen
class RuleChange:
    """A rule before and after a change."""

    name: str
    before: str | None
    """Its sentence before; None where it is new."""
    after: str | None
    """Its sentence now; None where it is gone."""


@final
@attrs.frozen
class PackChanges:
    r"""What differs between two packs.

    >>> from dsl import RulePack
    >>> from dsl.versions import changes
    >>> head = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
    >>> was = RulePack.from_text(head + "draught must be at most 15 m\n    name: deep\n")
    >>> now = RulePack.from_text(head + "draught must be at most 14 m\n    name: deep\n")
    >>> changes(was, now).rules_changed[0].after
    'draught must be at most 14 m'
    """

    rules_added: tuple[RuleChange, ...] = ()
    rules_removed: tuple[RuleChange, ...] = ()
    rules_changed: tuple[RuleChange, ...] = ()
    declarations: tuple[str, ...] = ()
    """Lines of sources, links and definitions, as ``- before`` and ``+ after``."""


def changes(before: RulePack | None, after: RulePack) -> PackChanges:
    """Return what differs; of the first pack all its rules are added.

    Raises:
        InvalidRule: A pack cannot be written as text.
    """
    was = defaultdict(list) if before is None else _sentences(before)
    now = _sentences(after)
    every = [
        RuleChange(name, *pair) for name in {**was, **now} for pair in zip_longest(was.get(name, ()), now.get(name, ()))
    ]
    heads = [] if before is None else list(ndiff(_head(before), _head(after)))
    return PackChanges(
        tuple(each for each in every if each.before is None),
        tuple(each for each in every if each.after is None),
        tuple(each for each in every if None not in (each.before, each.after) and each.before != each.after),
        tuple(line for line in heads if line[0] in "+-" and line[2:].strip()),
    )


def _sentences(pack: RulePack) -> defaultdict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    printer = pack._printer()
    for around, requirement in requirements(pack.statements):
        lines = printer.statement(alone(around, requirement))
        found[requirement.name].append("\n".join(line for line in lines if line.strip() != f"name: {requirement.name}"))
    return found


def _head(pack: RulePack) -> list[str]:
    return pack._printer().head(pack.name)
