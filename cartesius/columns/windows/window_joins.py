"""The kernel of streams that meet in windows: a window is a key, so another kernel joins what is delivered to them.

What is delivered to windows comes to that kernel as rows that have one, event by event and then window by window, each
in a step of its own: what happens in one window does not touch another, and results come window by window.

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
from cartesius.columns.stages.rows import BEFORE, Flow, Rows, joined, nothing
from cartesius.columns.stages.spans import spans_of, until
from cartesius.columns.stages.stages import Moment, Outcome, Stage, State
from cartesius.columns.streams.expiring import ends_of
from cartesius.columns.streams.shapes import OF_LOCKSTEP
from cartesius.columns.streams.version_plans import OF_VERSIONS
from cartesius.columns.streams.versions import version_stage
from cartesius.columns.streams.zipping import zip_stage
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import Leaf, concatenated
from cartesius.columns.windows.window_deliveries import deliveries, first_met
from cartesius.columns.windows.window_state import opened, store_windows
from cartesius.plan.nodes import Lockstep, Regular
from cartesius.results.outputs import Events
from cartesius.results.outputs import Rows as Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.columns.windows.window_deliveries import Deliveries
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join

    Ints = NDArray[np.int64]


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


def _opened_rows(windows: Ints, keys: Vector | None, number: Ints) -> Rows:
    """Return windows by their numbers, each once a key, as rows, given the arrival number of what has opened each."""
    none = np.zeros(len(windows), np.int64)
    return Rows(Leaf(pa.array(windows)), none, none, none, number, none + BEFORE, keys)


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
        self.inner = inner
        self.keys = keys
        self.costs = inner.costs
        space = join.bindings.window_space
        self.space = 0 if space else None  # the key space whose keys have windows of their own

    def source(self) -> str:
        """Return the code of the other kernel."""
        return f"# of each window, of {self.spans}:\n{self.inner.source()}"

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Deliver what comes, let it meet what is there, and let go of the windows that are over."""
        found: dict[int, Deliveries] = {}
        late = []
        none = np.zeros(0, np.int64)
        for index, mine in arriving.items():
            found[index] = deliveries(self.spans, self.join.slots[index], self.join.world, mine, none, moment)
            late += found[index].late
            if found[index].late or len(found[index]) < len(mine):
                self.keys.check(index, mine)
        order, steps = _in_turn(found)
        number = max(self.join.world.number, state.more.last) + 1
        delivered = {
            index: self._delivered(one, mine, number) for (index, one), mine in zip(found.items(), steps, strict=True)
        }
        positions = np.concatenate([one.position for one in found.values()] or [none])[order]
        inner = _moment(moment, positions) if self.inner.keeps_time else Moment(len(order))
        before, opened_ = self._apart(state)
        after = self.inner.run(before, delivered, inner)
        clock = until(moment, self.join.world)
        state = self._together(after.state, self._opened(opened_, found, delivered, order, number), number + len(order))
        flow = _in_steps(after.flow, positions)
        return Outcome(
            flow, self._without_freed(state, clock), after.tuples, late, {i: len(one) for i, one in found.items()}
        )

    def _delivered(self, found: Deliveries, steps: Ints, number: int) -> Rows:
        rows = found.rows if found.place is None else found.rows.take(found.place)
        window = self.spans.column(found.window)
        return attrs.evolve(rows, window=window, position=steps, number=steps + number)

    def _opened(
        self,
        before: Rows | None,
        found: Mapping[int, Deliveries],
        delivered: Mapping[int, Rows],
        order: Ints,
        number: int,
    ) -> Rows | None:
        """Return the windows that have been opened, each once a key, in the order in which they were."""
        if not len(order):
            return before
        coming = np.concatenate([one.window for one in found.values()])[order]
        keys = None
        if self.space is not None:
            own = [self.keys.in_space(self.space, index, rows) for index, rows in delivered.items()]
            keys = concatenated(own).take(order)
        new = _opened_rows(coming, keys, np.arange(number, number + len(order)))
        every = new if before is None else joined([before, new])
        codes = _numbers(every)
        if every.key is not None:
            (of_keys, *_), count = codes_of([every.key])
            codes = codes * (count + 1) + of_keys
        return every.take(first_met(codes))

    # -- state ---------------------------------------------------------------------------------------------------------

    def _apart(self, state: State) -> tuple[State, Rows | None]:
        """Return the state of the other kernel, and the windows that are not freed."""
        windows: Windows = state.more
        n = len(self.join.slots)
        opened_ = windows.opened if self.space is None else state.retained[n]
        return attrs.evolve(state, retained=state.retained[:n], more=windows.more), opened_

    def _together(self, inner: State, opened_: Rows | None, last: int) -> State:
        """Return the state of both."""
        if self.space is None:
            return attrs.evolve(inner, more=Windows(opened_, inner.more, last))
        return attrs.evolve(inner, retained=(*inner.retained, opened_), more=Windows(None, inner.more, last))

    def _without_freed(self, state: State, clock: int) -> State:
        """Return the state without the windows that are freed by then, and what they hold."""
        inner, opened_ = self._apart(state)
        inner = self.inner.without(inner, lambda rows: ends_of(rows) + self.spans.lateness <= clock)
        if opened_ is not None:
            opened_ = opened_.take(np.flatnonzero(~self.spans.is_freed(_numbers(opened_), clock)))
        return self._together(inner, opened_, state.more.last)

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys under which rows meet in whatever window, and those that have windows of their own."""
        n = len(self.join.slots)
        return rows.key if slot == n else self.inner.split(slot - (slot > n), rows)

    def as_rows(self, state: State) -> State | None:
        """Return the state with what the other kernel has as rows behind the windows."""
        n = len(self.join.slots)
        inner, opened_ = self._apart(state)
        found = self.inner.as_rows(inner)
        if found is None:
            return None
        more = Windows(opened_ if self.space is None else None, found.more, state.more.last)
        own = opened_ if self.space is not None else None
        return attrs.evolve(found, retained=(*found.retained[:n], own, *found.retained[n:]), more=more)

    def of_rows(self, state: State) -> State:
        """Return the state of rows."""
        n = len(self.join.slots)
        windows: Windows = state.more
        retained = state.retained[:n] + state.retained[n + 1 :]
        inner = self.inner.of_rows(attrs.evolve(state, retained=retained, more=windows.more))
        return self._together(inner, windows.opened if self.space is None else state.retained[n], windows.last)

    def passed(self, state: State, clock: int) -> State | None:
        """Return the state without the windows that are freed by then: they give nothing."""
        inner, opened_ = self._apart(state)
        after = self.inner.passed(inner, clock)
        return None if after is None else self._without_freed(self._together(after, opened_, state.more.last), clock)

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return what is in memory, as it came to its windows."""
        numbers, keys = opened(self.spans, self.installed)
        of = None if self.space is None else of_values(keys)
        there = _opened_rows(numbers, of, np.arange(-len(numbers), 0)) if len(numbers) else None
        return self._together(self.inner.load(arriving), there, self.join.world.number)

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold it."""
        inner, opened_ = self._apart(state)
        keys = None if opened_ is None or opened_.key is None else opened_.key.to_list()
        numbers = np.zeros(0, np.int64) if opened_ is None else _numbers(opened_)
        store_windows(self.spans, self.installed, numbers, None, keys)
        self.join.world.number = max(self.join.world.number, state.more.last)
        self.inner.store(inner, stored)


def _in_turn(found: Mapping[int, Deliveries]) -> tuple[Ints, list[Ints]]:
    """Return the order in which what comes to all slots is delivered, and which of it is when, by slot."""
    positions = [one.position for one in found.values()]
    if not positions:
        return np.zeros(0, np.int64), []
    order = np.argsort(np.concatenate(positions), kind="stable")
    steps = np.empty(len(order), np.int64)
    steps[order] = np.arange(len(order))
    return order, np.split(steps, np.cumsum([len(one) for one in positions])[:-1])


def _in_steps(flow: Flow, position: Ints) -> Flow:
    """Return what is given, in the steps of the batch: first what they take back, then what they give."""
    if not len(flow):
        return nothing()
    flow = attrs.evolve(flow, position=position[flow.position])
    if flow.weight is None:
        return flow
    codes = flow.position * 2 + (flow.weight > 0)
    if (codes[1:] >= codes[:-1]).all():
        return flow
    order = np.argsort(codes, kind="stable")
    start, end, weight = flow.start[order], flow.end[order], flow.weight[order]
    return Flow(flow.position[order], flow.value.take(order), start, end, weight)


def _moment(moment: Moment, positions: Ints) -> Moment:
    """Return a batch in which each delivery has a step, and there is one at the end."""
    if not moment.steps:
        return moment
    event = np.append(positions, moment.steps - 1)
    clock = None if moment.clock is None else moment.clock[event]
    return Moment(len(event), clock, moment.meets_deadlines, event)


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
    if spans.delay is not None:
        return "what meets in its windows waits for their end"
    versions, products = OF_VERSIONS | {Regular}, OF_LOCKSTEP | {Regular}
    stages = [stepping_stage(join, spans)]
    if not common and isinstance(join.batch.output, Events):
        first = (version_stage(join, versions), zip_stage(join, products), stacking_stage(join, products))
        stages = [*first, *stages]
    inner = next((one for one in stages if isinstance(one, Stage)), None)
    if inner is None:
        return "; ".join(dict.fromkeys(one for one in stages if isinstance(one, str))) or None
    return WindowJoin(join, opening[0], spans, inner, Keys(join))
