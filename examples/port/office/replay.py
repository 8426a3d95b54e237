"""The feed in this process: a day replayed at so many times real time, judged, and written into the store.

Each step takes the readings up to the clock, judges them, and writes what has changed, with the readings, as one batch
whose number says how many readings have been used. Killed and started again it judges that many once more, writes
nothing of them, and goes on; the clock goes on from the last batch, as if no time had passed.

Invariant: what is in the store of the day up to a moment does not depend on where batches were cut.
"""

from __future__ import annotations

from bisect import bisect_right
from concurrent.futures import Future
from time import monotonic
from typing import TYPE_CHECKING, Final

from examples.port.office.judging import Judging, seen_of
from examples.port.office.proposals import none_proposed
from examples.port.office.records import Batch, Change
from examples.port.office.threads import at_work

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from dsl import RulePack
    from examples.port.inputs import Day
    from examples.port.office.proposals import Proposals
    from examples.port.office.store import Store

FEED: Final = "replay"
STEP_S: Final = 0.25
"""Between two batches, in seconds of real time."""
ONE_DAY: Final = 24 * 3_600_000_000
"""Microseconds."""


class Replay:
    """A day that is replayed.

    Args:
        day: The readings.
        pack: The rules of a new store.
        store: Where what is judged goes.
        begin: At which time of the day the clock starts where the store is empty, in microseconds since the epoch; all
            before that is judged at once.
        speed: How many times real time.
        clock: Real time in seconds, from any moment on.
        proposals: Which rules are wanted in force; by default those that the store has.

    Raises:
        UnusableStore: Another feed writes into the store.
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
        proposals: Proposals = none_proposed,
    ) -> None:
        self._day, self._store, self._speed, self._clock = day, store, speed, clock
        self._times = [each.time or day.start for each in day.readings]
        before = store.begin(FEED, pack, start=day.start, end=day.start + ONE_DAY, speed=speed)
        self._judging = Judging(day, store, proposals)
        self._has_begun = before is not None
        self._done, self._now = (0, begin) if before is None else (before.number, before.until)
        for reading in day.readings[: self._done]:
            self._judging.use(reading)
        self._origin = self._clock() - (self._now - day.start) / 1e6 / speed

    @property
    def is_over(self) -> bool:
        """Whether the day is."""
        return self._now >= self._day.start + ONE_DAY

    def step(self) -> Batch | None:
        """Judge and write what has come since the last step; return it, None where the day is over."""
        if self._has_begun:  # else all before the beginning is still to be judged
            self._judging.look(self._now)
        if self.is_over:
            return None
        passed = round((self._clock() - self._origin) * self._speed * 1e6)
        self._now = min(max(self._now, self._day.start + passed), self._day.start + ONE_DAY)
        end = bisect_right(self._times, self._now)
        changes: list[Change] = []
        readings = self._day.readings[self._done : end]
        for reading in readings:
            changes += self._judging.use(reading)
        self._done = end
        batch = Batch(FEED, end, self._now, changes, [seen_of(each) for each in readings])
        self._store.apply(batch)
        self._has_begun = True
        return batch

    def run(self, stop: Event) -> None:
        """Step until ``stop`` is set; also when the day is over, as the rules may change."""
        while not stop.wait(STEP_S):
            self.step()


def start_replay(make: Callable[[], Replay], stop: Event) -> Future[None]:
    """Replay in a thread of its own, until ``stop`` is set; return, after the first step, how it ends.

    Args:
        make: Makes the replay, in that thread, as its engine is that of one thread.
        stop: Ends it, and is set where it fails.

    Raises:
        Exception: What the first step raises.
    """
    first: Future[None] = Future()

    def run() -> None:
        try:
            replay = make()
            replay.step()
        except BaseException as error:  # it is raised where it is waited for
            first.set_exception(error)
            raise
        first.set_result(None)
        replay.run(stop)

    ended = at_work("replay", run, stop)
    first.result()
    return ended
