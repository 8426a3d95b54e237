"""Buckets: one engine a bucket, from the rows of one call and the state before it to results and the state after it.

Nothing here knows Spark, but its types. Rows are used in the order of `row_order`, whatever the chunks they came in: as
one batch of columns where the compiled tier has kernels for the program, else one after the other. The clock moves
once, before the first row, alike in every bucket; rows that wait are used as it passes them.

Invariant: no greenlet outlives a call: the engine is local to it, and unwinds its strands when it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius import CartesiusError
from cartesius.columnar.running import attempt
from cartesius.errors import InvalidArgument, NotStorable
from spark_bridge.arrivals import REASON, TIME, Arrivals, Columns, restored
from spark_bridge.bucket_states import BucketStates
from spark_bridge.dead_letters import NO_TIME, raised, unreadable
from spark_bridge.emission import Emission
from spark_bridge.packing import chunk_schema, unpacked
from spark_bridge.row_texts import value_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius import Engine, Event, Reactive
    from spark_bridge.arrivals import Input
    from spark_bridge.emission import Layout

_MANY: Final = 32
"""Fewer rows are faster one by one than as a batch."""


@attrs.frozen
class Outcome:
    """What a call gives: parts (see `emission`), the state, and the clock at which it is to be called again."""

    parts: list[tuple[int, pa.RecordBatch]]
    state: bytes
    due: int | None = None


class Buckets:
    """A program and how its rows are read and written; it runs one bucket at a time.

    Args:
        outputs: The program.
        inputs: Its sources, in the order of the caller's mapping.
        layout: How its results look.
        everywhere: The outputs whose results come out of every bucket alike, so that bucket 0 alone tells them.
        states: Opens and seals their states; by default without keeping engines between calls.
    """

    def __init__(
        self,
        outputs: tuple[Reactive, ...],
        inputs: tuple[Input, ...],
        layout: Layout,
        everywhere: frozenset[str],
        states: BucketStates | None = None,
    ) -> None:
        self.outputs = outputs
        self.inputs = inputs
        self.layout = layout
        self.everywhere = everywhere
        self.states = states or BucketStates(outputs, inputs)
        self._schemas = [chunk_schema(one.schema) for one in inputs]

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as what it was made from."""
        return Buckets, (self.outputs, self.inputs, self.layout, self.everywhere, self.states)

    def run(
        self,
        bucket: int,
        state: bytes | None,
        chunks: Mapping[int, Sequence[bytes]],
        clock: int | None = None,
        *,
        holds: bool = False,
        follows: bool = False,
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
            close: Whether all sources end after these rows.

        Raises:
            SnapshotMismatch: The state is another program's, or damaged.
            NotStorable: The new state cannot be stored.
        """
        # Not durable=True: what is pushed was read from Arrow, and so is plain data.
        opened = self.states.open(bucket, state, holds=holds, follows=follows)
        engine, waiting = opened.engine, opened.held or {}
        held = [restored(source, waiting.get(source.name)) for source in self.inputs]
        call = _Call(
            engine, Emission(self.layout, frozenset() if bucket == 0 else self.everywhere), is_first=bucket == 0
        )
        rows = call.readable(
            [
                Columns(source, unpacked(chunks.get(place, ()), schema))
                for place, (source, schema) in enumerate(zip(self.inputs, self._schemas, strict=True))
            ]
        )
        call.out.add(opened.changes)
        if clock is not None and clock > engine.clock:
            call.use(_before(held, clock))
            held = _from(held, clock)
            call.advance(clock)
        if holds:
            held = _joined(held, _from(rows, engine.clock))
            rows = _before(rows, engine.clock)
        call.use(rows)
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


def _before(columns: Sequence[Columns], clock: Any) -> list[Columns]:
    return [one.only(one.numbers(TIME) < clock) for one in columns]


def _from(columns: Sequence[Columns], clock: Any) -> list[Columns]:
    return [one.only(one.numbers(TIME) >= clock) for one in columns]


def _joined(some: Sequence[Columns], more: Sequence[Columns]) -> list[Columns]:
    return [Columns(a.source, pa.concat_tables([a.table, b.table])) for a, b in zip(some, more, strict=True)]


class _Call:
    """One call of one bucket."""

    def __init__(self, engine: Engine, out: Emission, *, is_first: bool) -> None:
        self.engine = engine
        self.out = out
        self.is_first = is_first

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
        for row, reason in (bad | (wrong if self._is_told(one) else {})).items():
            self._aside("dead", one, row, int(one.numbers(TIME)[row]), reason)
        if not bad and not wrong:
            return one
        is_good = np.ones(len(one), np.bool_)
        is_good[[*bad, *wrong]] = False
        return one.only(is_good)

    def _is_told(self, one: Columns) -> bool:
        """Whether this bucket tells what is alike in each that has the row."""
        return one.source.is_split or self.is_first

    def _aside(self, kind: str, one: Columns, row: int, time: int, reason: str) -> None:
        self.out.letter(kind, one.source.name, reason, None if time == NO_TIME else time, one.text(row))

    def advance(self, clock: int) -> None:
        """Move the clock."""
        self._take(self.engine.advance(clock))

    def close(self) -> None:
        """End all sources."""
        self._take(self.engine.close())

    def _take(self, events: list[Event]) -> None:
        self.out.add(events)
        for event, name, reason in self.engine.take_late():
            end = event.end if isinstance(event.end, int) else None  # else it is infinite
            self.out.letter("late", name, reason, end, value_text(event.value))

    def use(self, columns: Sequence[Columns]) -> None:
        """Use rows, in order."""
        n = sum(map(len, columns))
        if n == 0:
            return
        arrivals = Arrivals(columns)
        done = self._use_columns(arrivals) if n >= _MANY else 0
        for one, row, time in arrivals.since(done):
            self._use_row(one, row, time)

    def _use_columns(self, arrivals: Arrivals) -> int:
        """Use rows as a batch, as far as that can be done; return how many."""
        feed = arrivals.feed(self.engine)
        if feed is None:
            return 0
        found = attempt(self.engine, feed, self.out.of_flows)
        for parts in found.made:
            self.out.add_parts(parts)
        if found.late:
            self.engine.take_late()
        for step, (_, name, reason) in found.late:
            self._late(*arrivals.at(step), name, reason)
        return found.done

    def _late(self, one: Columns, row: int, time: int, name: str, reason: str) -> None:
        if self._is_told(one):
            where = "" if name == one.source.name else f" (at {name})"
            self._aside("late", one, row, time, reason + where)

    def _use_row(self, one: Columns, row: int, time: int) -> None:
        engine, source = self.engine, one.source
        try:
            value = one.value(row)
        except Exception as error:  # whatever a constructor of the user's raises
            if self._is_told(one):
                self._aside("dead", one, row, time, unreadable(error))
            return
        try:
            events = engine.push(engine.inputs[source.name], value, at=time)
        except (InvalidArgument, NotStorable) as error:
            self._aside("dead", one, row, time, raised(error))
            return
        except CartesiusError as error:  # the program or the engine is broken, not the row
            error.add_note(f"while using a row of {source.name!r}: {one.text(row)}")
            raise
        except Exception as error:  # a body of the user's: the push is undone
            self._aside("dead", one, row, time, raised(error))
            return
        self.out.add(events)
        if engine.late:
            for _, name, reason in engine.take_late():
                self._late(one, row, time, name, reason)
