"""The feed in this process: a day replayed at so many times real time, judged, and written into the store.

Each step takes the readings up to the clock, judges them, and writes what has changed, with the readings, as one batch
whose number says how many readings have been used. Killed and started again it pushes that many once more, writes
nothing of them, and goes on; the clock goes on from the last batch, as if no time had passed.

Invariant: what is in the store after a batch does not depend on where batches were cut.
"""

from __future__ import annotations

from bisect import bisect_right
from concurrent.futures import Future
from threading import Thread
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Final

from cartesius import Engine, Update
from examples.port.office.links import Links
from examples.port.office.records import GONE, KEYS, Batch, Change, Seen, change_of
from examples.port.office.rule_lists import noted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event

    from dsl import RulePack
    from examples.port.input_files import Values
    from examples.port.inputs import Day, Reading
    from examples.port.office.store import Store

FEED: Final = "replay"
STEP_S: Final = 0.25
"""Between two batches, in seconds of real time."""
ONE_DAY: Final = 24 * 3_600_000_000


class Replay:
    """A day that is replayed.

    Args:
        day: The readings.
        pack: The rules.
        store: Where what is judged goes.
        begin: At which time of the day the clock starts where the store is empty, in microseconds since the epoch; all
            before that is judged at once.
        speed: How many times real time.
        clock: Real time in seconds, from any moment on.
    """

    def __init__(
        self,
        day: Day,
        pack: RulePack,
        store: Store,
        *,
        begin: int,
        speed: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.day, self.pack, self.store, self.speed = day, pack, store, speed
        self._clock = clock
        self._engine, self._inputs = Engine(pack.table()), pack.sources
        self._links = Links(day)
        self._seen: dict[tuple[str, str], int] = {}  # when each row was read last
        self._ships: dict[int, Values] = {}
        noted_pack = noted(pack, day.start, time_ns() // 1000, "replay")
        self._version = noted_pack.version
        self._times = [each.time or day.start for each in day.readings]
        self._done = 0
        before = [each for each in store.progress() if each.feed == FEED]
        self._now = before[0].until if before else begin
        if before:
            for reading in day.readings[: before[0].number]:
                self._judge(reading)
            self._done = before[0].number
        else:
            store.note(start=day.start, end=day.start + ONE_DAY, speed=speed)
            store.add_pack(noted_pack)
        self._origin = self._clock() - (self._now - day.start) / 1e6 / speed

    @property
    def is_over(self) -> bool:
        """Whether the day is."""
        return self._now >= self.day.start + ONE_DAY

    def step(self) -> Batch | None:
        """Judge and write what has come since the last step; return it, None where the day is over."""
        if self.is_over:
            return None
        passed = round((self._clock() - self._origin) * self.speed * 1e6)
        self._now = min(max(self._now, self.day.start + passed), self.day.start + ONE_DAY)
        end = bisect_right(self._times, self._now)
        changes: list[Change] = []
        seen = []
        for reading in self.day.readings[self._done : end]:
            seen.append(seen_of(reading))
            changes += self._judge(reading)
        self._done = end
        batch = Batch(FEED, end, self._now, changes, seen)
        self.store.apply(batch)
        return batch

    def run(self, stop: Event) -> None:
        """Step until the day is over, or ``stop`` is set."""
        while self.step() is not None and not stop.wait(STEP_S):
            pass

    def _judge(self, reading: Reading) -> list[Change]:
        self._seen[reading.source, str(reading.values[KEYS[reading.source]])] = reading.time or self.day.start
        if reading.source == "vessel":
            self._ships[reading.values["mmsi"]] = reading.values
        if reading.source not in self._inputs:
            return []
        found = []
        for event in self._engine.push(self._inputs[reading.source], reading.values, at=reading.time):
            time, mmsi = int(event.end), int(event.value.key)
            ship = self._ships[mmsi]
            if isinstance(event.value, Update):
                found.append(change_of(time, ship["name"], event.value.value, self._version, self._read(mmsi)))
            else:
                found.append(Change(time, mmsi, ship["name"], GONE, pack=self._version))
        return found

    def _read(self, mmsi: int) -> dict[str, tuple[str, int]]:
        """By source, the key of the row that a ship's verdict reads, and the time of its reading."""
        keys = {"vessel": str(mmsi), **self._links.keys(self._ships[mmsi])}
        return {source: (key, self._seen[source, key]) for source, key in keys.items() if (source, key) in self._seen}


def start_replay(make: Callable[[], Replay], stop: Event) -> None:
    """Replay in a thread of its own, until ``stop`` is set; return after the first step, or raise what that raises.

    Args:
        make: Makes the replay, in that thread, as its engine is that of one thread.
        stop: Ends it.
    """
    first: Future[None] = Future()

    def run() -> None:
        try:
            replay = make()
            replay.step()
        except BaseException as error:
            first.set_exception(error)
            return
        first.set_result(None)
        replay.run(stop)

    Thread(target=run, name="replay", daemon=True).start()
    first.result()


def seen_of(reading: Reading) -> Seen:
    """Return a reading as the store keeps it."""
    key = str(reading.values[KEYS[reading.source]])
    return Seen(reading.source, key, reading.time or 0, reading.values)
