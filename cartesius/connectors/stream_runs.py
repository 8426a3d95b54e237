"""Running a program between sources and a sink, with checkpoints, so that a restart neither loses nor repeats.

A checkpoint is taken between two items: the results are made durable, then state and positions are kept as one file,
then the sink commits. Whoever starts anew goes on from the last checkpoint whose results stand: what came behind it is
read again, and what was written behind it is taken back by the sink.

Invariant: the positions that are kept are those behind the items that the engine has been given, no more and no less.

Source: Carbone et al., VLDB 2017, doi:10.14778/3137765.3137777; two-phase commit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cartesius.connectors.endpoints import StreamSink, StreamSource
from cartesius.connectors.kept_runs import Checkpoint, load, save
from cartesius.core.engine_core import MICROSECOND
from cartesius.core.pulling import value_and_time
from cartesius.data.events import Event
from cartesius.engines.engine import Engine
from cartesius.errors import InvalidArgument, near

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from cartesius.language.reactives import Reactive

_LOG: Final = logging.getLogger(__name__)


async def run_stream(
    program: Reactive | Sequence[Reactive],
    sources: Mapping[str, StreamSource],
    sink: StreamSink,
    *,
    checkpoint: str | Path | None = None,
    every: timedelta = timedelta(seconds=5),
    lateness: int | timedelta | None = None,
    unit: timedelta = MICROSECOND,
    patience: timedelta = timedelta(seconds=1),
    close: bool = False,
    late: Callable[[Event, str], object] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Feed a program from sources and write its results, until the sources end or the task is cancelled.

    Items of several sources are used by their times, as far as they are there: a source that has none for ``patience``
    is passed over until it has one again.

    >>> import asyncio, pathlib, tempfile
    >>> from cartesius import Reactive
    >>> from cartesius.connectors import FileSource, JsonLinesSink, run_stream
    >>> from restrictions.streams import map_
    >>> order = Reactive("order")
    >>> program = map_(order, lambda order: order.id)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = pathlib.Path(name)
    ...     for line in '{"id": 7}', '{"id": 8}':
    ...         with (folder / "orders.jsonl").open("a") as file:
    ...             print(line, file=file)
    ...         source = FileSource(folder / "orders.jsonl", follow=False)
    ...         sink = JsonLinesSink(folder / "ids.jsonl")
    ...         asyncio.run(run_stream(program, {"order": source}, sink, checkpoint=folder))
    ...         sink.close()
    ...     [line[-10:] for line in (folder / "ids.jsonl").read_text().splitlines()]
    ['"value":7}', '"value":8}']

    Args:
        program: The output reactive, or a list of several.
        sources: A source for each input, by its name.
        sink: Where the results go, of all outputs.
        checkpoint: The folder of the checkpoints, of this program alone; it is made. None: there are none, and each
            start is from the beginning.
        every: How often a checkpoint is taken, if something has come.
        lateness: How far the clock stays behind the latest time, as of `Engine`; None: it stands still.
        unit: What one unit of time means.
        patience: How long a source that has nothing is waited for, so that others do not overtake it.
        close: Whether the inputs end when all sources have: absence is certain then. Nothing can come after it.
        late: Called with each event that came too late, or was set aside, and why; by default it is logged.
        clock: Seconds, of which ``every`` is measured.

    Raises:
        InvalidArgument: Sources that are not those of the program's inputs, or no sink.
        SnapshotMismatch: The checkpoints are another program's, or damaged.
        Exception: What a source, a sink or a body raises; what came since the last checkpoint comes again.
    """
    outputs = (program,) if not isinstance(program, list | tuple) else tuple(program)
    options: dict[str, Any] = {"unit": unit, "lateness": lateness}
    engine = Engine(*outputs, **options)
    _check(engine, sources, sink)
    folder = None if checkpoint is None else Path(checkpoint)
    before = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        before = load(folder, sink.committed())
    if before is not None:
        engine = Engine.restore(before.engine, *outputs, **options)
        for name, position in before.sources.items():
            sources[name].seek(position)
        sink.seek(before.sink)
    run = _Run(engine, sources, sink, folder, 0 if before is None else before.number, late or _warn)
    if before is None:
        run.keep()  # what the sink has by now is not of this run
    await run.feed(every.total_seconds(), patience.total_seconds(), clock)
    if close:
        run.write(engine.close())
    run.keep()


