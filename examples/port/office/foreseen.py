"""The next change of a ship's verdict that the forecasts foresee.

Tide, stream and wind of the day are predictions; the ship is taken to stay where she is, to a thousandth of a degree,
as she is, at her speed. Her verdict is that of the pack itself, at each time at which one of the rows changes that
count for her. Where the predictions end, nothing further is foreseen.

Source: RULES.md, "Arrivals", for what is a prediction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, defaultdict
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import attrs

from dsl import RulePack
from dsl.terms.statements import conditions
from dsl.terms.terms import observations
from examples.port.marks import in_words
from examples.port.office.figures import fitted
from examples.port.office.judging import Links
from examples.port.office.records import KEYS, failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl import Verdict
    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.office.records import Pack

KEPT: Final = 2_000
"""Of how many situations what lies ahead is kept."""


@attrs.frozen
class Next:
    """A change that is foreseen: when, to what, by which rule, why, in words, and all rules that begin to fail."""

    at: int
    status: str
    rule: str
    why: str
    failing: tuple[str, ...] = ()


class Foresight:
    """What the forecasts of a day foresee for ships.

    Args:
        day: The predictions, and the berths.
        pack: The rules, at first.
    """

    def __init__(self, day: Day, pack: RulePack) -> None:
        self._judge_by(pack)
        self._lock = RLock()
        self._kept: OrderedDict[tuple[Any, ...], list[tuple[int, Verdict]]] = OrderedDict()
        self._links = Links(day)
        self._berths = {each.values["id"]: each.values for each in day.readings if each.source == "berth"}
        self._rows: defaultdict[tuple[str, str], list[tuple[int, Values]]] = defaultdict(list)
        for each in day.readings:
            if each.source in ("tide", "stream", "wind"):
                self._rows[each.source, each.values[KEYS[each.source]]].append((each.time or day.start, each.values))

    def judge_by(self, pack: Pack) -> bool:
        """Look ahead by these rules from now on; return whether they are others than before."""
        if pack.version == self._pack.version:
            return False
        found = RulePack.from_text(pack.text)
        with self._lock:
            self._judge_by(found)
            self._kept.clear()
        return True

    def _judge_by(self, pack: RulePack) -> None:
        read = (each for condition in conditions(pack.statements) for each in observations(condition))
        self._pack, self._read = pack, {each.field for each in read if each.source.name == "vessel"}

    def has(self, ship: Values) -> bool:
        """Whether what lies ahead of a ship in her situation has been looked for, so that it is known at once."""
        with self._lock:
            return self._alike(ship, self._links.keys(ship, self._pack)) in self._kept

    def next_change(self, ship: Values, now: int) -> Next | None:
        """Return the next change of a ship's verdict; None: none is foreseen.

        Args:
            ship: Her last report, as the rules read it.
            now: The time, in microseconds since the epoch.
        """
        ahead = self._ahead(ship)
        place = bisect_right(ahead, now, key=lambda each: each[0])
        if not 0 < place < len(ahead):
            return None
        at, verdict = ahead[place]
        return _told(at, ahead[place - 1][1], verdict)

    def _ahead(self, ship: Values) -> list[tuple[int, Verdict]]:
        """The verdicts of the day, each with the time from which it holds; kept for all ships in the same situation."""
        with self._lock:
            keys = self._links.keys(ship, self._pack)
            alike = self._alike(ship, keys)
            if alike in self._kept:
                self._kept.move_to_end(alike)
                return self._kept[alike]
            rows = {source: self._rows[source, key] for source, key in keys.items() if source != "berth"}
            times = sorted({time for each in rows.values() for time, _ in each})
            situation: dict[str, Any] = {
                "vessel": _roughly(ship),
                "berth": self._berths.get(keys.get("berth")),
            }
            declared = self._pack.declarations
            found: list[tuple[int, Verdict]] = []
            for time in times:
                for source, each in rows.items():
                    place = bisect_right(each, time, key=lambda row: row[0])
                    situation[source] = each[place - 1][1] if place else None
                verdict = self._pack.check(
                    {name: fitted(declared[name], row) for name, row in situation.items() if row and name in declared}
                )
                if not found or found[-1][1] != verdict:
                    found.append((time, verdict))
            self._kept[alike] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found

    def _alike(self, ship: Values, keys: Mapping[str, str]) -> tuple[Any, ...]:
        """What makes the situations of two ships different."""
        own = (value for name, value in _roughly(ship).items() if name in self._read)
        return (*own, *sorted(keys.items()))


def _roughly(ship: Values) -> Values:
    """A report as it is looked ahead from: one that differs by what receivers make of a ship at rest is the same."""
    place = ship["position"]
    return {**ship, "position": place and tuple(round(degrees, 3) for degrees in place)}


def _told(at: int, before: Verdict, after: Verdict) -> Next:
    """Say which rule changes a verdict: one that fails now, one that is not decided now, or one that did not hold."""
    failed, undecided = {each.name for each in before.failed}, {each.name for each in before.undecided}
    failing = tuple(each.name for each in after.failed if each.name not in failed)
    for each in after.failed:
        if each.name in failing:
            why = failure(each)
            amounts = "; limit ".join(filter(None, (why.value, why.limit)))
            return Next(at, after.status, each.name, f"{amounts}: {why.because}".rstrip(": "), failing)
    for each in after.undecided:
        if each.name not in undecided:
            return Next(at, after.status, each.name, f"not known: {', '.join(map(in_words, each.missing))}")
    still = {each.name for each in after.because}
    for each in before.because:
        if each.name not in still:
            return Next(at, after.status, each.name, "holds from then on")
    return Next(at, after.status, "", "")
