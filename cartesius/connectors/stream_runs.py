"""Running a program between sources and a sink, with checkpoints, so that a restart neither loses nor repeats.

A checkpoint is taken between two items: the results are made durable, then state and positions are kept as one file
(of the state, if that is less, what has come since the last one), then the sink commits. Whoever starts anew goes on
from the last checkpoint whose results stand: what came behind it is read again, and what was written behind it is taken
back by the sink.

This module is over 300 lines because sources, engine, sink and checkpoint are in step with each other.

Invariant: the positions that are kept are those behind the items that the engine has been given, no more and no less.

Source: Carbone et al., VLDB 2017, doi:10.14778/3137765.3137777; two-phase commit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.connectors.endpoints import StreamSink, StreamSource
from cartesius.connectors.kept_runs import Keeping, alone_in, load
from cartesius.core.engine_core import MICROSECOND
from cartesius.core.pulling import value_and_time
from cartesius.data.events import EARLIEST, Delete, Event
from cartesius.engines.engine import Engine
from cartesius.errors import InvalidArgument, add_note, near, shortened
from cartesius.language.lenience import checked_policy, for_engines
from cartesius.programs.failures import can_be_set_aside, raised

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.language.lenience import RowPolicy
    from cartesius.language.reactives import Reactive

_LOG: Final = logging.getLogger(__name__)
_AHEAD: Final = 256
"""How many items are read ahead of a source, at most."""


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
    on_error: RowPolicy = "fail",
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
        unit: What one unit of time means. Times that sources read of texts are microseconds, so leave it for those.
        patience: How long a source that has nothing is waited for, so that others do not overtake it.
        close: Whether the inputs end when all sources have: absence is certain then. Nothing can come after it.
        late: Called with each event that came too late, or was set aside, or that is refused (a row without the key
            of its table, a key that cannot be hashed, a text that is to be summed, a deletion from what is no table),
            and why; by default it is logged.
        on_error: What becomes of an event on which a body raises, as `correlate_frames` has it: ``"fail"``, the
            run ends with the error, and meets the event again when it is started anew; ``"dead_letter"``, ``late`` is
            called with it, and all others are used as if it had never come; ``"unknown"``, the rules of packs are
            undecided. What falls due at some time, such as the end of a window, raises in any case.
        clock: Seconds, of which ``every`` is measured.

    Raises:
        InvalidArgument: Other sources than those of the inputs, no sink, no duration, no such policy; a file for a
            folder, or one that another run is in.
        SnapshotMismatch: The checkpoints are another program's, or damaged.
        ShutOut: Another run has taken over, where no lock keeps it out: on another machine, or on Windows.
        Exception: What a source, a sink or a body raises; what came since the last checkpoint comes again.
    """
    outputs = (program,) if not isinstance(program, list | tuple) else tuple(program)
    if wrong := [one for one in (every, patience) if not isinstance(one, timedelta) or one < timedelta(0)]:
        message = f"run_stream: expected every= and patience= as a timedelta >= 0 but got {wrong[0]!r}"
        raise InvalidArgument(message)
    checked_policy(on_error, outputs, "run_stream")
    options: dict[str, Any] = {"unit": unit, "lateness": lateness, "on_error": for_engines(on_error)}
    engine = Engine(*outputs, **options)
    _check(engine, sources, sink)
    folder = None if checkpoint is None else Path(checkpoint)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            message = f"run_stream: expected a folder but got checkpoint={str(checkpoint)!r}, where there is a file"
            raise InvalidArgument(message + "; name another") from error
    with nullcontext() if folder is None else alone_in(folder):
        before = [] if folder is None else load(folder, sink.committed())
        if before:
            whole, *changes = [one.engine for one in before]
            engine = Engine.restore(whole, *outputs, changes=changes, **options)
            for name, position in before[-1].sources.items():
                sources[name].seek(position)
            sink.seek(before[-1].sink)
        keeping = None if folder is None else Keeping(folder, engine, before)
        run = _Run(engine, sources, sink, keeping, before[-1].number if before else 0, late or _warn, on_error)
        if not before:
            await run.keep()  # what the sink has by now is not of this run
        await run.feed(every.total_seconds(), patience.total_seconds(), clock)
        if close:
            run.write(engine.close())
        await run.keep()


def _check(engine: Engine, sources: Any, sink: Any) -> None:
    known = list(engine.inputs)
    if not isinstance(sources, Mapping):
        message = f"run_stream: expected a mapping from the name of an input to its source but got {sources!r}"
        raise InvalidArgument(message)
    for name, source in sources.items():
        if name not in known:
            message = f"run_stream: expected sources of the inputs {', '.join(known)} but got one of {name!r}"
            raise InvalidArgument(message + near(name, known))
        if not isinstance(source, StreamSource) or isinstance(source, type):
            message = f"run_stream: expected a source for {name!r}, with position and seek, but got {source!r}"
            raise InvalidArgument(message + "; what has none can be given to Engine.events")
    if missing := [name for name in known if name not in sources]:
        message = f"run_stream: expected a source for each input but there is none for {', '.join(missing)}; add it"
        raise InvalidArgument(message)
    if not isinstance(sink, StreamSink):
        message = f"run_stream: expected a sink but got {sink!r} (type={type(sink).__name__}); give a JsonLinesSink"
        raise InvalidArgument(message)
    if not (iscoroutinefunction(sink.prepare) and iscoroutinefunction(sink.commit)):
        message = f"run_stream: expected a sink whose prepare and commit are awaited but got {sink!r}; write async def"
        raise InvalidArgument(message)


