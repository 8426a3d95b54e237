"""The pull side: inputs of which something is there already, and results as an async iterator.

What is there is eaten in direct style, as if it had been pushed; then the strands wait for what is pushed later. So a
prefix and later pushes give what pushing all gives. How much was eaten is part of a snapshot.

Source: ICFP 2018, doi:10.1145/3236762, Figure 9 (a reactive is a list whose tail is a future).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from cartesius.engine import Engine
    from cartesius.events import Event
    from cartesius.reactives import Reactive


class Prefixes:
    """What the inputs of one engine have already, and how much of it is eaten."""

    def __init__(self, inputs: Mapping[str, Reactive]) -> None:
        self._names = {
            reactive: name
            for name, reactive in inputs.items()
            if reactive.items is not None and not isinstance(reactive.items, AsyncIterable)
        }
        self._rests: dict[Reactive, Iterator[Any]] = {}
        self._next: dict[Reactive, list[Any]] = {}  # an item that was seen but not eaten, as it was refused
        self._eaten: dict[str, int] = dict.fromkeys(self._names.values(), 0)

    def __iter__(self) -> Iterator[tuple[Reactive, Any]]:
        """Iterate over what is not eaten, input by input; each item comes again until it is reported as `eaten`."""
        for reactive, name in list(self._names.items()):
            if reactive not in self._rests:
                self._rests[reactive] = islice(iter(reactive.items), self._eaten[name], None)  # type: ignore[arg-type]
            while True:
                pending = self._next.setdefault(reactive, list(islice(self._rests[reactive], 1)))
                if not pending:
                    break
                yield reactive, pending[0]
            del self._names[reactive]  # all is eaten

    def eaten(self, reactive: Reactive) -> None:
        """Report that the item that came last has been eaten."""
        del self._next[reactive]
        self._eaten[self._names[reactive]] += 1

    def counts(self) -> dict[str, int]:
        """Return how many items of each input are eaten."""
        return dict(self._eaten)

    def skip(self, counts: Mapping[str, int]) -> None:
        """Start behind what was eaten before."""
        self._eaten.update(counts)


class _End:
    """That nothing more comes."""


async def listen(
    engine: Engine,
    sources: Mapping[Reactive, AsyncIterable[Any]],
    listeners: list[Callable[[list[Event]], None]],
) -> AsyncIterator[Event]:
    """Feed ``sources`` into ``engine`` and yield what it emits, until it is done or all of them have ended."""
    inbox: asyncio.Queue[Event | BaseException | type[_End]] = asyncio.Queue()

    def hear(events: list[Event]) -> None:
        for event in events:
            inbox.put_nowait(event)
        if engine.done:
            inbox.put_nowait(_End)

    async def feed(reactive: Reactive, items: AsyncIterable[Any]) -> None:
        try:
            async for item in items:
                if engine.done:
                    return
                engine.push(reactive, item)
                await inbox.join()  # what it caused is taken before more is read
            engine.end(reactive)
        except Exception as error:
            inbox.put_nowait(error)

    async def feed_all() -> None:
        await asyncio.gather(*(feed(reactive, items) for reactive, items in sources.items()))
        inbox.put_nowait(_End)

    listeners.append(hear)
    feeding = asyncio.create_task(feed_all()) if sources else None
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
        listeners.remove(hear)
        if feeding is not None:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
