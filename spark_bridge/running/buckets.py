"""Buckets: one engine a bucket, from the rows of one call and the state before it to results and the state after it.

Nothing here knows Spark, but its types. Rows are used in the order of `row_order`, whatever their chunks: as a
batch of columns where the compiled tier has kernels for the program, else one after the other. The clock moves once, as
in every bucket, before the first row; rows that wait are used as it passes them.

This module is over 300 lines because what becomes of the rows of one call is read in one place.

Invariant: no greenlet outlives a call: the engine is local to it, and unwinds its strands when it goes.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.batches.running import Attempt, attempt
from cartesius.columns.batches.single_rows import is_large
from cartesius.columns.batches.slicing import between
from cartesius.errors import add_note
from cartesius.language.lenience import for_engines
from cartesius.programs.failures import can_be_set_aside, is_broken, raised
from spark_bridge.columns.row_texts import value_text
from spark_bridge.running.row_errors import (
    failed_on_change,
    failed_on_row,
    failed_without_row,
    narrowed,
    refused_change,
)
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.state.engine_cache import once_a_worker
from spark_bridge.transport.arrivals import REASON, TIME, Arrivals, Columns, before, joined, not_before, restored
from spark_bridge.transport.dead_letters import kind_of_late, unreadable
from spark_bridge.transport.emission import Emission
from spark_bridge.transport.packing import EARLIEST, chunk_schema, unpacked
from spark_bridge.transport.source_frames import CHANGES, TEXT
from spark_bridge.transport.static_frames import StaticRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from cartesius import Engine, Event, Reactive
    from cartesius.columns.batches.feeds import Feed
    from cartesius.language.lenience import RowPolicy
    from spark_bridge.reading.demands import Demands
    from spark_bridge.state.bucket_states import Opened
    from spark_bridge.transport.arrivals import Input
    from spark_bridge.transport.emission import Layout

_MANY: Final = 32
"""Fewer rows are faster one by one than as a batch, unless much is in memory."""
_TRIES: Final = 8
"""How many times a call looks for rows that columns cannot take; a batch with more of them goes on row by row."""


@attrs.frozen
class Outcome:
    """What a call gives: parts (see `emission`), the state, and the clock at which it is to be called again."""

    parts: list[tuple[int, pa.RecordBatch]]
    state: bytes
    due: int | None = None


@attrs.define(eq=False, repr=False)
class Buckets:
    """A program and how its rows are read and written; it runs one bucket at a time.

    Args:
        outputs: The program.
        inputs: Its sources, in the order of the caller's mapping.
        layout: How its results look.
        everywhere: The outputs whose results come out of every bucket alike, so that bucket 0 alone tells them.
        on_error: What becomes of a row on which the program raises.
        states: Opens and seals their states; by default without keeping engines between calls.
        static: The rows that a bucket without a state uses first.
    """

    outputs: tuple[Reactive, ...]
    inputs: tuple[Input, ...]
    layout: Layout
    everywhere: frozenset[str]
    on_error: RowPolicy = "fail"
    states: BucketStates = attrs.field()
    static: StaticRows = attrs.field(factory=StaticRows)

    @states.default
    def _states_of_calls(self) -> BucketStates:
        return BucketStates(self.outputs, self.inputs, on_error=for_engines(self.on_error))

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as what it was made from; a worker has one for all tasks of a query, with all that it compiled."""
        return _arrived, attrs.astuple(self, recurse=False)

    def run(
        self,
        bucket: int,
        state: bytes | None,
        chunks: Mapping[int, Sequence[bytes]],
        clock: int | None = None,
        *,
        holds: bool = False,
        follows: bool = False,
        end: int | None = None,
        close: bool = False,
    ) -> Outcome:
        """Run one call of one bucket.

        Args:
            bucket: Its number.
            state: The state that the last call gave, or None.
            chunks: The rows, in any order: the chunks of each source that has some, by its place.
            clock: The time, in microseconds, before which nothing comes any more; None: not known.
            holds: Whether rows wait until the clock has passed them; one that it has passed already is late.
            follows: Whether the clock follows the rows, as they are all there, in the order of their times.
            end: The clock after the rows, in a batch that is the prefix of a stream; None: it is not moved. If it
                follows the rows, those that it has not passed by then are not used: they would still wait.
            close: Whether all sources end after these rows.

        Raises:
            SnapshotMismatch: The state is another program's, or damaged.
            NotStorable: The new state cannot be stored.
            RuleRaised: The program raised, and no row is to be set aside for it.
        """
        # Not durable=True: what is pushed was read from Arrow, and so is plain data.
        opened = self.states.open(bucket, state, holds=holds or follows)
        silent = frozenset[str]() if bucket == 0 else self.everywhere
        out = Emission(self.layout, silent, sets_aside=self.on_error == "dead_letter")
        self._change(opened, chunks.get(len(self.inputs), ()), out)
        engine, waiting = opened.engine, opened.held or {}
        held = [restored(source, waiting.get(source.name)) for source in self.inputs]
        call = _Call(engine, out, bucket, self.on_error, self.states.demands)
        rows = call.readable(self._columns(chunks))
        call.out.add(opened.changes)
        if state is None:
            call.use(call.readable(self._columns(self.static.of(bucket))))
        if clock is not None and clock > engine.clock:
            call.use(before(held, clock))
            held = not_before(held, clock)
            call.advance(clock)
        if holds:
            held = joined(held, not_before(rows, engine.clock))
            rows = before(rows, engine.clock)
        call.use(rows if end is None or not follows else before(rows, end))
        if end is not None and end > engine.clock:
            call.advance(end)
        if close:
            call.close()
        times = [int(one.numbers(TIME).min()) + 1 for one in held if len(one)]
        if (deadline := engine.next_deadline) is not None:
            times.append(deadline)
        if holds:
            opened.held = {one.source.name: one.stored() for one in held if len(one)}
            opened.waiting = sum(map(len, held))
        blob = self.states.seal(opened)
        if opened.warning:
            call.out.letter("warning", "", opened.warning, None, "")
        return Outcome(call.out.parts(), blob, min(times, default=None))

    def _change(self, opened: Opened, chunks: Sequence[bytes], out: Emission) -> None:
        """Go on with the programs that have come, one after the other; one that cannot follow is a letter."""
        if not chunks:
            return
        call = _Call(opened.engine, out, opened.bucket, self.on_error, self.states.demands)
        changes = call.readable([Columns(CHANGES, unpacked(chunks, chunk_schema(CHANGES.schema)))])
        refused = []
        for one, row, _ in Arrivals(changes).between(0, len(changes[0])):
            text = one.vectors[TEXT].to_list()[row]
            try:
                outputs = self.states.following(opened, text)
            except Exception as error:  # alike in every bucket, whatever `LiveProgram.read` raises
                refused.append((one, row, refused_change(error)))
                continue
            if outputs is None:
                continue
            try:
                self.states.go_on(opened, text, outputs)
            except Exception as error:
                raise failed_on_change(error, [output.name for output in outputs], opened.bucket) from error
        if opened.bucket == 0:
            call._aside("dead", refused)

    def _columns(self, chunks: Mapping[int, Sequence[bytes]]) -> list[Columns]:
        return [
            Columns(source, unpacked(chunks.get(place, ()), chunk_schema(source.schema)))
            for place, source in enumerate(self.inputs)
        ]


