"""The kernel of two streams that meet in windows: the product of each window, or of its newest events.

Each event is a row in each of its windows. Rows of both slots are sorted by window, and by what must be equal, stably;
so what an event meets is a span of the other slot's rows that ends where it stands itself.

Source: SEMANTICS 1.3, 1.4 and 3.2; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columnar.candidates import Parts
from cartesius.columnar.computed import linking, of_expression
from cartesius.columnar.headings import heading
from cartesius.columnar.keys import NEVER, encoded
from cartesius.columnar.ordering import begins, by_code
from cartesius.columnar.rows import BEFORE, Rows, joined, nothing
from cartesius.columnar.spans import spans_of, until
from cartesius.columnar.stages import Outcome, Stage, State, entries_of, rows_of
from cartesius.columnar.vectorising import ColumnarBody
from cartesius.columnar.vectors import NotColumnar
from cartesius.columnar.window_deliveries import deliveries, first_met
from cartesius.columnar.window_state import opened, store_windows
from cartesius.columnar.zipping import flow_of
from cartesius.meanings import Meaning
from cartesius.outputs import Events
from cartesius.windows import inside, outside, window_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.computed import Column
    from cartesius.columnar.spans import Spans
    from cartesius.columnar.stages import Moment
    from cartesius.columnar.vectors import Indices, Vector
    from cartesius.families import Slot
    from cartesius.installations import Installed
    from cartesius.join_shape import Join

    Ints = NDArray[np.int64]

_KNOWN = {Meaning.WINDOWS, Meaning.NEWEST, Meaning.COMPLETION, Meaning.OLDEST_FIRST}


class InWindow(Parts):
    """The parts of one slot, and their windows."""

    def __init__(self, rows: Rows, indices: Indices, windows: Ints, spans: Spans) -> None:
        super().__init__(rows, indices)
        self.windows = windows
        self.spans = spans

    def chosen(self, keep: NDArray[np.bool_]) -> Parts:
        """Return the parts of the candidates where ``keep`` is true."""
        return InWindow(self.rows, self.indices[keep], self.windows, self.spans)

    @property
    def window(self) -> Vector:
        """The windows of the candidates."""
        return self.spans.column(self.windows[self.indices])


@attrs.frozen(eq=False)
class Contents:
    """The windows that are not freed, in the order in which they were opened, and that of each row, by slot."""

    opened: Ints
    windows: tuple[Ints, ...]


class WindowJoin(Stage):
    """Two streams in windows."""

    keeps_time = True

    def __init__(self, join: Join, installed: Installed, spans: Spans) -> None:
        super().__init__(join)
        self.installed = installed
        self.spans = spans
        self.newest: list[int | None] = [None, None]
        for one in join.installed:
            if one.restriction.meaning is Meaning.NEWEST:
                for slot in one.named:
                    n, before = one.restriction.configuration["n"], self.newest[slot.index]
                    self.newest[slot.index] = n if before is None else min(n, before)
        self.is_oldest_first = any(one.restriction.meaning is Meaning.OLDEST_FIRST for one in join.installed)
        self.body = ColumnarBody(join, linking(join))
        slots = {slot.name: slot for slot in join.slots}
        self.sides: tuple[list[Column], list[Column]] = ([], [])
        for pair in join.pattern.equalities:
            for name, side in pair:
                self.sides[slots[name].index].append(of_expression(side, slots[name]))

    def source(self) -> str:
        """Return the code of the body, below the functions that find its candidates."""
        return heading(self.join, f"deliveries to {self.spans}, met") + "".join(code.text for code in self.body.codes)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Deliver what comes, and let it meet what is there."""
        before: Contents = state.more
        rows: list[Rows | None] = []
        windows, coming, late = [], [], []
        for slot, retained, of_retained in zip(self.join.slots, state.retained, before.windows, strict=True):
            there, mine = [retained], of_retained
            if slot.index in arriving:
                none = np.zeros(0, np.int64)
                found = deliveries(self.spans, slot, self.join.world, arriving[slot.index], none, moment)
                there.append(found.rows if found.place is None else found.rows.take(found.place))
                mine = np.concatenate([of_retained, found.window])
                coming.append((found.position, found.window))
                late += found.late
            present = [one for one in there if one is not None]
            rows.append(joined(present) if present else None)
            windows.append(mine)
        clock = until(moment, self.join.world)
        after = self._after(rows, windows, first_met(before.opened, _by_arrival(coming)), clock)
        both = [one for one in rows if one is not None and len(one)]
        if len(both) < 2:
            return Outcome(nothing(), after, 0, late)
        first, second = self._met(both, windows)
        parts = [
            InWindow(mine, chosen, window, self.spans)
            for mine, chosen, window in zip(both, (first, second), windows, strict=True)
        ]
        position = np.maximum(both[0].position[first], both[1].position[second])
        flow = flow_of(self.body, parts, position) if len(first) else nothing()
        return Outcome(flow, after, len(first), late)

    def _met(self, rows: Sequence[Rows], windows: Sequence[Ints]) -> tuple[Indices, Indices]:
        """Return the candidates, in order: which rows of both slots."""
        sides = [[column(mine) for column in columns] for mine, columns in zip(rows, self.sides, strict=True)]
        low = min(int(mine.min()) for mine in windows)
        codes = [mine - low for mine in windows]
        count = max(int(mine.max()) for mine in codes) + 1
        linked: list[Ints] | None = None
        if sides[0]:
            linked, keys = encoded(sides, skips_null=False)
            if self.newest == [None, None]:
                # What equals nothing has a code of its own, by slot.
                codes = [
                    code * (keys + 2) + np.where(link == NEVER, keys + slot, link)
                    for slot, (code, link) in enumerate(zip(codes, linked, strict=True))
                ]
                count, linked = count * (keys + 2), None
        first, second = met(codes, count, [one.position for one in rows], self.newest, self.is_oldest_first)
        if linked is not None:
            equal = (linked[0][first] == linked[1][second]) & (linked[0][first] != NEVER)
            first, second = first[equal], second[equal]
        return first, second

    def _after(self, rows: Sequence[Rows | None], windows: Sequence[Ints], opened: Ints, clock: int) -> State:
        """Return what is in memory afterwards."""
        retained, of = [], []
        for mine, window, n in zip(rows, windows, self.newest, strict=True):
            stays = ~self.spans.is_freed(window, clock)
            if n is not None and len(window):
                stays &= _from_last(window) < n
            kept = mine if mine is None or stays.all() else mine.take(np.flatnonzero(stays))
            retained.append(None if kept is None else kept.as_retained())
            of.append(window[stays])
        return State(tuple(retained), Contents(opened[~self.spans.is_freed(opened, clock)], tuple(of)))

    # -- state ---------------------------------------------------------------------------------------------------------

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return what is in memory, as it came to its windows."""
        retained, windows = [], []
        for slot in self.join.slots:
            entries = list(slot.memory.all())
            if any(entry.more is not None for entry in entries):
                reason = "a retained event is used up in part"
                raise NotColumnar(reason)
            came = [outside(entry, self._space) for entry in entries]
            retained.append(rows_of(slot, came, arriving.get(slot.index)))
            of: list[Any] = [window_of(entry) for entry in entries]
            windows.append(np.array([self.spans.number(window) for window in of], np.int64))
        return State(tuple(retained), Contents(opened(self.spans, self.installed), tuple(windows)))

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold it."""
        contents: Contents = state.more
        store_windows(self.spans, self.installed, contents.opened, None)
        for slot, rows, windows in zip(self.join.slots, state.retained, contents.windows, strict=True):
            stored.add(id(slot.memory))
            for entry in list(slot.memory.all()):
                slot.memory.remove(entry)
            if rows is not None:
                self._store(slot, rows, windows)

    def _store(self, slot: Slot, rows: Rows, windows: Ints) -> None:
        for entry, window in zip(entries_of(self.join, slot, rows), self.spans.objects(windows), strict=True):
            delivered = inside(entry, self._space, window)
            delivered.number = self.join.world.next_number()  # an event in several windows is several
            slot.memory.store(delivered)
        slot.memory.settle(slot.memory.all())

    @property
    def _space(self) -> int:
        space = self.join.bindings.window_space
        assert space is not None  # Invariant: there are windows
        return space