def _warn(event: Event, reason: str) -> None:
    _LOG.warning("an event is set aside: %s: %r", reason, event)


@attrs.define(eq=False, repr=False)
class _Run:
    """An engine between its sources and its sink."""

    engine: Engine
    sources: Mapping[str, StreamSource]
    sink: StreamSink
    keeping: Keeping | None
    number: int
    late: Callable[[Event, str], object]
    on_error: RowPolicy
    positions: dict[str, Any] = attrs.field(init=False)
    has_changed: bool = attrs.field(init=False, default=True)

    @positions.default
    def _first_positions(self) -> dict[str, Any]:
        return {name: source.position for name, source in self.sources.items()}

    async def feed(self, every: float, patience: float, clock: Callable[[], float]) -> None:
        """Push the items of all sources until they have ended."""
        arrived = asyncio.Event()
        inlets = {name: _Inlet(source, arrived) for name, source in self.sources.items()}
        kept = clock()
        try:
            while inlets:
                if over := [name for name, inlet in inlets.items() if inlet.is_over]:
                    await inlets.pop(over[0]).reading  # which raises what the source has raised
                    continue
                there = [name for name, inlet in inlets.items() if inlet.items]
                lacking = [inlet for inlet in inlets.values() if inlet.is_awaited]
                if not there:
                    rest = max(0.0, kept + every - clock()) if self.has_changed else None
                    await _until(arrived, lambda: any(one.items or one.is_over for one in inlets.values()), rest)
                elif lacking:
                    await _until(arrived, partial(_are_there, lacking), patience)
                    for one in lacking:
                        one.is_idle = one.is_awaited
                else:
                    name = min(there, key=lambda name: _time_of(inlets[name].items[0][0]))
                    self._push(name, *inlets[name].take())
                if self.has_changed and clock() - kept >= every:
                    await self.keep()
                    kept = clock()
        finally:
            for inlet in inlets.values():
                inlet.reading.cancel()
            await asyncio.gather(*(inlet.reading for inlet in inlets.values()), return_exceptions=True)

    def _push(self, name: str, item: Any, position: Any) -> None:
        value, at = value_and_time(item)
        reactive = self.engine.inputs[name]
        try:
            if isinstance(value, Delete) and not reactive.table:
                message = (
                    f"run_stream: expected rows of {name!r}, which is no table, but got {value!r}; make it a table"
                )
                raise InvalidArgument(message)
            events = self.engine.push(reactive, value, at)
        except Exception as error:
            failure = self.engine.take_failure()
            if not can_be_set_aside(error, failure, self.on_error):
                add_note(error, f"while using an event of {name!r}: {shortened(repr(item))}")
                raise
            start, end = (item.start, item.end) if isinstance(item, Event) else (EARLIEST, EARLIEST)
            self.late(Event(value, start, end, 1, name), raised(error, failure) if failure is not None else str(error))
            self.has_changed = True
        else:
            self.write(events)
            if self.keeping is not None:
                self.keeping.has_come()
        self.positions[name] = position
        for event, _, reason in self.engine.take_late():
            self.late(event, reason)

    def write(self, events: list[Event]) -> None:
        """Hand results over."""
        self.has_changed = True
        if events:
            self.sink.write(events)

    async def keep(self) -> None:
        """Take a checkpoint."""
        if not self.has_changed:
            return
        self.number += 1
        position = await self.sink.prepare(self.number)
        if self.keeping is not None:
            self.keeping.save(self.number, dict(self.positions), position)
        await self.sink.commit(self.number)
        self.has_changed = False


class _Inlet:
    """What has come of a source and is not used yet: items, each with the position behind it."""

    def __init__(self, source: StreamSource, arrived: asyncio.Event) -> None:
        self.source = source
        self.arrived = arrived
        self.items: deque[tuple[Any, Any]] = deque()
        self.is_idle = False  # it has had nothing for longer than the patience
        self._has_room = asyncio.Event()
        self.reading = asyncio.ensure_future(self._read())
        self.reading.add_done_callback(lambda _: arrived.set())

    async def _read(self) -> None:
        iterator = aiter(self.source)
        try:
            async for item in iterator:
                self.items.append((item, self.source.position))
                self.is_idle = False
                self.arrived.set()
                if len(self.items) >= _AHEAD:
                    self._has_room.clear()
                    await self._has_room.wait()
        finally:
            if isinstance(iterator, AsyncGenerator):
                await iterator.aclose()

    @property
    def is_over(self) -> bool:
        """Whether the source has ended, or failed, and all that came is used."""
        return self.reading.done() and not self.items

    @property
    def is_awaited(self) -> bool:
        """Whether something may come soon that others should not overtake."""
        return not self.items and not self.is_idle and not self.reading.done()

    def take(self) -> tuple[Any, Any]:
        """Return the next item, and the position behind it."""
        found = self.items.popleft()
        if not self.items:
            self._has_room.set()
        return found


def _are_there(inlets: Sequence[_Inlet]) -> bool:
    """Whether none of them is to be awaited any more."""
    return not any(inlet.is_awaited for inlet in inlets)


async def _until(arrived: asyncio.Event, is_so: Callable[[], bool], seconds: float | None) -> None:
    """Wait until something is so that changes when an item arrives, or a time has passed; others have their turn."""
    await asyncio.sleep(0)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not is_so():
                arrived.clear()
                await arrived.wait()


def _time_of(item: Any) -> tuple[bool, Any]:
    """Return by what items are ordered; of times of two kinds, of which the engine takes one, ints first."""
    end = item.end if isinstance(item, Event) else float("-inf")
    return isinstance(end, datetime), end
