"""The tables of rules in `RULES.md`, made from the packs: ``python -m examples.port.rules_page`` writes them anew.

Rules that are the same at every berth are one row; where a berth has a figure of its own, the row says which.

Invariant: between the marks of a pack in `RULES.md` stands what `rules_table` gives; a test compares them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from dsl.terms.statements import EVERY_PAIR, Against, Located, Requirement
from dsl.terms.texts import text
from examples.port.arrival_rules import arrival_rules
from examples.port.input_options import DATA
from examples.port.rotterdam import rotterdam_rules
from examples.port.rules import port_rules
from examples.port.tables import read_table
from examples.port.traffic_rules import traffic_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dsl import RulePack
    from dsl.terms.statements import Statement

PAGE: Final = Path(__file__).resolve().parent / "RULES.md"
_ID: Final = "ID"


@attrs.frozen
class RuleRow:
    """A requirement as a row of the page: where it stands, for whom it holds, and what it says."""

    name: str
    berth: str | None
    holds_for: str
    requires: str
    severity: str
    because: str
    reference: str


def packs() -> dict[str, RulePack]:
    """Return the packs whose rules are on the page, by the name of their table there."""
    berths = [row.cells["id"] for row in read_table(DATA / "berths.csv", ["id"]).rows]
    return {
        "port": port_rules(berths),
        "traffic": traffic_rules(),
        "arrivals": arrival_rules(),
        "rotterdam": rotterdam_rules(),
    }


def rules_table(pack: RulePack) -> str:
    """Return the rules of ``pack`` as a table in Markdown, one row a rule.

    >>> print(rules_table(port_rules([])).splitlines()[2])
    | wind limit | every ship | wind.velocity <= 45 kn | major | no ship moves or lies safely above 45 kn | |
    """
    rows: dict[str, list[RuleRow]] = {}
    for each in rule_rows(pack.statements):
        rows.setdefault(each.name, []).append(each)
    lines = ["| rule | holds for | requires | severity | because | reference |", "|---|---|---|---|---|---|"]
    for name, same in rows.items():
        first = same[0]
        cells = (name, first.holds_for, _requires(same), first.severity, first.because, first.reference)
        lines.append(" ".join(f"| {cell}" if cell else "|" for cell in cells) + " |")
    return "\n".join(lines)


def rule_rows(statements: Iterable[Statement]) -> Iterator[RuleRow]:
    """Yield a row for each requirement; at a berth its name is that for any berth."""
    yield from _rows(statements, None, ())


def _rows(statements: Iterable[Statement], berth: str | None, guards: tuple[str, ...]) -> Iterator[RuleRow]:
    for each in statements:
        condition = text(each.condition)
        if isinstance(each, Requirement):
            yield RuleRow(
                each.name if berth is None else each.name.replace(berth, _ID),
                berth,
                " and ".join(guards) or "every ship",
                condition,
                each.severity,
                each.because or "",
                each.reference or "",
            )
        elif isinstance(each, Located):
            yield from _rows(each.body, str(each.place), (*guards, condition.replace(str(each.place), _ID)))
        elif isinstance(each, Against):
            name = each.other.name
            where = f"every {name} with {condition}" if each.condition != EVERY_PAIR else f"every {name}"
            yield from _rows(each.body, berth, (*guards, where))
        else:
            inner = f"({condition})" if " or " in condition else condition
            yield from _rows(each.body, berth, (*guards, inner))


def _requires(same: Sequence[RuleRow]) -> str:
    found: dict[str, list[str]] = {}
    for each in same:
        found.setdefault(each.requires, []).append(each.berth or "")
    if len(found) == 1:
        return next(iter(found))
    usual = max(found, key=lambda requires: len(found[requires]))
    others = (f"{requires} at {', '.join(ids)}" for requires, ids in found.items() if requires != usual)
    return "; ".join([usual, *others])


def rewritten(page: str) -> str:
    """Return ``page`` with the tables of all packs as they are now."""
    for name, pack in packs().items():
        start, end = f"<!-- rules of {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{rules_table(pack)}\n{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
