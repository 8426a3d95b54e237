"""What the office tells of: changes of verdicts in its store, and what the forecasts foresee for the ships.

The forecasts are looked at every five minutes of event time, for the ships that somebody asks about. Where nothing was
read before, what is told begins with how things stand: nobody wants the whole day.

Invariant: what is known of the store is what there was up to a position. The outbox has that position, or one since
which there was nothing to tell of: after whatever failed, another `Alerting` goes on from there, and misses nothing.
"""

from __future__ import annotations

from datetime import timedelta
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Final

import attrs

from dsl.alerts import Occasion
from examples.port.cells import moment
from examples.port.office.databases import StoreLost
from examples.port.office.foreseen import Unforeseen
from examples.port.office.records import GONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dsl.alerts import Outbox, Subscription, Subscriptions
    from examples.port.office.foreseen import Next
    from examples.port.office.records import Change, Failed, Seen
    from examples.port.office.store import Store

    NextChange = Callable[[Seen, int], Next | Unforeseen | None]

WORDS: Final = {"subject": "ship", "place": "berth"}
"""What a file of subscriptions calls them."""
LOOK: Final = timedelta(minutes=5) // timedelta(microseconds=1)
PATIENCE_S: Final = 2.0
"""How long forecasts are looked at in one step, at most; the other ships come in the next."""


