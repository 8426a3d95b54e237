"""The questions of the page: the whole office, or one ship, now or at any moment before."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from cartesius.errors import CartesiusError
from cartesius.pages.local_pages import Page
from examples.port.clearances import clearance_points
from examples.port.office.figures import Figures, in_force, newest
from examples.port.office.foreseen import Next, Unforeseen
from examples.port.office.threads import at_work
from examples.port.office.views import (
    Ship,
    berth_views,
    change_view,
    iso,
    microseconds_of,
    next_view,
    pack_view,
    rule_views,
    ship_view,
    source_view,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from threading import Event

    from cartesius.pages.local_pages import Json
    from examples.port.inputs import Day
    from examples.port.office.following import Following
    from examples.port.office.foreseen import Foresight
    from examples.port.office.records import Pack, Seen
    from examples.port.office.store import Store

FOLDER: Final = Path(__file__).resolve().parent / "page"
SHARE: Final = 0.1
"""Of the time of one core, how much looking ahead takes at most, while it goes on."""


class NotUnderstood(CartesiusError, ValueError):
    """A question has no meaning: a time that is none or has not come, or a ship that nobody knows."""


class Board:
    """Answers the page.

    Args:
        store: What was.
        following: What is.
        day: The predictions.
        foresight: What they foresee.
    """

    def __init__(self, store: Store, following: Following, day: Day, foresight: Foresight) -> None:
        self._store, self._following, self._day, self._foresight = store, following, day, foresight
        self._figures = Figures(day)

    def board(self, asked: Json) -> Json:
        """Answer ``{at: null | time}`` with all that the page shows."""
        at = _moment(asked, self._following.now)
        clock = self._following.clock()
        if at is None:
            last, now, ships, rows, sources, ahead = self._following.seen()
            views = [ship_view(each, now, ahead.get(each.mmsi), each.mmsi in ahead) for each in ships]
        else:
            last, now = None, at
            clock = {**clock, "now": iso(at), "live": False}
            rows = self._store.rows_at(at)
            latest: dict[str, int] = {}
            for each in rows:
                latest[each.source] = max(each.time, latest.get(each.source, each.time))
            sources = [source_view(each, time, now) for each, time in sorted(latest.items())]
            views = [self._viewed(each, now) for each in self._ships(rows, at)]
        pack, packs = pack_view(self._following.packs(), now)
        packs["refused"] = self._following.refusal() if at is None else None
        berths = [each for each in rows if each.source == "berth"]
        return {
            "last": last, "clock": clock, "pack": packs, "sources": sources, "ships": views,
            "rules": rule_views(pack, views), "berths": berth_views(berths, views),
        }  # fmt: skip

    def ship(self, asked: Json) -> Json:
        """Answer ``{mmsi, at}`` with what is known of a ship: her verdicts so far, and what is ahead of her."""
        at, mmsi = _moment(asked, self._following.now), asked.get("mmsi")
        if not isinstance(mmsi, int) or not 0 <= mmsi < 10**9:
            message = f"ship: expected an MMSI, a whole number of at most nine digits, but got {mmsi!r:.99}"
            raise NotUnderstood(message)
        now = (self._following.now or self._day.start) if at is None else at
        changes = self._store.changes_of(mmsi, now)
        seen = self._store.rows_at(now)
        found = [each for each in self._ships(seen, now) if each.mmsi == mmsi]
        if not found:
            message = f"ship: expected one that is known at {iso(now)} but got {mmsi}; ask `board` for those that are"
            raise NotUnderstood(message)
        report, pack = found[0].report, in_force(self._following.packs(), now)
        following = None if report is None or pack is None else self._foresight.next_change(report, now, pack)
        return {
            "ship": ship_view(found[0], now, following, pack is not None),
            "changes": [change_view(each) for each in changes],
            "day": None if report is None or pack is None else self._day_of(report, seen, now, pack),
            "next": next_view(following),
        }

    def _ships(self, seen: Sequence[Seen], at: int) -> list[Ship]:
        reports = {int(each.key): each for each in seen if each.source == "vessel"}
        rows, pack = newest(seen), in_force(self._following.packs(), at)
        changes = {each.mmsi: each for each in self._store.ships_at(at)}
        since = self._store.all_since(at)
        return [
            Ship(
                reports.get(mmsi), changes.get(mmsi), since.get(mmsi),
                self._figures.failed(changes.get(mmsi), rows, pack, at),
            )
            for mmsi in sorted(reports.keys() | changes.keys())
            if since.get(mmsi) is None or mmsi in changes  # one who is gone has a report, and a last change
        ]  # fmt: skip

    def _viewed(self, ship: Ship, now: int) -> Json:
        pack = in_force(self._following.packs(), now)
        if ship.report is None or pack is None or not self._foresight.has(ship.report, pack):
            return ship_view(ship, now, None, False)
        return ship_view(ship, now, self._foresight.next_change(ship.report, now, pack), True)

    def _day_of(self, report: Seen, seen: Sequence[Seen], now: int, pack: Pack) -> Json | None:
        """The day's clearance of a ship at her berth, its limit, and when she is allowed: all by the rules in force."""
        ship, rows = report.row, newest(seen)
        berth, gauge = rows.get(("berth", ship["destination"])), self._figures.gauge(ship, pack)
        if berth is None or gauge is None or not ship["draught"]:
            return None
        points = clearance_points(self._day, berth.row, ship["draught"], gauge)
        if not points:
            return None
        limit = self._figures.limit(report, rows, pack, now)
        windows = self._foresight.windows(report, now, pack)
        last = points[-1][0]
        return {
            "berth": berth.key,
            "times": [iso(time) for time, _ in points],
            "clearance": [round(metres, 3) for _, metres in points],
            "limit": None if limit is None else round(limit, 3),
            "windows": None if isinstance(windows, Unforeseen) else [
                [iso(start), iso(min(end, last))] for start, end in windows if start < last
            ],
        }  # fmt: skip

    def look_ahead(self, stop: Event) -> None:
        """Look ahead for each ship whose last report is another than before, or whose time has come, until ``stop``."""
        looked: dict[int, tuple[Seen, int | None]] = {}
        changed = 0
        while not stop.wait(0.5):
            now, packs = self._following.now, self._following.packs()
            if now is None or not packs:
                continue
            if len(packs) != changed:
                changed = len(packs)
                looked.clear()
            for mmsi, report in self._following.reports().items():
                before, until = looked.get(mmsi, (None, None))
                if before == report and (until is None or now < until):
                    continue
                if self._following.packs() is not packs:
                    break
                begun = monotonic()
                following = self._foresight.next_change(report, now, packs[-1])
                looked[mmsi] = report, following.at if isinstance(following, Next) else None
                self._following.foresee(mmsi, following, packs[-1])
                if stop.wait((monotonic() - begun) * (1 / SHARE - 1)):
                    return

    def start(self, stop: Event) -> Future[None]:
        """Look ahead in a thread of its own, until ``stop`` is set; return how it ends."""
        return at_work("looking ahead", lambda: self.look_ahead(stop), stop)


def _moment(asked: Json, now: int | None) -> int | None:
    at = asked.get("at")
    if at is None:
        return None
    try:
        found = microseconds_of(str(at))
    except (ValueError, OverflowError):
        message = f"at: expected a time in ISO 8601, such as 2020-06-30T05:30:00Z, but got {at!r}"
        raise NotUnderstood(message) from None
    if now is None or found > now:
        has_come = "nothing has been judged yet" if now is None else f"it is {iso(now)}"
        message = f"at: expected a moment that has come but got {at!r}, and {has_come}; what will be is in `next`"
        raise NotUnderstood(message)
    return found


def page_of(board: Board, following: Following) -> Page:
    """Return the page that shows an office, served to this machine alone, or to those who have its token."""
    scripts = tuple(sorted(path.name for path in FOLDER.glob("*.js")))
    answers = {"board": board.board, "ship": board.ship}
    return Page(FOLDER, "the board", answers, {NotUnderstood: 400}, scripts, following)