def _arrived(*parts: Any) -> Buckets:
    """Return the runner that has come to this worker."""
    states: BucketStates = parts[5]
    return once_a_worker(states.query, lambda: Buckets(*parts))


@attrs.define(eq=False)
class _Call:
    """One call of one bucket."""

    engine: Engine
    out: Emission
    bucket: int
    on_error: RowPolicy
    _demands: Demands | None

    def readable(self, columns: Sequence[Columns]) -> list[Columns]:
        """Return the rows that can be used; the others are letters."""
        return [self._readable(one) for one in columns]

    def _readable(self, one: Columns) -> Columns:
        if not len(one):
            return one
        reasons = one.table.column(REASON)
        bad: dict[int, str] = {}
        if reasons.null_count < len(reasons):
            bad = {row: reason for row, reason in enumerate(reasons.to_pylist()) if reason is not None}
        wrong = {row: unreadable(reason) for row, reason in one.unreadable().items() if row not in bad}
        if self._is_told(one):
            self._aside("dead", [(one, row, reason) for row, reason in (bad | wrong).items()])
        if not bad and not wrong:
            return one
        is_good = np.ones(len(one), np.bool_)
        is_good[[*bad, *wrong]] = False
        return one.only(is_good)

    def _is_told(self, one: Columns) -> bool:
        """Whether this bucket tells what is alike in each that has the row."""
        return one.source.is_split or self.bucket == 0

    def _aside(self, kind: str, told: Sequence[tuple[Columns, int, str]]) -> None:
        """Make letters of rows: of which source, which row, and why."""
        rows: defaultdict[Columns, list[int]] = defaultdict(list)
        for one, row, _ in told:
            rows[one].append(row)
        texts = {one: iter(one.texts(mine)) for one, mine in rows.items()}
        times = {one: iter(one.numbers(TIME)[mine].tolist()) for one, mine in rows.items()}
        for one, _, reason in told:
            time = next(times[one])
            self.out.letter(kind, one.source.name, reason, None if time < EARLIEST else time, next(texts[one]))

    def advance(self, clock: int) -> None:
        """Move the clock."""
        self._take(self._without_row(lambda: self.engine.advance(clock)))

    def close(self) -> None:
        """End all sources."""
        self._take(self._without_row(self.engine.close))

    def _without_row(self, work: Callable[[], list[Event]]) -> list[Event]:
        try:
            return work()
        except Exception as error:
            failure = self.engine.take_failure()
            if failure is None or is_broken(error):
                raise
            raise failed_without_row(error, failure, self.bucket) from error

    def _take(self, events: list[Event]) -> None:
        self.out.add(events)
        self._late([(None, *late) for late in self.engine.take_late()])

    def use(self, columns: Sequence[Columns]) -> None:
        """Use rows, in order."""
        n = sum(map(len, columns))
        if n == 0:
            return
        arrivals = Arrivals(columns)
        feed = arrivals.feed(self.engine) if n >= _MANY or is_large(self.engine) else None
        tries = _TRIES if self.on_error == "dead_letter" and feed is not None else 0

        def use_columns(first: int, last: int) -> int:
            return first if feed is None else self._use_columns(arrivals, feed, first, last)

        done = use_columns(0, n)
        while done < n:
            if tries and n - done > _MANY:
                done = narrowed(use_columns, done, n, _MANY)
            stop = min(done + _MANY, n) if tries else n
            is_aside = [self._use_row(*row) for row in arrivals.between(done, stop)]
            tries = tries - 1 if any(is_aside) else 0  # else it is not for a row that columns cannot take the batch
            done = use_columns(stop, n) if tries and n - stop > _MANY else stop

    def _use_columns(self, arrivals: Arrivals, feed: Feed, first: int, last: int) -> int:
        """Use rows as a batch, as far as that can be done; return up to which."""
        if self.engine.has_finished:
            return first
        found = attempt(self.engine, between(feed, first, last), self.out.of_flows, Attempt())
        for made in found.made:
            self.out.add_made(*made)
        if found.late:
            self.engine.take_late()
        self._late([(arrivals.at(first + step), *late) for step, late in found.late])
        return first + found.done

    def _late(self, late: Sequence[tuple[tuple[Columns, int] | None, Event, str, str]]) -> None:
        """Make letters of what was set aside: with which row, if with one, which event, where, and why.

        That is the row itself; or an event that was derived of it or held until it came, and the letter tells of that.
        """
        rows: defaultdict[str, list[tuple[Columns, int, str]]] = defaultdict(list)
        for found, event, name, why in late:
            reason = f"{why} (at {name})" if name != event.reactive else why
            if found is not None and _is_of_row(event, *found):
                if self._is_told(found[0]):
                    rows[kind_of_late(why)].append((*found, reason))
            elif self.bucket == 0 or event.reactive not in self._alike:
                self.out.letter_of(kind_of_late(why), event, reason)
        for kind, mine in rows.items():
            self._aside(kind, mine)

    @cached_property
    def _alike(self) -> frozenset[str]:
        """The reactives of which each bucket has the same events."""
        return frozenset() if self._demands is None else self._demands.alike(self.engine._program)

    def _use_row(self, one: Columns, row: int, time: int) -> bool:
        """Use a row; return whether it was set aside instead."""
        engine, source = self.engine, one.source
        try:
            value = one.value(row)
        except Exception as error:  # whatever a constructor of the user's raises
            if self._is_told(one):
                self._aside("dead", [(one, row, unreadable(error))])
            return True
        try:
            events = engine.push(engine.inputs[source.name], value, at=time)
        except Exception as error:  # the push is undone
            failure = engine.take_failure()
            if is_broken(error):
                add_note(error, f"while using a row of {source.name!r}: {one.text(row)}")
                raise
            if failure is not None and failure.deadline is not None:  # it fell due before the row was looked at
                raise failed_without_row(error, failure, self.bucket) from error
            if failure is not None and not can_be_set_aside(error, failure, self.on_error):
                raise failed_on_row(error, failure, self.bucket, source.name, time, one.text(row)) from error
            self._aside("dead", [(one, row, raised(error, failure))])
            return True
        self.out.add(events)
        if engine.late:
            self._late([((one, row), *late) for late in engine.take_late()])
        return False


def _is_of_row(event: Event, one: Columns, row: int) -> bool:
    """Whether an event is that of a row; what was held until it came may be of its source and time, too."""
    if event.reactive != one.source.name or event.end != one.times[row]:
        return False
    if one.source.type is not None:
        return True
    value = one.value(row)
    return bool(event.value == value) or value_text(event.value) == value_text(value)  # NaN is not equal to itself
