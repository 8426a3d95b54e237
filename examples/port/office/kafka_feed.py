"""The feed from Kafka: a topic of readings a source, judged in this process, and written into the store.

The topics are those that ``make run-kafka`` fills: JSON objects with the fields of a source and ``at``, in order of
time. Readings are used in the order of (time, source, offset): one is used when every topic has gone beyond its time,
so the slowest topic is the clock, and how fast which is read makes no difference. So the number of readings used says
where the feed is. Killed and started again it reads the topics from their beginning, writes nothing up to that number,
and goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import click

from cartesius import Delete
from dsl import RulePack
from dsl.alerts.messages import plain
from examples.port.cells import moment
from examples.port.derive import available
from examples.port.geography import on_earth
from examples.port.inputs import SOURCES, Reading
from examples.port.office.judging import Judging, seen_of
from examples.port.office.proposals import TopicProposals, none_proposed
from examples.port.office.records import KEYS, Batch, Change
from examples.port.office.replay import ONE_DAY
from examples.port.office.threads import at_work
from examples.port.slices import TIME, fields_of, misfit

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Mapping
    from concurrent.futures import Future
    from threading import Event

    from examples.port.inputs import Day
    from examples.port.office.proposals import Proposals
    from examples.port.office.store import Store

STEP_S: Final = 0.1
"""Between two batches, in seconds of real time."""
FEED: Final = "kafka"


class KafkaFeed:
    """Readings of several topics, put into the order of time, judged and written.

    Args:
        store: Where what is judged goes.
        day: The day, and the places of berths, gauges and stations; not its readings.
        pack: The rules of a new store.
        proposals: Which rules are wanted in force; by default those that the store has.

    Raises:
        UnusableStore: Another feed writes into the store.
    """

    def __init__(self, store: Store, day: Day, pack: RulePack, proposals: Proposals = none_proposed) -> None:
        self._store, self._day = store, day
        before = store.begin(FEED, pack, start=day.start, end=day.start + ONE_DAY)
        self._judging = Judging(day, store, proposals)
        self.sources: list[str] = [source for source in SOURCES if source in self._judging.sources]
        self._written, self._until = (0, day.start) if before is None else (before.number, before.until)
        self._used = 0
        self._waiting: dict[str, deque[Reading]] = {source: deque() for source in self.sources}
        self._newest: dict[str, int] = {}

    def take(self, source: str, time: int, row: Any) -> None:
        """Take a record of a topic: it waits until the others have gone beyond its time. One that is none is told."""
        self._newest[source] = max(time, self._newest.get(source, time))
        if not self._day.start <= time < self._day.start + ONE_DAY:
            return
        if why := misfit(source, row, KEYS[source]):
            click.echo(f"board: a record of {source} at {moment(time):%Y-%m-%d %H:%M:%S} UTC: {plain(why)}", err=True)
            return
        values = {name: row.get(name) for name in fields_of(source)}  # what is null is left out of a record
        if values.get("position") is not None:
            values["position"] = on_earth(*values["position"])
        self._waiting[source].append(Reading(source, time, 0, available(values) if source == "vessel" else values))

    def step(self) -> None:
        """Judge what waits for nothing any more, and write it."""
        if len(self._newest) < len(self.sources):
            return
        clock = min(self._newest.values())
        changes: list[Change] = []
        readings = []
        while (first := self._first()) is not None and (first.time or 0) < clock:
            self._waiting[first.source].popleft()
            found = self._judging.use(first)
            self._used += 1
            if self._used > self._written:
                readings.append(seen_of(first))
                changes += found
        self._until = max(self._until, min(clock, self._day.start + ONE_DAY))
        if self._used >= self._written:
            self._store.apply(Batch(FEED, self._used, self._until, changes, readings))
            self._written = self._used
            self._judging.look(self._until)

    def _first(self) -> Reading | None:
        """The first reading that waits, by time and source."""
        heads = [waiting[0] for waiting in self._waiting.values() if waiting]
        return min(heads, key=lambda each: (each.time or 0, self.sources.index(each.source)), default=None)


async def follow(
    feed: KafkaFeed,
    topics: Mapping[str, AsyncIterable[Any]],
    stop: Event,
    rules: tuple[TopicProposals, AsyncIterable[Any]] | None = None,
) -> None:
    """Feed a store from topics until all have ended, or ``stop`` is set.

    Args:
        feed: What uses them.
        topics: The topic of each source.
        stop: Ends it.
        rules: The proposals of the feed, and the topic that they come in, which need not end.
    """

    async def read(source: str) -> None:
        async for item in topics[source]:
            if not isinstance(item, Delete):  # before any row there is nothing to delete
                feed.take(source, item.end, item.value)
            if stop.is_set():
                return

    async def read_rules(proposals: TopicProposals, topic: AsyncIterable[Any]) -> None:
        async for item in topic:
            proposals.take(item.value)

    reading = [asyncio.ensure_future(read(source)) for source in feed.sources]
    ruling = [] if rules is None else [asyncio.ensure_future(read_rules(*rules))]
    try:
        while not stop.is_set():
            done, pending = await asyncio.wait(reading, timeout=STEP_S)
            for each in (*done, *(each for each in ruling if each.done())):
                each.result()
            feed.step()
            if not pending:
                return
    finally:
        for each in (*reading, *ruling):
            each.cancel()
        await asyncio.gather(*reading, *ruling, return_exceptions=True)


def start_kafka(
    servers: str, run: str, store: Store, day: Day, pack: RulePack, stop: Event, *, rules: str | None = None
) -> Future[None]:
    """Feed a store from the topics ``run.source``, in a thread of its own, until ``stop`` is set; return how it ends.

    If it fails, it sets ``stop``. With ``rules``, the name of a topic of one partition, the rules change as its records
    say (`TopicProposals`).

    Raises:
        NotInstalled: There is no confluent-kafka.
    """
    from cartesius.connectors.kafka import KafkaSource  # noqa: PLC0415 - only where it is wanted

    def feed_store() -> None:
        proposals = TopicProposals(store.facts().get("proposals", 0))
        in_force = store.packs() if rules is not None else ()
        first = RulePack.from_text(in_force[-1].text) if in_force else pack
        feed = KafkaFeed(store, day, first, proposals)
        topics = {source: KafkaSource(servers, f"{run}.{source}", at=TIME) for source in feed.sources}
        asyncio.run(follow(feed, topics, stop, None if rules is None else (proposals, KafkaSource(servers, rules))))

    return at_work("kafka", feed_store, stop)
