"""What the rules that fail of a ship compare, at any moment: judged anew, from the rows that are the newest then.

A change is written where another rule fails, or no longer does. Until the next one the tide goes on falling, so that
value and margin of the change are those of its moment alone.

Invariant: figures are those of the pack's own judgement; which rules fail is as the store has it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from threading import Lock
from typing import TYPE_CHECKING, Any

import attrs

from dsl import RulePack
from dsl.terms.related_rows import pairings, tallyings
from dsl.terms.statements import conditions
from dsl.terms.terms import Now, all_parts
from examples.port.office.judging import Links
from examples.port.office.records import Failed, failure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dsl import Verdict
    from dsl.terms.terms import Declaration
    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.office.records import Change, Pack, Seen


def fitted(declared: Declaration, row: Values, age: int = 0) -> Values:
    """Return a row as far as rules declare it, which may read less than the harbour has; too old, its key alone.

    Args:
        declared: Its source, as the rules have it.
        row: The row.
        age: How old it is, in microseconds.
    """
    is_stale = declared.stale_after is not None and age >= declared.stale_after
    known = {declared.key} if is_stale else {field for field, _ in declared.fields}
    return {field: value for field, value in row.items() if field in known}


@attrs.frozen
class _Rules:
    """Rules, and how they read rows."""

    pack: RulePack
    counted: frozenset[str]
    """Of which sources all rows are looked at; of the subject, if it is one of them."""
    is_timed: bool
    """Whether what they read changes with time alone: the time itself, or rows that grow too old."""

    @classmethod
    def of(cls, text: str) -> _Rules:
        pack = RulePack.from_text(text)
        told_of = [each.other for each in pairings(pack.statements)]
        told_of += [each.source for each in tallyings(pack.statements)]
        read = (part for condition in conditions(pack.statements) for part in all_parts(condition))
        is_timed = any(isinstance(part, Now) for part in read)
        is_timed |= any(each.stale_after is not None for each in pack.declarations.values())
        return cls(pack, frozenset(each.another_of or each.name for each in told_of), is_timed)


class Figures:
    """What fails of ships, in figures, for several threads.

    Args:
        day: Says which rows count for a ship.
    """

    def __init__(self, day: Day) -> None:
        self._links = Links(day)
        self._rules: dict[str, _Rules] = {}
        self._lock = Lock()

    def reads(self, report: Seen, rows: Collection[tuple[str, str]], pack: Pack, *, has_passed: bool) -> bool:
        """Whether what is new counts for a ship, her own row apart.

        Args:
            report: Her last report.
            rows: Which rows are new, each a source and a key.
            pack: The rules.
            has_passed: Whether it is later than before.
        """
        rules = self._rules_of(pack)
        if (has_passed and rules.is_timed) or any(source in rules.counted for source, _ in rows):
            return True
        return not self._links.keys(report.row, rules.pack).items().isdisjoint(rows)

    def failed(
        self, change: Change | None, rows: Mapping[tuple[str, str], Seen], pack: Pack | None, now: int
    ) -> tuple[Failed, ...]:
        """Return what fails of a ship, with the figures of a moment.

        Args:
            change: The last change of her verdict until then: which rules fail.
            rows: The newest reading of each row then, by source and key.
            pack: The rules that are in force then.
            now: The moment, in microseconds since the epoch.
        """
        if change is None or not change.failed:
            return ()
        report = rows.get(("vessel", str(change.mmsi)))
        if report is None or pack is None:
            return change.failed
        found: defaultdict[str, deque[Failed]] = defaultdict(deque)  # several requirements may have one name
        for each in self._judged(report, rows, pack, now).failed:
            found[each.name].append(failure(each))
        # Changes are read before the readings that are committed with them: of a rule that holds again by a reading
        # that has come in between, what was said is said until its change is read as well.
        return tuple(found[each.rule].popleft() if found[each.rule] else each for each in change.failed)

    def _judged(self, report: Seen, rows: Mapping[tuple[str, str], Seen], pack: Pack, now: int) -> Verdict:
        rules = self._rules_of(pack)
        with self._lock:
            declared = rules.pack.declarations
            linked = (rows.get(each) for each in self._links.keys(report.row, rules.pack).items())
            situation: dict[str, Any] = {
                each.source: fitted(declared[each.source], each.row, now - each.time)
                for each in (report, *linked)
                if each is not None and each.source in declared
            }
            for source in rules.counted:  # all that there are, of ships herself first
                found = sorted(
                    (each for each in rows.values() if each.source == source), key=lambda one: one is not report
                )
                situation[source] = [fitted(declared[source], each.row, now - each.time) for each in found]
            return rules.pack.check(situation, now)

    def _rules_of(self, pack: Pack) -> _Rules:
        with self._lock:
            if pack.text not in self._rules:
                self._rules[pack.text] = _Rules.of(pack.text)
            return self._rules[pack.text]


def newest(seen: Iterable[Seen]) -> dict[tuple[str, str], Seen]:
    """Return readings by the source and key of their rows; of one row the last."""
    return {(each.source, each.key): each for each in seen}


def in_force(packs: Sequence[Pack], at: int) -> Pack | None:
    """Return the rules that are in force at a moment; before any, the first."""
    return next((each for each in reversed(packs) if each.at <= at), packs[0] if packs else None)