def met(
    codes: Sequence[Ints], count: int, positions: Sequence[Ints], newest: Sequence[int | None], is_oldest_first: bool
) -> tuple[Indices, Indices]:
    """Return which rows of two slots meet under equal codes, the later one in the batch: in order of enumeration.

    Args:
        codes: The group of each row, by slot; rows are in order of arrival.
        count: They are in ``range(count)``.
        positions: The step of each row.
        newest: How many of the newest of a slot, under one code, are there; None: all.
        is_oldest_first: Whether they are visited so.
    """
    sizes = [len(mine) for mine in codes]
    slot, place = np.repeat([0, 1], sizes), np.concatenate([np.arange(size) for size in sizes])
    position, code = np.concatenate(positions), np.concatenate(codes)
    arrival = np.argsort(position, kind="stable")
    order = arrival[by_code(code[arrival], count)]
    first = begins(code[order])
    since = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    found: list[Indices] = []
    ends, lengths = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    for one in (0, 1):
        is_mine = slot[order] == one
        found.append(place[order[is_mine]])
        so_far = np.cumsum(is_mine)
        there = so_far - (so_far - is_mine)[since]
        n = newest[one]
        other = ~is_mine
        ends[order[other]] = so_far[other]
        lengths[order[other]] = there[other] if n is None else np.minimum(there[other], n)
    lengths[position == BEFORE] = 0
    meeting = arrival[lengths[arrival] > 0]
    lengths, ends = lengths[meeting], ends[meeting]
    total = int(lengths.sum())
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    partner = np.repeat(ends - lengths, lengths) + within if is_oldest_first else np.repeat(ends - 1, lengths) - within
    mine, which = np.repeat(place[meeting], lengths), np.repeat(slot[meeting], lengths)
    left, right = np.empty(total, np.int64), np.empty(total, np.int64)
    is_left = which == 0
    left[is_left], right[is_left] = mine[is_left], found[1][partner[is_left]]
    right[~is_left], left[~is_left] = mine[~is_left], found[0][partner[~is_left]]
    return left, right


