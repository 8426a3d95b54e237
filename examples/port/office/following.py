"""The office as it is now, kept up to date from the store, for the page and for its stream.

One thread follows the store: what was committed is read, the parts of the page that it changes are made anew, once for
all readers, and each gets the next number. A reader has the number of the last part that it saw, and is given what has
a greater one. So a part that changes often waits for nobody, and a reader that is slow sees fewer of its states; what
is kept is one state of each part, however many readers there are and however slow.

Every second the clock is told, also where nothing changes: a page that hears nothing for longer is cut off. While the
store cannot be read the clock says so, and why; what was committed meanwhile is read when it is there again.
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from threading import Event, RLock
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from cartesius.pages.local_pages import Told
from examples.port.office.databases import StoreLost
from examples.port.office.figures import Figures
from examples.port.office.records import GONE
from examples.port.office.threads import at_work
from examples.port.office.views import Ship, iso, pack_view, ship_view, source_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from cartesius.pages.local_pages import Json
    from examples.port.inputs import Day
    from examples.port.office.foreseen import Next, Unforeseen
    from examples.port.office.records import Change, Failed, Pack, Seen
    from examples.port.office.store import Store

BEAT_S: Final = 1.0
QUIET_S: Final = 15.0
"""After how many seconds without a batch the feed counts as stopped."""
_AT_ONCE: Final = 256
"""How many events a reader is sent at once."""


class Following:
    """The office as it is now: a `Live` of the page.

    Args:
        store: What is followed.
        day: Says which rows count for a ship.
        wall: Wall time in microseconds since the epoch.
    """

    def __init__(self, store: Store, day: Day, wall: Callable[[], int] = lambda: time_ns() // 1000) -> None:
        self._store, self._figures, self._wall = store, Figures(day), wall
        self._lock = RLock()
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._told: dict[tuple[str, object], tuple[int, Told]] = {}
        """The newest state of each part, in the order of their numbers."""
        self._wakes: list[Callable[[], object]] = []
        self._ids = (0, 0)
        self._facts: dict[str, Any] = {}
        self._packs: list[Pack] = []
        self._ruled: tuple[int, Json | None] = (0, None)
        """The newest pack, and what was refused since."""
        self.now: int | None = None
        self._written: int | None = None
        self._lost: str | None = None
        """Why the store cannot be read now."""
        self._new: tuple[set[int], set[tuple[str, str]]] = set(), set()
        """The ships and the rows of which there is news that has not been told yet."""
        self._reports: dict[int, Seen] = {}
        self._verdicts: dict[int, tuple[Change, int]] = {}
        self._gone: dict[int, int] = {}
        """When each ship went that is not there now: what she reported until then is not hers any more."""
        self._failed: dict[int, tuple[Failed, ...]] = {}
        self._next: dict[int, Next | Unforeseen | None] = {}
        self._last: dict[str, int] = {}
        self._rows: dict[tuple[str, str], Seen] = {}
        self.look()

    # --------------------------------------------------------------------------------------------- what it is now

    def look(self) -> bool:
        """Read what is new in the store; return whether there is something to tell."""
        ships, read = self._new
        number, before = self._number, self.now
        while True:
            # Changes first: a report that comes between the two is a report of what is judged with it or later.
            changes = self._store.changes_after(self._ids[0])
            readings = self._store.readings_after(self._ids[1])
            if not changes and not readings:
                break
            with self._lock:
                for change in changes:
                    ships.add(change.mmsi)
                    self._add(change)
                for _, seen in readings:
                    read.add((seen.source, seen.key))
                    self._read(seen, ships)
                ids = changes[-1].id if changes else self._ids[0], readings[-1][0] if readings else self._ids[1]
                self._ids = ids
        progress = self._store.progress()
        ruled = self._store.newest_pack(), self._store.refused()
        packs = self._packs if ruled == self._ruled else self._store.packs()
        with self._lock:
            self._facts = self._facts or self._store.facts()
            self.now = max((each.until for each in progress), default=None)
            self._written = max((each.written for each in progress), default=None)
            if ruled[0] != self._ruled[0]:  # what was foreseen was so by the rules before
                ships |= self._next.keys()
                self._next.clear()
            is_ruled_anew, self._ruled, self._packs = ruled != self._ruled, ruled, packs
            has_passed = self.now != before
            told_of = [] if not packs else [mmsi for mmsi in self._failed if mmsi in self._reports]
            touched = [
                mmsi
                for mmsi in told_of
                if is_ruled_anew or self._figures.reads(self._reports[mmsi], read, packs[-1], has_passed=has_passed)
            ]
            for mmsi in sorted({*ships, *touched}):
                if self._judge(mmsi) or mmsi in ships:
                    self._tell_ship(mmsi)
            for source in sorted({source for source, _ in read}):
                self._tell("source", source, source_view(source, self._last[source], self.now or 0))
            if is_ruled_anew:
                self._tell("pack", "", {**pack_view(packs, self.now or 0)[1], "refused": self.refusal()})
            self._new = set(), set()
            return self._number != number

    def _judge(self, mmsi: int) -> bool:
        """Judge anew what fails of a ship; return whether it is anything else than before."""
        change, _ = self._verdicts.get(mmsi, (None, None))
        pack = self._packs[-1] if self._packs else None
        before = self._failed.pop(mmsi, ())
        if failed := self._figures.failed(change, self._rows, pack, self.now or 0):
            self._failed[mmsi] = failed
        return failed != before

    def _add(self, change: Change) -> None:
        before, mmsi = self._verdicts.get(change.mmsi), change.mmsi
        if change.time < (self._gone.get(mmsi, change.time) if before is None else before[0].time):
            return
        if change.status == GONE:
            self._gone[mmsi] = change.time
            self._verdicts.pop(mmsi, None)
            self._next.pop(mmsi, None)
            if mmsi in self._reports and self._reports[mmsi].time <= change.time:
                del self._reports[mmsi], self._rows["vessel", str(mmsi)]
        else:
            self._gone.pop(mmsi, None)
            same = before is not None and before[0].status == change.status
            self._verdicts[mmsi] = change, before[1] if before is not None and same else change.time

    def _read(self, seen: Seen, ships: set[int]) -> None:
        self._last[seen.source] = max(seen.time, self._last.get(seen.source, seen.time))
        held, is_ship = self._rows.get((seen.source, seen.key)), seen.source == "vessel"
        # Changes are read before readings, a thousand at a time: a ship may be known to have gone since her report.
        has_gone = is_ship and seen.time <= self._gone.get(int(seen.key), seen.time - 1)
        if has_gone or (held is not None and held.time > seen.time):
            return
        self._rows[seen.source, seen.key] = seen
        if is_ship:
            self._reports[int(seen.key)] = seen
            ships.add(int(seen.key))

    def clock(self) -> Json:
        """Return the clock: how late it is, and whether the feed is at work."""
        quiet = None if self._written is None else max(0.0, (self._wall() - self._written) / 1e6)
        start, end = self._facts.get("start"), self._facts.get("end")
        over = self.now is not None and end is not None and self.now >= end
        return {
            "now": None if self.now is None else iso(self.now),
            "live": quiet is not None and quiet <= QUIET_S and not over and self._lost is None,
            "lost": self._lost,
            "start": None if start is None else iso(start),
            "end": None if end is None else iso(end),
            "speed": self._facts.get("speed"),
            "quiet_s": None if quiet is None else round(quiet, 1),
        }

    def seen(self) -> tuple[str, int, list[Ship], list[Seen], list[Json], dict[int, Next | Unforeseen | None]]:
        """Return the last event's id, the time, ships, the rows of all sources, these, and what is foreseen."""
        with self._lock:
            ships = [self._ship(mmsi) for mmsi in sorted(self._reports.keys() | self._verdicts.keys())]
            now = self.now or 0
            sources = [source_view(each, last, now) for each, last in sorted(self._last.items())]
            return self._id(self._number), now, ships, list(self._rows.values()), sources, dict(self._next)

    def reports(self) -> dict[int, Seen]:
        """Return the last report of each ship."""
        with self._lock:
            return dict(self._reports)

    def packs(self) -> list[Pack]:
        """Return the versions of the rules."""
        with self._lock:
            return self._packs

    def refusal(self) -> Json | None:
        """Return why the rules that were wanted last are not in force, by whom and when; None: they are."""
        with self._lock:
            told = self._ruled[1]
        return None if told is None else {**told, "changed": iso(told["changed"])}

    def foresee(self, mmsi: int, following: Next | Unforeseen | None, pack: Pack) -> None:
        """Take note of the next change of a ship's verdict by some rules, and tell it if it is another than before.

        That there is none is told with the ship's next news: a page asks anew of the ship that it shows.
        """
        with self._lock:
            if mmsi not in self._reports or pack.version != self._packs[-1].version:
                return
            news = self._next.get(mmsi) != following
            self._next[mmsi] = following
            if news:
                self._tell_ship(mmsi)
                self._wake()

    def _ship(self, mmsi: int) -> Ship:
        change, since = self._verdicts.get(mmsi, (None, None))
        return Ship(self._reports.get(mmsi), change, since, self._failed.get(mmsi, ()))

    # ------------------------------------------------------------------------------------------------- the stream

    def _tell_ship(self, mmsi: int) -> None:
        if mmsi in self._reports or mmsi in self._verdicts:
            self._told.pop(("gone", mmsi), None)
            view = ship_view(self._ship(mmsi), self.now or 0, self._next.get(mmsi), mmsi in self._next)
            self._tell("ship", mmsi, view)
        else:
            self._told.pop(("ship", mmsi), None)
            self._tell("gone", mmsi, {"mmsi": mmsi})

    def _tell(self, event: str, key: object, data: Json) -> None:
        self._number += 1
        self._told.pop((event, key), None)  # so that the newest stands last
        told = Told(self._id(self._number), event, json.dumps(data, separators=(",", ":")))
        self._told[event, key] = self._number, told

    def _id(self, number: int) -> str:
        return f"{self._boot}-{number}"

    def after(self, last: str | None) -> list[Told]:
        """Return what has come after an event, in order; all there is for an id that is of no event of this process."""
        boot, _, number = (last or "").partition("-")
        seen = int(number) if boot == self._boot and number.isdecimal() else 0
        found = []
        with self._lock:
            for each, told in reversed(self._told.values()):
                if each <= seen:
                    break
                found.append(told)
        return found[::-1][:_AT_ONCE]

    @contextmanager
    def waking(self, wake: Callable[[], object]) -> Iterator[None]:
        """Have ``wake`` called when there is more, until the context ends."""
        with self._lock:
            self._wakes.append(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakes.remove(wake)

    def _wake(self) -> None:
        with self._lock:
            wakes = list(self._wakes)
            for wake in wakes:
                wake()

    def beat(self) -> None:
        """Tell the clock."""
        with self._lock:
            self._tell("clock", "", self.clock())
        self._wake()

    def run(self, stop: Event) -> None:
        """Follow the store until ``stop`` is set."""
        beat = 0
        while not stop.is_set():
            try:
                if self.look():
                    self._wake()
                self._lost = None
                self._store.wait(max(0.0, (beat - self._wall()) / 1e6))
            except StoreLost as error:
                self._lost = str(error)
                stop.wait(BEAT_S)
            if self._wall() >= beat:
                self.beat()
                beat = self._wall() + int(BEAT_S * 1e6)

    def start(self, stop: Event) -> Future[None]:
        """Follow the store in a thread of its own, until ``stop`` is set; return how it ends."""
        return at_work("following", lambda: self.run(stop), stop)
