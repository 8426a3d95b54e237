"""A pack at work in this process, for the feeds that judge: a reading goes in, and what it changes comes out.

Which rows a verdict reads is as `observations.links` says: her berth's, and those nearest to it, or to her, of the
places that the rules list: a gauge that is broken may be taken out of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from functools import cached_property, lru_cache
from time import time_ns
from typing import TYPE_CHECKING

import click

from cartesius import Update
from cartesius.errors import CartesiusError
from dsl import InvalidRule, RulePack
from dsl.text.headings import Headings
from dsl.text.parsing import Page
from dsl.versions import RunningRules
from examples.port.geography import distance_km
from examples.port.office.proposals import unfit
from examples.port.office.records import GONE, KEYS, Change, Seen, change_of, noted
from examples.port.programs import rule_pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius import Event
    from examples.port.input_files import Values
    from examples.port.inputs import Day, Reading
    from examples.port.office.proposals import Proposals
    from examples.port.office.store import Store
    from examples.port.places import Position


class Links:
    """The keys of rows.

    Args:
        day: The berths.
    """

    def __init__(self, day: Day) -> None:
        self._berths = {each.values["id"]: each.values["position"] for each in day.readings if each.source == "berth"}

    def keys(self, ship: Values, pack: RulePack) -> dict[str, str]:
        """Return the keys of the rows that count for a ship by some rules, by source, as far as there are some."""
        berth = self._berths.get(ship["destination"])
        keys = {"berth": str(ship["destination"])} if ship["destination"] in self._berths else {}
        for source, places in _places(pack).items():
            here = berth if source == "tide" else ship["position"]
            if here is not None:
                keys[source] = _nearest(places, here)
        return keys


@lru_cache(maxsize=32)
def _places(pack: RulePack) -> Mapping[str, Mapping[str, Position]]:
    """The places that rules list, by source; in the text of a pack they are called after its key: "tide sensor"."""
    found = Headings(Page.parsed(pack.to_text(), pack.name)).places
    return {source: found[title] for source, key in KEYS.items() if (title := f"{source} {key}") in found}


def _nearest(places: Mapping[str, Position], here: Position) -> str:
    return min(places, key=lambda id_: (distance_km(here, places[id_]), id_))


class Judging:
    """A pack at work, and the readings that have been used; the rules may change between two of them.

    The store says which rules were in force when: so a feed that begins anew, and uses the readings again, has them
    again at the same readings.

    Args:
        day: The harbour: about its berths and places rules have to be, whatever those say that were in force before.
        store: Says which rules are in force, and gets those that follow, with the verdicts that they change.
        proposals: Which rules are wanted.
    """

    def __init__(self, day: Day, store: Store, proposals: Proposals) -> None:
        first, *since = store.packs()
        self._day, self._store, self._proposals = day, store, proposals
        self._rules = RunningRules(RulePack.from_text(first.text))
        self._since = deque(since)
        self._used, self._count = Used(Links(day)), 0
        self._held: list[Change] = []

    @cached_property
    def _harbour(self) -> RulePack:
        return rule_pack("port", self._day.berths, self._day.gauges, self._day.stations)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that are used: those of the first rules of the store, whichever are in force."""
        return self._rules.sources

    def use(self, reading: Reading) -> list[Change]:
        """Use a reading, and return the verdicts that it changes, in order."""
        self._change_again()
        self._used.add([reading])
        self._count += 1
        if reading.source not in self.sources:
            return []
        due = [] if reading.time is None else self._rules.advance(reading.time)  # what has grown too old by then
        return self._changes([*due, *self._rules.push(reading.source, reading.values, at=reading.time)])

    def look(self, at: int) -> None:
        """Go on with what is proposed, and write what comes of it; the present rules stay where that cannot be.

        Args:
            at: From when on: all before that is judged.
        """
        self._change_again()
        for each in self._proposals():
            why = each.wrong
            if each.pack is not None and each.pack.version != self._rules.pack.version:
                before = self._rules.pack
                try:
                    changes = self._change(each.pack, at)
                except CartesiusError as error:
                    why = str(error)
                else:
                    pack = noted(each.pack, at, time_ns() // 1000, each.who, number=self._count, before=before)
                    self._store.change_rules(pack, changes, proposal=each.number)
                    continue
            self._store.refuse(why, each.who, proposal=each.number)
            if why:
                click.echo(f"board: the rules go on as they were: {why}", err=True)

    def _change_again(self) -> None:
        """Go on with the rules that were in force after so many readings; what came of that is in the store."""
        while self._since and self._since[0].number <= self._count:
            again = self._since.popleft()
            self._change(RulePack.from_text(again.text), again.at)

    def _change(self, pack: RulePack, at: int) -> list[Change]:
        """Go on with other rules from a time on; return the verdicts that change until then, and by that."""
        self._held = self._changes(self._rules.advance(at))  # if they are refused, it comes with what is used next
        if why := unfit(pack, self._harbour):
            raise InvalidRule(why)
        return self._changes(self._rules.change(pack))

    def _changes(self, events: Iterable[Event]) -> list[Change]:
        found, self._held = self._held, []
        for event in events:
            time, mmsi = int(event.end), int(event.value.key)
            if isinstance(event.value, Update):
                verdict, read = event.value.value, self._used.read(mmsi, time, self._rules.pack)
                found.append(change_of(time, self._used.name(mmsi, time), verdict, read))
            else:
                found.append(Change(time, mmsi, self._used.name(mmsi, time), GONE, pack=self._rules.pack.version))
        return found


class Used:
    """The readings that have been used, to say which of them a verdict read: of one instant, the last that there is.

    Args:
        links: Which rows a verdict reads.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._times: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._ships: defaultdict[int, list[Values]] = defaultdict(list)

    def add(self, readings: Iterable[Reading]) -> None:
        """Take note of readings, in order of time."""
        for each in readings:
            self._times[each.source, str(each.values[KEYS[each.source]])].append(each.time or 0)
            if each.source == "vessel":
                self._ships[each.values["mmsi"]].append(each.values)

    def name(self, mmsi: int, time: int) -> str:
        """Return what a ship was called at a time."""
        return str(self._report(mmsi, time)["name"])

    def read(self, mmsi: int, time: int, pack: RulePack) -> dict[str, tuple[str, int]]:
        """Return, by source, the key of the row that a ship's verdict by a pack read at a time, and that row's time."""
        found = {}
        for source, key in {"vessel": str(mmsi), **self._links.keys(self._report(mmsi, time), pack)}.items():
            times = self._times.get((source, key), [])
            if place := bisect_right(times, time):
                found[source] = key, times[place - 1]
        return found

    def _report(self, mmsi: int, time: int) -> Values:
        return self._ships[mmsi][max(0, bisect_right(self._times["vessel", str(mmsi)], time) - 1)]


def seen_of(reading: Reading) -> Seen:
    """Return a reading as the store keeps it."""
    return Seen(reading.source, str(reading.values[KEYS[reading.source]]), reading.time or 0, reading.values)
