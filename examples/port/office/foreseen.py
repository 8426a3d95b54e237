"""The next change of a ship's verdict that the forecasts foresee.

Tide, stream and wind of the day are predictions; the ship is taken to stay where she is, to a thousandth of a degree,
as she is, at her speed, and to report no more. Her verdict is that of the pack itself, which is given the rows of the
day as they will come: so rows grow too old, the time passes, and totals are taken as they are when it judges. What is
foreseen ends with the day. Where the rules ask about other ships, which move, nothing is foreseen, and it is said.

Source: RULES.md, "Arrivals", for what is a prediction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius import Engine, Update
from examples.port.inputs import Reading
from examples.port.marks import in_words
from examples.port.office.figures import Rules
from examples.port.office.judging import Links
from examples.port.office.records import GONE, KEYS, failure
from examples.port.office.replay import ONE_DAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cartesius import Event
    from dsl import Verdict
    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.office.records import Pack, Seen

    Ahead = list[tuple[int, Verdict | None]]

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


@attrs.frozen
class Unforeseen:
    """That nothing can be foreseen, and why, in words: neither a change nor that there is none."""

    why: str


OTHER_SHIPS: Final = Unforeseen("the rules ask about other ships, and nobody knows where those will be")


class Foresight:
    """What the forecasts of a day foresee for ships.

    Args:
        day: The predictions, and the berths.
    """

    def __init__(self, day: Day) -> None:
        self._lock = RLock()
        self._kept: OrderedDict[tuple[Any, ...], Ahead] = OrderedDict()
        self._rules: dict[str, Rules] = {}
        self._links, self._start, self._end = Links(day), day.start, day.start + ONE_DAY
        self._rows = [
            attrs.evolve(each, time=each.time or day.start) for each in day.readings if each.source != "vessel"
        ]

    def has(self, report: Seen, pack: Pack) -> bool:
        """Whether what lies ahead of a ship in her situation has been looked for, so that it is known at once."""
        with self._lock:
            rules = self._rules_of(pack)
            return "vessel" in rules.counted or self._alike(report, rules) in self._kept

    def next_change(self, report: Seen, now: int, pack: Pack) -> Next | Unforeseen | None:
        """Return the next change of a ship's verdict by some rules; None: none is foreseen.

        Args:
            report: Her last report.
            now: The time, in microseconds since the epoch.
            pack: The rules.
        """
        ahead = self._ahead(report, pack)
        if isinstance(ahead, Unforeseen):
            return ahead
        place = bisect_right(ahead, now, key=lambda each: each[0])
        if not 0 < place < len(ahead):
            return None
        at, verdict = ahead[place]
        return _told(at, ahead[place - 1][1], verdict)

    def windows(self, report: Seen, now: int, pack: Pack) -> list[tuple[int, int]] | Unforeseen:
        """Return when, from ``now`` on, the rules allow a ship: the first instant and that after the last of each time.

        Args:
            report: As of `next_change`, as are ``now`` and ``pack``.
            now: The time.
            pack: The rules.
        """
        ahead = self._ahead(report, pack)
        if isinstance(ahead, Unforeseen):
            return ahead
        ends = [*(time for time, _ in ahead[1:]), self._end]
        return [
            (max(now, time), end)
            for (time, verdict), end in zip(ahead, ends, strict=True)
            if verdict is not None and verdict.status == "allowed" and now < end
        ]

    def _ahead(self, report: Seen, pack: Pack) -> Ahead | Unforeseen:
        """The verdicts of the day, each with the time from which it holds; kept for all ships in the same situation."""
        with self._lock:
            rules = self._rules_of(pack)
            if "vessel" in rules.counted:
                return OTHER_SHIPS
            alike = self._alike(report, rules)
            if alike in self._kept:
                self._kept.move_to_end(alike)
                return self._kept[alike]
            last = {
                int(each.end): each.value.value if isinstance(each.value, Update) else None
                for each in self._judged(report, rules)  # of several of an instant the last holds
            }
            found: Ahead = []
            for time, verdict in last.items():
                if not found or found[-1][1] != verdict:
                    found.append((time, verdict))
            self._kept[alike] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found

    def _judged(self, report: Seen, rules: Rules) -> Iterator[Event]:
        """Judge a ship through the day, as a feed does, and yield the changes of her verdict."""
        inputs, keys = rules.pack.sources, self._links.keys(report.row, rules.pack)
        rows = [
            each
            for each in self._rows
            if each.source in inputs
            and (each.source in rules.counted or keys.get(each.source) == each.values[KEYS[each.source]])
        ]
        ship = Reading("vessel", self._since(report, rules), 0, _roughly(report.row))
        engine = Engine(rules.pack.table())
        for each in sorted([*rows, ship], key=lambda each: each.time or 0):
            yield from engine.advance(each.time or 0)
            yield from engine.push(inputs[each.source], each.values, at=each.time)
        yield from engine.advance(self._end - 1)

    def _since(self, report: Seen, rules: Rules) -> int:
        """From when on she is as she is; when her report came makes no difference where it does not grow too old."""
        return self._start if rules.pack.declarations["vessel"].stale_after is None else report.time

    def _alike(self, report: Seen, rules: Rules) -> tuple[Any, ...]:
        """What makes the situations of two ships different."""
        keys = self._links.keys(report.row, rules.pack)
        own = (value for name, value in _roughly(report.row).items() if name in rules.reads)
        return rules.pack.version, self._since(report, rules), *own, *sorted(keys.items())

    def _rules_of(self, pack: Pack) -> Rules:
        if pack.text not in self._rules:
            self._rules[pack.text] = Rules.of(pack.text)
        return self._rules[pack.text]


def _roughly(ship: Values) -> Values:
    """A report as it is looked ahead from: one that differs by what receivers make of a ship at rest is the same."""
    place = ship["position"]
    return {**ship, "position": place and tuple(round(degrees, 3) for degrees in place)}


def _told(at: int, before: Verdict | None, after: Verdict | None) -> Next:
    """Say which rule changes a verdict: one that fails now, one that is not decided now, or one that did not hold."""
    if after is None:
        return Next(at, GONE, "", "")
    failed = {each.name for each in before.failed} if before is not None else set()
    undecided = {each.name for each in before.undecided} if before is not None else set()
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
    for each in before.because if before is not None else ():
        if each.name not in still:
            return Next(at, after.status, each.name, "holds from then on")
    return Next(at, after.status, "", "")