def _from_last(windows: Ints) -> Ints:
    """Return how many rows of the same window come after each."""
    low, high = int(windows.min()), int(windows.max())
    order = by_code(windows - low, high - low + 1)
    heads = np.flatnonzero(begins(windows[order]))
    tails = np.append(heads[1:], len(order)) - 1
    found = np.empty(len(order), np.int64)
    found[order] = np.repeat(tails, np.diff(np.append(heads, len(order)))) - np.arange(len(order))
    return found


def _by_arrival(coming: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Return the windows of what comes to several slots, in order of arrival."""
    if not coming:
        return np.zeros(0, np.int64)
    position, window = (np.concatenate(column) for column in zip(*coming, strict=True))
    return window if len(coming) == 1 else window[np.argsort(position, kind="stable")]


def window_join_stage(join: Join) -> Stage | str:
    """Return the stage of two streams that meet in windows, at once."""
    meanings = {one.restriction.meaning for one in join.installed}
    opening = [one for one in join.installed if one.restriction.meaning is Meaning.WINDOWS]
    if len(opening) != 1 or not meanings <= _KNOWN or not isinstance(join.batch.output, Events):
        return "it is no product in windows"
    if len(join.slots) != 2 or join.slots[0].reactive is join.slots[1].reactive:
        return "not two sources meet in its windows"
    if any(slot.reactive.table or slot.reactive.pattern is not None or slot.is_table for slot in join.slots):
        return "a slot in windows is no plain stream"
    if any(slot.n is not None or slot.shared is not None for slot in join.slots):
        return "a slot in windows is shared, or binds lists"
    space = join.bindings.window_space
    newest = [one for one in join.installed if one.restriction.meaning is Meaning.NEWEST]
    if any(one.prefixes[slot.index] != (space,) for one in newest for slot in one.named):
        return "what is kept of a slot is common to all windows"
    spans = spans_of(opening[0])
    if isinstance(spans, str):
        return spans
    if spans.delay is not None:
        return "what meets in its windows waits for their end"
    try:
        stage = WindowJoin(join, opening[0], spans)
    except NotColumnar as why:
        return f"there is no code for {why}"
    return stage if stage.body.is_traced else "its body is asked candidate by candidate"