def _check(engine: Engine, sources: Any, sink: Any) -> None:
    known = list(engine.inputs)
    for name, source in sources.items():
        if name not in known:
            message = f"run_stream: expected sources of the inputs {', '.join(known)} but got one of {name!r}"
            raise InvalidArgument(message + near(name, known))
        if not isinstance(source, StreamSource):
            message = f"run_stream: expected a source for {name!r}, with position and seek, but got {source!r}"
            raise InvalidArgument(message + "; what has none can be given to Engine.events")
    if missing := [name for name in known if name not in sources]:
        message = f"run_stream: expected a source for each input but there is none for {', '.join(missing)}; add it"
        raise InvalidArgument(message)
    if not isinstance(sink, StreamSink):
        message = f"run_stream: expected a sink but got {sink!r} (type={type(sink).__name__}); give a JsonLinesSink"
        raise InvalidArgument(message)


def _warn(event: Event, reason: str) -> None:
    _LOG.warning("an event is set aside: %s: %r", reason, event)


class _Run:
    """An engine between its sources and its sink."""

    def __init__(
        self,
        engine: Engine,
        sources: Mapping[str, StreamSource],
        sink: StreamSink,
        folder: Path | None,
        number: int,
        late: Callable[[Event, str], object],
    ) -> None:
        self.engine = engine
        self.sources = sources
        self.sink = sink
        self.folder = folder
        self.number = number
        self.late = late
        self.positions = {name: source.position for name, source in sources.items()}
        self.has_changed = True

    async def feed(self, every: float, patience: float, clock: Callable[[], float]) -> None:
        """Push the items of all sources until they have ended."""
        iterators = {name: aiter(source) for name, source in self.sources.items()}
        tasks = {name: asyncio.ensure_future(_next(iterator)) for name, iterator in iterators.items()}
        idle: set[str] = set()  # what has had nothing for longer than the patience
        kept = clock()
        try:
            while tasks:
                rest = max(0.0, kept + every - clock()) if self.has_changed else None
                await self._wait(tasks, idle, patience, rest)
                there = {name: task.result() for name, task in tasks.items() if task.done()}
                for name in [name for name, items in there.items() if not items]:
                    del there[name], tasks[name]
                if there:
                    name = min(there, key=lambda name: _time_of(there[name][0]))
                    idle.discard(name)
                    self._push(name, there[name][0])
                    tasks[name] = asyncio.ensure_future(_next(iterators[name]))
                if self.has_changed and clock() - kept >= every:
                    self.keep()
                    kept = clock()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
            for iterator in iterators.values():
                if isinstance(iterator, AsyncGenerator):
                    await iterator.aclose()

    async def _wait(
        self, tasks: Mapping[str, asyncio.Future[Any]], idle: set[str], patience: float, rest: float | None
    ) -> None:
        """Wait until something is there, and for a while for those that have nothing yet."""
        if not any(task.done() for task in tasks.values()):
            await asyncio.wait(tasks.values(), timeout=rest, return_when=asyncio.FIRST_COMPLETED)
        awaited = {name: task for name, task in tasks.items() if not task.done() and name not in idle}
        if awaited and any(task.done() for task in tasks.values()):
            await asyncio.wait(awaited.values(), timeout=patience)
            idle.update(name for name, task in awaited.items() if not task.done())

    def _push(self, name: str, item: Any) -> None:
        value, at = value_and_time(item)
        self.write(self.engine.push(self.engine.inputs[name], value, at))
        self.positions[name] = self.sources[name].position
        for event, _, reason in self.engine.take_late():
            self.late(event, reason)

    def write(self, events: list[Event]) -> None:
        """Hand results over."""
        self.has_changed = True
        if events:
            self.sink.write(events)

    def keep(self) -> None:
        """Take a checkpoint."""
        if not self.has_changed:
            return
        self.number += 1
        position = self.sink.prepare(self.number)
        if self.folder is not None:
            save(self.folder, Checkpoint(self.number, self.engine.snapshot(), dict(self.positions), position))
        self.sink.commit(self.number)
        self.has_changed = False


async def _next(iterator: AsyncIterator[Any]) -> list[Any]:
    """Return the next item in a list, or an empty one."""
    try:
        return [await anext(iterator)]
    except StopAsyncIteration:
        return []


def _time_of(item: Any) -> Any:
    return item.end if isinstance(item, Event) else float("-inf")
