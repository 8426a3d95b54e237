"""What the rules compare of a ship, at any moment: judged anew, from the rows that are the newest then.

A change is written where another rule fails, or no longer does. Until the next one the tide goes on falling, so that
value and margin of the change are those of its moment alone.

Invariant: figures are those of the pack's own judgement; which rules fail is as the store has it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import attrs

from dsl import RulePack
from dsl.terms.related_rows import pairings, tallyings
from dsl.terms.statements import conditions
from dsl.terms.terms import Now, Observation, all_parts
from examples.port.office.judging import Links
from examples.port.office.records import Failed, failure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dsl import Verdict
    from dsl.terms.terms import Declaration
    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.office.records import Change, Pack, Seen

_RISE_M: Final = 0.01


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
class Rules:
    """Rules, and how they read rows."""

    pack: RulePack
    counted: frozenset[str]
    """Of which sources all rows are looked at; of the subject, if it is one of them."""
    reads: frozenset[str]
    """Which fields of a ship they read, those apart by which her rows are found."""
    is_timed: bool
    """Whether what they read changes with time alone: the time itself, or rows that grow too old."""

    @classmethod
    def of(cls, text: str) -> Rules:
        """Return the rules of a text."""
        pack = RulePack.from_text(text)
        told_of = [each.other for each in pairings(pack.statements)]
        told_of += [each.source for each in tallyings(pack.statements)]
        read = [part for condition in conditions(pack.statements) for part in all_parts(condition)]
        is_timed = any(isinstance(part, Now) for part in read)
        is_timed |= any(each.stale_after is not None for each in pack.declarations.values())
        observed = [(part.source.name, part.field) for part in read if isinstance(part, Observation)]
        if any(line.startswith("only: ") for line in text.splitlines()):  # nothing else says what that reads
            observed += [("vessel", field) for field, _ in pack.declarations["vessel"].fields]
        reads = frozenset(field for source, field in observed if source == "vessel")
        return cls(pack, frozenset(each.another_of or each.name for each in told_of), reads, is_timed)


class Figures:
    """What fails of ships, in figures, for several threads.

    Args:
        day: Says which rows count for a ship.
    """

    def __init__(self, day: Day) -> None:
        self._links = Links(day)
        self._rules: dict[str, Rules] = {}
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
            situation: dict[str, Any] = {source: [] for source in rules.counted}
            for each in self._read(report, rows, rules):
                row = fitted(declared[each.source], each.row, now - each.time)
                if each.source in rules.counted:
                    situation[each.source].append(row)
                else:
                    situation[each.source] = row
            return rules.pack.check(situation, now)

    def _read(self, report: Seen, rows: Mapping[tuple[str, str], Seen], rules: Rules) -> list[Seen]:
        """The rows that count for a ship: hers, those linked to it, and all that there are of what is counted."""
        linked = [rows.get(each) for each in self._links.keys(report.row, rules.pack).items()]
        read = [report, *(each for each in linked if each is not None and each.source not in rules.counted)]
        read += [each for each in rows.values() if each.source in rules.counted and each is not report]
        return [each for each in read if each.source in rules.pack.declarations]

    def gauge(self, ship: Values, pack: Pack) -> str | None:
        """Return the gauge whose tide counts for a ship; None: there is none."""
        return self._links.keys(ship, self._rules_of(pack).pack).get("tide")

    def limit(self, report: Seen, rows: Mapping[tuple[str, str], Seen], pack: Pack, now: int) -> float | None:
        """Return below which clearance, in metres, rules forbid a ship, all but the tide as it is; None: none does.

        That is where the margin of a requirement is zero. How a margin goes with the tide is seen at a tide that is a
        little higher: of what is linear in its height, as a clearance is, in whatever unit, that is exact.

        Args:
            report: Her last report.
            rows: As of `failed`, as are ``pack`` and ``now``.
            pack: The rules.
            now: The moment.
        """
        rules, tide = self._rules_of(pack), rows.get(("tide", self.gauge(report.row, pack) or ""))
        berth = rows.get(("berth", report.row["destination"]))
        if berth is None or tide is None or None in (berth.row["depth"], tide.row["height"], report.row["draught"]):
            return None
        clearance = berth.row["depth"] + tide.row["height"] - report.row["draught"]
        higher = attrs.evolve(tide, row={**tide.row, "height": tide.row["height"] + _RISE_M})
        with self._lock:
            read = self._read(report, rows, rules)
            found = [
                self._margins(rules.pack, [high if each is tide else each for each in read], report, now)
                for high in (tide, higher)
            ]
        limits = [
            clearance - before * _RISE_M / (after - before)
            for before, after in zip(*found, strict=True)
            if before is not None and after is not None and after - before > _RISE_M * 1e-6
        ]
        return max(limits, default=None)

    @staticmethod
    def _margins(pack: RulePack, read: Iterable[Seen], report: Seen, now: int) -> list[float | None]:
        """The margin of each requirement, in its own unit; None: it does not apply, is not decided, or has none."""
        rows = [(pack.sources[each.source], each.row, each.time) for each in sorted(read, key=lambda each: each.time)]
        account = pack.account(rows, report.row["mmsi"], now)
        return [
            each.reason.margin[0] if each.reason.margin is not None and each.outcome in ("holds", "fails") else None
            for each in (() if account is None else account.requirements)
        ]

    def _rules_of(self, pack: Pack) -> Rules:
        with self._lock:
            if pack.text not in self._rules:
                self._rules[pack.text] = Rules.of(pack.text)
            return self._rules[pack.text]


def newest(seen: Iterable[Seen]) -> dict[tuple[str, str], Seen]:
    """Return readings by the source and key of their rows; of one row the last."""
    return {(each.source, each.key): each for each in seen}


def in_force(packs: Sequence[Pack], at: int) -> Pack | None:
    """Return the rules that are in force at a moment; before any, the first."""
    return next((each for each in reversed(packs) if each.at <= at), packs[0] if packs else None)