class Alerting:
    """Queues alerts for what is new in a store.

    Args:
        store: The store.
        subscriptions: Who wants what.
        outbox: Where alerts are queued.
        next_change: The next change of a ship's verdict that the forecasts foresee, as `Foresight.next_change`.
        from_start: Whether to begin with the first change that is in the store, and not with how things stand.
        patience: How long forecasts are looked at in one step, in seconds.
        tell: Gets a line where looking ahead fails; verdicts are told of all the same.

    After an error of the store or the outbox another is made in its place.
    """

    def __init__(
        self,
        store: Store,
        subscriptions: Subscriptions,
        outbox: Outbox,
        next_change: NextChange,
        *,
        from_start: bool = False,
        patience: float = PATIENCE_S,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store, self._subscriptions, self._outbox = store, subscriptions, outbox
        self._feed = store.identity()
        outbox.begin(self._feed)
        self._next_change, self._patience, self._tell = next_change, patience, tell
        self._failure = ""
        self._ships: dict[int, Seen] = {}
        self._last: dict[int, Change] = {}
        self._waiting: list[int] = []
        self._asked: list[Subscription] = [each for each in subscriptions.wanted if each.within is not None]
        self._looked = 0
        self._position: tuple[int, ...] = (0, 0)  # the newest change and the newest reading that it knows
        self._is_whole, self._began = from_start, from_start

    def step(self) -> int:
        """Queue what is new; return how many alerts."""
        now = max((each.until for each in self._store.progress()), default=0)
        if not now:
            return 0
        number = 0
        if not self._began:
            number = self._begin(now)
        changes, readings, self._position = self._new(*self._position)
        found = [*self._noticed(changes, readings), *self._looks(now), *self._goes_on()]
        return number + self._notice(found) if found else number

    def _new(self, change: int, reading: int) -> tuple[list[Change], list[Seen], tuple[int, int]]:
        """Return what has come since, and the position with it: all, as changes and readings are put into one order.

        Changes are asked for last: those that a reading has made are there with it.
        """
        changes: list[Change] = []
        readings: list[Seen] = []
        while seen := self._store.readings_after(reading):
            readings += [each for _, each in seen]
            reading = seen[-1][0]
        while more := self._store.changes_after(change):
            changes += more
            change = more[-1].id
        return changes, readings, (change, reading)

    def _begin(self, now: int) -> int:
        """Know how things stood where it was; where nothing was told before, how they stand, and tell of it."""
        noted = self._outbox.position(self._feed)
        self._position = change, reading = noted or self._store.newest_ids()
        gone = {str(mmsi): when for mmsi, when in self._store.gone_at(newest=change).items()}
        for seen in self._store.rows_at(newest=reading):
            if seen.time > gone.get(seen.key, seen.time - 1):
                self._read(seen)
        self._last = {each.mmsi: each for each in self._store.ships_at(newest=change)}
        self._looked = (now // LOOK - 1) * LOOK
        self._began = True
        return self._notice(map(self._occasion, self._last.values())) if not noted else 0

    def _notice(self, found: Iterable[Occasion]) -> int:
        return self._outbox.notice(self._subscriptions, found, self._feed, self._position, now=time())

    def _noticed(self, changes: Sequence[Change], readings: Sequence[Seen]) -> Iterator[Occasion]:
        """Yield the occasions of changes and readings, in the order of their times, with looks ahead in between."""
        both: list[tuple[int, int, Any]] = [(each.time, 0, each) for each in readings]
        both += [(each.time, 1, each) for each in changes]
        changing = {(each.mmsi, each.time) for each in changes}
        for when, kind, each in sorted(both, key=lambda one: one[:2]):
            if self._is_whole:
                yield from self._looks(when - 1)  # what happens at an instant has happened when it is looked at
            if kind:
                self._last[each.mmsi] = each
                yield self._occasion(each)
                if each.status == GONE:
                    del self._last[each.mmsi]
                    self._ships.pop(each.mmsi, None)
                    yield self._nothing_ahead(each.mmsi, each.name, when)
            elif self._read(each) and (int(each.key), when) not in changing:
                yield from self._moved(int(each.key), when)

    def _looks(self, until: int) -> Iterator[Occasion]:
        """Look at the forecasts each time that it was time to; of a store that is followed, at the last of them."""
        last = until // LOOK * LOOK
        first = self._looked + LOOK if self._looked and self._is_whole else last
        if self._asked and last > self._looked:
            for self._looked in range(first, last + LOOK, LOOK):
                self._waiting += [mmsi for mmsi in sorted(self._ships) if mmsi not in self._waiting]
                yield from self._goes_on()

    def _goes_on(self) -> Iterator[Occasion]:
        """Look ahead of the ships that are still to be looked at, as long as patience lasts."""
        end = monotonic() + self._patience
        while self._waiting and monotonic() < end:
            mmsi = self._waiting.pop(0)
            report = self._ships.get(mmsi)
            if report is not None:
                yield from self._ahead(mmsi, report)

    def _ahead(self, mmsi: int, report: Seen) -> Iterator[Occasion]:
        last = self._last.get(mmsi)
        here = self._nothing_ahead(mmsi, str(report.row["name"] or ""), self._looked)
        if last is None or not any(each.concerns(here) for each in self._asked):
            return
        try:
            found = self._next_change(report, self._looked)
        except StoreLost:  # the ship is looked at again when it is back
            raise
        except Exception as error:  # whatever it is: nobody would be told of verdicts any more
            self._fails(f"cannot look ahead: {type(error).__name__}: {error}")
            return
        if isinstance(found, Unforeseen):
            self._fails(f"what lies ahead is not told: {found.why}")
            return
        if found is None:
            yield here
            return
        yield Occasion(
            mmsi, here.name, here.time, found.status, found.failing, (),
            (f"{found.rule}: {found.why}",) if found.rule else (), here.place, last.pack,
            moment(found.at), last.status,
        )  # fmt: skip

    def _fails(self, why: str) -> None:
        """Tell why looking ahead fails, once: it is likely to do so for each ship."""
        if why != self._failure:
            self._failure = why
            self._tell(why)

    def _nothing_ahead(self, mmsi: int, name: str, when: int) -> Occasion:
        report = self._ships.get(mmsi)
        place = None if report is None else report.row["destination"]
        return Occasion(mmsi, name, moment(when), "allowed", place=place, nothing_ahead=True)

    def _occasion(self, change: Change) -> Occasion:
        place = None if (report := self._ships.get(change.mmsi)) is None else report.row["destination"]
        place = change.read["berth"][0] if "berth" in change.read else place
        missing = tuple(dict.fromkeys(name for each in change.missing for name in each.what))
        rules = tuple(each.rule for each in change.failed)
        why = tuple(map(_why, change.failed))
        when = moment(change.time)
        return Occasion(change.mmsi, change.name, when, change.status, rules, missing, why, place, change.pack)

    def _moved(self, mmsi: int, when: int) -> Iterator[Occasion]:
        """Yield the verdict of a ship once more, for who asks about her new name or berth: it has not changed."""
        last, ship = self._last.get(mmsi), self._ships[mmsi].row
        if last is not None:
            here = {"name": str(ship["name"] or ""), "time": moment(when), "place": ship["destination"]}
            yield attrs.evolve(self._occasion(last), **here)

    def _read(self, seen: Seen) -> bool:
        """Take note of a reading; return whether it gives a ship another name or berth than before."""
        if seen.source != "vessel":
            return False
        before, self._ships[int(seen.key)] = self._ships.get(int(seen.key)), seen
        return before is not None and any(before.row[each] != seen.row[each] for each in ("name", "destination"))


def _why(failed: Failed) -> str:
    """Say why a requirement fails.

    >>> from examples.port.office.records import Failed
    >>> _why(Failed("clearance", "she must stay afloat", "clearance 42 cm", "50 cm", "-8 cm"))
    'clearance: clearance 42 cm, limit 50 cm, margin -8 cm, because she must stay afloat'
    """
    parts = [failed.value, f"limit {failed.limit}" if failed.limit else ""]
    parts += [f"margin {failed.margin}" if failed.margin else "", f"because {failed.because}" if failed.because else ""]
    return f"{failed.rule}: {', '.join(part for part in parts if part)}"
