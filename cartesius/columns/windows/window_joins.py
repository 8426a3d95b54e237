"""The kernel of streams that meet in windows: a window is a key, so another kernel joins what is delivered to them.

What is delivered to windows comes to that kernel as rows that have one, event by event and then window by window, each
in a step of its own: what happens in one window does not touch another, and results come window by window.

This module is over 300 lines because all that a stage has to offer is put together of windows and that kernel.

Invariant: retained rows are in windows that are not freed.

Source: SEMANTICS 1.3, 1.4 and 3.2; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.coding import codes_of
from cartesius.columns.bodies.computed import Keys
from cartesius.columns.loops.stacking import stacking_stage
from cartesius.columns.loops.stepping import stepping_stage
from cartesius.columns.loops.stepping_shapes import common_to_windows
from cartesius.columns.stages.rows import BEFORE, LAST, Rows, all_of, joined
from cartesius.columns.stages.spans import clock_of, spans_of, until
from cartesius.columns.stages.stages import Moment, Outcome, Stage, State, count_of
from cartesius.columns.streams.expiring import ends_of, least_of
from cartesius.columns.streams.shapes import OF_LOCKSTEP
from cartesius.columns.streams.version_plans import OF_VERSIONS
from cartesius.columns.streams.versions import version_stage
from cartesius.columns.streams.zipping import zip_stage
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import Leaf
from cartesius.columns.windows.window_deliveries import deliveries, first_met
from cartesius.columns.windows.window_state import first_due, load_held, opened, store_windows
from cartesius.columns.windows.window_turns import flat, turns_of
from cartesius.plan.nodes import Lockstep, Regular, Until
from cartesius.results.outputs import Events
from cartesius.results.outputs import Rows as Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.stages.stages import Counts
    from cartesius.columns.vectors.vectors import Ints, Vector
    from cartesius.columns.windows.window_deliveries import Deliveries
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join


@attrs.frozen(eq=False)
class Windows:
    """What windows keep, beside the rows that the other kernel holds.

    Args:
        opened: Those that are not freed, as `_opened_rows`, if all keys have the same; None: each has windows of its
            own, and they are retained, behind the rows of all slots.
        more: What the other kernel keeps besides.
        last: The last arrival number: an event in several windows is several, so it may be ahead of the engine's.
    """

    opened: Rows | None
    more: Any
    last: int


def _opened_rows(windows: Ints, keys: Vector | None, number: Ints, position: Ints) -> Rows:
    """Return windows by their numbers as rows, given the numbers in whose order they were opened, and their steps."""
    none = np.zeros(len(windows), np.int64)
    return Rows(Leaf(pa.array(windows)), none, none, none, number, position, keys)


def _numbers(opened: Rows) -> Ints:
    """Return the numbers of windows that are rows."""
    assert isinstance(opened.payload, Leaf)  # Invariant: it is as `_opened_rows` has made it
    return opened.payload.numbers


class WindowJoin(Stage):
    """Streams in windows."""

    keeps_time = True

    def __init__(self, join: Join, installed: Installed, spans: Spans, inner: Stage, keys: Keys) -> None:
        super().__init__(join)
        self.installed = installed
        self.spans = spans
        self.gives_turns = spans.delay is not None
        self.inner = inner
        self.keys = keys
        self.costs = inner.costs if spans.delay is None else max(inner.costs, 1)
        space = join.bindings.window_space
        self.space = 0 if space else None  # the key space whose keys have windows of their own

    def source(self) -> str:
        """Return the code of the other kernel."""
        return f"# of each window, of {self.spans}:\n{self.inner.source()}"

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Deliver what comes and what has waited, let it meet what is there, and let go of what is over."""
        before, opened_, held = self._apart(state)
        found: dict[int, Deliveries] = {}
        late = []
        for index, slot in enumerate(self.join.slots):
            mine = arriving.get(index)
            if (rows := all_of(held[index], mine)) is None:
                continue
            found[index] = deliveries(self.spans, slot, self.join.world, rows, moment)
            late += found[index].late
            if mine is not None and (found[index].late or len(found[index]) < len(mine)):
                self.keys.check(index, mine)
        number = max(self.join.world.number, state.more.last) + 1
        opened_, last = self._opened(opened_, found, number)
        turns = turns_of([*found.values()], *self._asked(found, opened_), self.join.world.steps)
        delivered = {
            index: self._delivered(one, mine, number)
            for (index, one), mine in zip(found.items(), turns.of, strict=True)
        }
        inner = turns.moment(moment) if self.inner.keeps_time else Moment(len(turns.position))
        after = self.inner.run(before, delivered, inner)
        clock = until(moment, self.join.world)
        waiting = [found[index].held if index in found else None for index in range(len(held))]
        state = self._together(after.state, opened_, waiting, max(last, number + len(turns.position)))
        counts = {index: len(one) for index, one in found.items()}
        return Outcome(turns.given(after.flow), self._without_freed(state, clock), after.tuples, late, counts)

    def _delivered(self, found: Deliveries, steps: Ints, number: int) -> Rows:
        order = np.argsort(steps)  # what has waited comes window by window
        window = self.spans.column(found.window[order])
        rows, position = found.rows.take(found.rows_of(order)), steps[order]
        return attrs.evolve(rows, window=window, position=position, number=position + number)

    def _opened(self, before: Rows | None, found: Mapping[int, Deliveries], number: int) -> tuple[Rows | None, int]:
        """Return the windows that have been opened, each once a key, in the order in which they were; and a number."""
        new = []
        for index, one in found.items():
            places, windows = one.assigned
            coming = np.flatnonzero(one.rows.position[places] != BEFORE)
            rows = one.rows.take(places[coming])
            key = None if self.space is None or not len(rows) else self.keys.in_space(self.space, index, rows)
            new.append(_opened_rows(windows[coming], key, rows.number, rows.position))
        if not any(map(len, new)):
            return before, number
        mine = joined(new)
        mine = mine.take(np.argsort(mine.position, kind="stable")).as_retained()
        last = number + len(mine)
        mine = attrs.evolve(mine, number=np.arange(number, last))
        every = mine if before is None else joined([before, mine])
        codes = _numbers(every)
        if every.key is not None:
            (of_keys, *_), count = codes_of([every.key])
            codes = codes * (count + 1) + of_keys
        return every.take(first_met(codes)), last

    def _asked(self, found: Mapping[int, Deliveries], opened_: Rows | None) -> tuple[Ints, Ints]:
        """Return when what has waited is due, and by which number that was first asked for, as of `turns_of`.

        Each key asks for the times when its windows are reported, and freed.
        """
        each = [*found.values()]
        window = flat([one.window for one in each])
        due, asked = np.full(len(window), LAST), np.zeros(len(window), np.int64)
        if all(one.waited is None for one in each):
            return due, asked
        every = [np.zeros(len(one), np.bool_) if one.waited is None else one.waited for one in each]
        waited = np.flatnonzero(np.concatenate(every))
        ends, lateness, delay = self.spans.ends, self.spans.lateness, self.spans.delay or 0
        due[waited] = ends(window[waited]) + delay - 1
        if self.space is not None and opened_ is not None and opened_.key is not None:
            own = [self.keys.in_space(self.space, index, one.rows) for index, one in found.items()]
            (of_opened, *codes), _ = codes_of([opened_.key, *own])
            code = flat([mine if one.place is None else mine[one.place] for mine, one in zip(codes, each, strict=True)])
            over = ends(_numbers(opened_))
            number = np.concatenate([opened_.number, opened_.number, np.full(len(waited), LAST)])
            time = np.concatenate([over + delay - 1, over + lateness - 1, due[waited]])
            least = least_of(number, np.concatenate([of_opened, of_opened, code[waited]]), time)
            asked[waited] = least[2 * len(opened_) :]
        return due, asked

    # -- state ---------------------------------------------------------------------------------------------------------

    def _apart(self, state: State) -> tuple[State, Rows | None, Sequence[Rows | None]]:
        """Return the state of the other kernel, the windows that are not freed, and what waits, by slot."""
        windows: Windows = state.more
        n = len(self.join.slots)
        opened_ = windows.opened if self.space is None else state.retained[n]
        inner = attrs.evolve(state, retained=state.retained[:n], more=windows.more)
        return inner, opened_, state.retained[n + 1 : 2 * n + 1]

    def _together(self, inner: State, opened_: Rows | None, held: Sequence[Rows | None], last: int) -> State:
        """Return the state of all."""
        of_all, of_keys = (opened_, None) if self.space is None else (None, opened_)
        n = len(self.join.slots)
        retained = (*inner.retained[:n], of_keys, *held, *inner.retained[n:])
        return attrs.evolve(inner, retained=retained, more=Windows(of_all, inner.more, last))

    def _without_freed(self, state: State, clock: int) -> State:
        """Return the state without the windows that are freed by then, and what they hold."""
        inner, opened_, held = self._apart(state)
        inner = self.inner.without(inner, lambda rows: ends_of(rows) + self.spans.lateness <= clock)
        if opened_ is not None:
            opened_ = opened_.take(np.flatnonzero(~self.spans.is_freed(_numbers(opened_), clock)))
        return self._together(inner, opened_, held, state.more.last)

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys under which rows meet in whatever window, and those that have windows of their own."""
        n = len(self.join.slots)
        return rows.key if slot == n else self.inner.split(slot - (n + 1) * (slot > n), rows)

    def dues(self, slot: int, rows: Rows) -> Ints | None:
        """Return when events are reported that wait, each in the first of its windows that is not visible by now."""
        n = len(self.join.slots)
        if not n < slot <= 2 * n:
            return None
        return self.spans.reported(rows.start, rows.end, clock_of(self.join.world.clock))

    def as_rows(self, state: State) -> State | None:
        """Return the state with what the other kernel has as rows behind the windows, and what waits in them."""
        inner, opened_, held = self._apart(state)
        found = self.inner.as_rows(inner)
        return None if found is None else self._together(found, opened_, held, state.more.last)

    def of_rows(self, state: State) -> State:
        """Return the state of rows."""
        inner, opened_, held = self._apart(state)
        n = len(self.join.slots)
        rows = attrs.evolve(inner, retained=inner.retained + state.retained[2 * n + 1 :])
        return self._together(self.inner.of_rows(rows), opened_, held, state.more.last)

    def passed(self, state: State, clock: int) -> State | None:
        """Return the state without the windows that are freed by then; None if some are reported, and may give more."""
        inner, opened_, held = self._apart(state)
        since = clock_of(self.join.world.clock)
        due = [self.spans.reported(one.start, one.end, since) for one in held if one is not None]
        after = None if (flat(due) < clock).any() else self.inner.passed(inner, clock)
        if after is None:
            return None
        return self._without_freed(self._together(after, opened_, held, state.more.last), clock)

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return what is in memory, as it came to its windows, and what waits in them."""
        numbers, keys = opened(self.spans, self.installed)
        of = None if self.space is None else of_values(keys)
        n = len(numbers)
        there = _opened_rows(numbers, of, np.arange(-n, 0), np.full(n, BEFORE)) if n else None
        held = [load_held(slot, self.installed, arriving.get(slot.index)) for slot in self.join.slots]
        return self._together(self.inner.load(arriving), there, held, self.join.world.number)

    def deadline(self, state: State) -> int | None:
        """Return when the first window is reported, or freed, or something in one is due."""
        inner, opened_, _ = self._apart(state)
        numbers = np.zeros(0, np.int64) if opened_ is None else _numbers(opened_)
        due = self.inner.deadline(inner), first_due(self.spans, numbers, clock_of(self.join.world.clock))
        return min([time for time in due if time is not None], default=None)

    def counts(self, state: State) -> Counts | None:
        """Return how many events are in memory, and how many wait in windows."""
        inner, _, held = self._apart(state)
        found = self.inner.counts(inner)
        return found and {slot: (n, count_of(held[slot])) for slot, (n, _) in found.items()}

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold it."""
        inner, opened_, held = self._apart(state)
        keys = None if opened_ is None or opened_.key is None else opened_.key.to_list()
        numbers = np.zeros(0, np.int64) if opened_ is None else _numbers(opened_)
        store_windows(self.spans, self.installed, numbers, held, keys)
        self.join.world.number = max(self.join.world.number, state.more.last)
        self.inner.store(inner, stored)


def window_join_stage(join: Join) -> Stage | str | None:
    """Return the stage of streams that meet in windows, at once."""
    opening = [one for one in join.installed if isinstance(one.node, Regular)]
    if len(opening) != 1 or not isinstance(join.batch.output, Events | Table):
        return None
    if len({slot.reactive for slot in join.slots}) < len(join.slots):
        return "two slots in windows have one source"
    if any(slot.reactive.table or slot.reactive.pattern is not None or slot.is_table for slot in join.slots):
        return "a slot in windows is no plain stream"
    if any(slot.n is not None or slot.shared is not None for slot in join.slots):
        return "a slot in windows is shared, or binds lists"
    space = join.bindings.window_space
    assert space is not None  # Invariant: there are windows
    every = set(range(len(join.slots)))
    if space > 1 or any(set(one) != every for one in join.bindings.spaces[: space + 1]):
        return "not all its slots are in windows, under one key at most"
    spans = spans_of(opening[0])
    if isinstance(spans, str):
        return spans
    common = common_to_windows(join)
    if any(isinstance(one.node, Lockstep) for one in common):
        return "what aligns is common to all windows"
    if common and spans.size > spans.period:
        return "what is kept of a slot is common to windows that overlap"
    is_timed = any(isinstance(one.node, Until) for one in join.installed)
    if spans.delay is not None and (common or is_timed or not isinstance(join.batch.output, Events)):
        return "what meets in its windows waits for their end, and something is common to them or due inside, or a row"
    versions, products = OF_VERSIONS | {Regular}, OF_LOCKSTEP | {Regular}
    stages = [stepping_stage(join, spans)]
    if not common and isinstance(join.batch.output, Events):
        first = (version_stage(join, versions), zip_stage(join, products), stacking_stage(join, products))
        stages = [*first, *stages]
    inner = next((one for one in stages if isinstance(one, Stage)), None)
    if inner is None:
        return "; ".join(dict.fromkeys(one for one in stages if isinstance(one, str))) or None
    return WindowJoin(join, opening[0], spans, inner, Keys(join))
