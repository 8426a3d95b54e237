"""The pull side: inputs of which something is there already, and results as an async iterator.

What is there is eaten in direct style, as if it had been pushed; then the strands wait for what is pushed later. So a
prefix and later pushes give what pushing all gives. How much was eaten is part of a snapshot.

Source: ICFP 2018, doi:10.1145/3236762, Figure 9 (a reactive is a list whose tail is a future).
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.data.events import Event
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from cartesius.core.engine_core import EngineCore
    from cartesius.language.reactives import Reactive
    from cartesius.programs.doors import At


def value_and_time(item: Any) -> tuple[Any, At]:
    """Return what to push for an item of an iterable, and when: an `Event` brings its own time."""
    if not isinstance(item, Event):
        return item, None
    if item.weight != 1:
        message = (
            f"expected events of weight 1 from a source but got {item!r}; nothing was given that it could take back"
        )
        raise InvalidArgument(message)
    return item.value, (item.start, item.end)


class Prefix:
    """What one input has already: items that were read, but not eaten for good, are kept for another attempt."""

    def __init__(self, reactive: Reactive) -> None:
        self.reactive = reactive
        self.eaten = 0
        self._rest: Iterator[Any] | None = None
        self._read: deque[Any] = deque()
        self._taken = 0  # of those read, in this attempt

    @property
    def is_new(self) -> bool:
        """Whether nothing has been read of it."""
        return self._rest is None

    def take(self) -> list[Any]:
        """Return the next item in a list, or an empty one."""
        if self._taken == len(self._read):
            if self._rest is None:
                self._rest = islice(iter(self.reactive.items), self.eaten, None)  # type: ignore[arg-type]  # `Prefixes` leaves async ones out
            self._read.extend(islice(self._rest, 1))
        if self._taken == len(self._read):
            return []
        self._taken += 1
        return [self._read[self._taken - 1]]

    def settle(self, *, succeeded: bool) -> None:
        """End an attempt: what was taken is eaten, or will be taken again."""
        if succeeded:
            self.eaten += self._taken
            for _ in range(self._taken):
                self._read.popleft()
        self._taken = 0


class Prefixes:
    """What the inputs of one engine have already."""

    def __init__(self, inputs: Mapping[str, Reactive], before: Prefixes | None = None) -> None:
        known = {} if before is None else before.of
        self.of: dict[str, Prefix] = {
            name: known.get(name) or Prefix(reactive)
            for name, reactive in inputs.items()
            if reactive.items is not None and not isinstance(reactive.items, AsyncIterable)
        }

    def __iter__(self) -> Iterator[tuple[Reactive, Any]]:
        """Iterate over what is not eaten, input by input."""
        for prefix in self.of.values():
            while item := prefix.take():
                yield prefix.reactive, item[0]

    @property
    def has_more(self) -> bool:
        """Whether an input has come of which nothing was eaten yet."""
        return any(prefix.is_new for prefix in self.of.values())

    def settle(self, *, succeeded: bool) -> None:
        """End an attempt to eat."""
        for prefix in self.of.values():
            prefix.settle(succeeded=succeeded)


class _End:
    """That nothing more comes."""


Inbox: TypeAlias = "asyncio.Queue[Event | BaseException | type[_End]]"
"""What an iteration is still to be told."""
Iteration: TypeAlias = "tuple[asyncio.AbstractEventLoop, Inbox, Mapping[Reactive, AsyncIterable[Any]]]"
"""Where it is at work, what it is still to be told, and what it was given to feed."""


def listen(
    engine: EngineCore, sources: Mapping[Reactive, AsyncIterable[Any]], listeners: list[Callable[[list[Event]], None]]
) -> AsyncIterator[Event]:
    """Hear what ``engine`` emits from now on; once iterated over, feed it from ``sources`` as well."""
    inbox: Inbox = asyncio.Queue()
    loops: list[asyncio.AbstractEventLoop] = []  # the one that it is iterated over in, once it is

    def hear(events: list[Event]) -> None:
        if loops and loops[0].is_closed():
            stop_hearing()  # nobody can wait there any more
            return
        for event in events:
            inbox.put_nowait(event)
        if engine.has_finished:
            inbox.put_nowait(_End)

    def stop_hearing() -> None:
        if hear in listeners:
            listeners.remove(hear)

    listeners.append(hear)
    events = _heard(engine, sources, inbox, stop_hearing, loops)
    weakref.finalize(events, stop_hearing).atexit = False  # also if it is never iterated over
    return events


async def _heard(
    engine: EngineCore,
    sources: Mapping[Reactive, AsyncIterable[Any]],
    inbox: Inbox,
    stop_hearing: Callable[[], None],
    loops: list[asyncio.AbstractEventLoop],
) -> AsyncIterator[Event]:
    loop = asyncio.get_running_loop()
    loops.append(loop)
    engine.hearing.append((loop, inbox, sources))
    _begin(engine, sources, inbox)
    try:
        engine.pull()
        while True:
            heard = await inbox.get()
            inbox.task_done()
            if isinstance(heard, BaseException):
                raise heard
            if isinstance(heard, type):
                return
            yield heard
    finally:
        stop_hearing()
        engine.hearing = [one for one in engine.hearing if one[1] is not inbox]
        heirs = [other for where, other, _ in engine.hearing if where is loop]
        for feed in [feed for feed in engine.feeds if feed.inbox is inbox]:
            if heirs and not feed.task.done():
                feed.inbox = heirs[0]
            else:
                engine.feeds.remove(feed)
                feed.task.cancel()
                try:
                    await asyncio.gather(feed.task, return_exceptions=True)
                finally:
                    engine.fed.difference_update(feed.sources)
                    for where, other, theirs in engine.hearing:  # begun meanwhile
                        if where is loop:
                            _begin(engine, {one: items for one, items in theirs.items() if one in feed.sources}, other)
        while not inbox.empty():  # nobody takes these any more, and a source that goes on waits until they are taken
            untold = inbox.get_nowait()
            inbox.task_done()
            if heirs and isinstance(untold, BaseException):
                heirs[0].put_nowait(untold)


def _begin(engine: EngineCore, sources: Mapping[Reactive, AsyncIterable[Any]], inbox: Inbox) -> None:
    """Feed those inputs that nobody feeds."""
    fed = {reactive: items for reactive, items in sources.items() if reactive not in engine.fed}
    if fed:
        engine.fed.update(fed)
        engine.feeds.append(Feed(engine, fed, inbox))


class Feed:
    """What feeds inputs from async iterables, for one iteration, and, once that is left, for another one."""

    def __init__(self, engine: EngineCore, sources: Mapping[Reactive, AsyncIterable[Any]], inbox: Inbox) -> None:
        self.engine, self.sources, self.inbox, self._first = engine, sources, inbox, inbox
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(self._report)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as feeds:
            for reactive, items in self.sources.items():
                feeds.create_task(self._feed(reactive, items))

    async def _feed(self, reactive: Reactive, items: AsyncIterable[Any]) -> None:
        task, engine = asyncio.current_task(), self.engine
        try:
            async for item in items:
                if engine.has_finished:
                    return
                value, at = value_and_time(item)
                engine.push(reactive, value, at)
                await self.inbox.join()  # what it caused is taken before more is read
        except asyncio.CancelledError as error:
            if task is None or task.cancelling():
                raise
            self.inbox.put_nowait(error)  # what the source waits for was cancelled: a group of tasks passes over that
            return
        engine.end(reactive)

    def _report(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if error is not None or self.inbox is self._first:  # an heir goes on with what else it hears
            self.inbox.put_nowait(error or _End)
