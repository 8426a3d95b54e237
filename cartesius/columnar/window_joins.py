"""The kernel of two streams that meet in windows: the product of each window, or of its newest events.

Each event is a row in each of its windows. Rows of both slots are sorted by window, and by what must be equal, stably;
so what an event meets is a span of the other slot's rows that ends where it stands itself.

Source: SEMANTICS 1.3, 1.4 and 3.2; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columnar.computed import Keys, codes_of, codes_under, linking
from cartesius.columnar.conversions import of_values
from cartesius.columnar.headings import heading
from cartesius.columnar.rows import Rows, joined, nothing
from cartesius.columnar.spans import spans_of, until
from cartesius.columnar.stages import Outcome, Stage, State, entries_of, rows_of
from cartesius.columnar.vectorising import ColumnarBody
from cartesius.columnar.vectors import NotColumnar, concatenated
from cartesius.columnar.window_deliveries import deliveries, first_met
from cartesius.columnar.window_meetings import InWindow, from_last, met
from cartesius.columnar.window_state import opened, store_windows
from cartesius.columnar.zipping import flow_of
from cartesius.meanings import Meaning
from cartesius.outputs import Events
from cartesius.windows import inside, outside, window_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.spans import Spans
    from cartesius.columnar.stages import Moment
    from cartesius.columnar.vectors import Indices, Vector
    from cartesius.families import Slot
    from cartesius.installations import Installed
    from cartesius.join_shape import Join

    Ints = NDArray[np.int64]

_KNOWN = {Meaning.WINDOWS, Meaning.KEYS, Meaning.NEWEST, Meaning.COMPLETION, Meaning.OLDEST_FIRST}


@attrs.frozen(eq=False)
class Contents:
    """What windows hold, beside their rows.

    Args:
        opened: The windows that are not freed, in the order in which they were opened, each once a key.
        keys: The key of each, where they are left of the windows.
        windows: The window of each row, by slot.
    """

    opened: Ints
    keys: Vector | None
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
        self.keys = Keys(join)
        spaces = [space for space, by_slot in enumerate(self.keys.spaces) if by_slot]
        self.space = spaces[0] if spaces else None
        self.are_keyed = self.space is not None and self.space < self._space  # each key has windows of its own
        kept = [one for one in join.installed if one.restriction.meaning is Meaning.NEWEST]
        self.newest_by_key = any(self.space in one.prefixes[one.named[0].index] for one in kept)
        components = self.keys.components()
        if isinstance(components, str):
            raise NotColumnar(components)
        self.components = components

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
                coming.append((slot.index, found.position, found.window))
                late += found.late
            present = [one for one in there if one is not None]
            rows.append(joined(present) if present else None)
            windows.append(mine)
        of_key, count = self._codes_of_keys(rows)
        after = self._after(rows, windows, of_key, before, coming, until(moment, self.join.world))
        both = [one for one in rows if one is not None and len(one)]
        if len(both) < 2:
            return Outcome(nothing(), after, 0, late)
        first, second = self._met(both, windows, of_key, count)
        parts = [
            InWindow(mine, chosen, window, self.spans, None if (key := self.keys.own(slot)) is None else key(mine))
            for slot, (mine, chosen, window) in enumerate(zip(both, (first, second), windows, strict=True))
        ]
        position = np.maximum(both[0].position[first], both[1].position[second])
        flow = flow_of(self.body, parts, position) if len(first) else nothing()
        return Outcome(flow, after, len(first), late)

    def _codes_of_keys(self, rows: Sequence[Rows | None]) -> tuple[list[Ints], int]:
        """Return the code of the key of each row, by slot, and how many there are."""
        there = {slot: mine for slot, mine in enumerate(rows) if mine is not None}
        if self.space is None or not there:
            return [np.zeros(0 if mine is None else len(mine), np.int64) for mine in rows], 1
        found, count = codes_of([self.keys.in_space(self.space, slot, mine) for slot, mine in there.items()])
        codes = dict(zip(there, found, strict=True))
        return [codes.get(slot, np.zeros(0, np.int64)) for slot in range(len(rows))], count + 1

    def _met(
        self, rows: Sequence[Rows], windows: Sequence[Ints], of_key: Sequence[Ints], count: int
    ) -> tuple[Indices, Indices]:
        """Return the candidates, in order: which rows of both slots."""
        linked, links = codes_under(self.components, rows) if self.components else ([], 1)
        nobody = links - 1
        groups = list(of_key)
        if linked and self.newest == [None, None]:  # what equals nothing has a code of its own in each slot
            groups = [np.where(mine == nobody, nobody + slot, mine) for slot, mine in enumerate(linked)]
            linked, count = [], links + 1
        elif not self.newest_by_key:
            groups, count = [np.zeros_like(mine) for mine in of_key], 1
        low = min(int(mine.min()) for mine in windows)
        span = max(int(mine.max()) for mine in windows) - low + 1
        groups = [(mine - low) * count + group for mine, group in zip(windows, groups, strict=True)]
        positions = [one.position for one in rows]
        first, second = met(groups, span * count, positions, self.newest, is_oldest_first=self.is_oldest_first)
        if linked:
            equal = (linked[0][first] == linked[1][second]) & (linked[0][first] != nobody)
            first, second = first[equal], second[equal]
        return first, second

    def _after(
        self,
        rows: Sequence[Rows | None],
        windows: Sequence[Ints],
        of_key: Sequence[Ints],
        before: Contents,
        coming: Sequence[tuple[int, Ints, Ints]],
        clock: int,
    ) -> State:
        """Return what is in memory afterwards, and which windows are open."""
        retained, of = [], []
        for mine, window, key, n in zip(rows, windows, of_key, self.newest, strict=True):
            stays = ~self.spans.is_freed(window, clock)
            if n is not None and len(window):
                stays &= from_last(window, key if self.newest_by_key else np.zeros_like(key)) < n
            kept = mine if mine is None or stays.all() else mine.take(np.flatnonzero(stays))
            retained.append(None if kept is None else kept.as_retained())
            of.append(window[stays])
        opened, keys = self._opened(before, rows, coming)
        stays = ~self.spans.is_freed(opened, clock)
        keys = keys if keys is None or stays.all() else keys.take(np.flatnonzero(stays))
        return State(tuple(retained), Contents(opened[stays], keys, tuple(of)))

    def _opened(
        self, before: Contents, rows: Sequence[Rows | None], coming: Sequence[tuple[int, Ints, Ints]]
    ) -> tuple[Ints, Vector | None]:
        """Return the windows that have been opened, each once a key."""
        if not coming:
            return before.opened, before.keys
        position, window = (np.concatenate([one[place] for one in coming]) for place in (1, 2))
        order = np.argsort(position, kind="stable")
        every = np.concatenate([before.opened, window[order]])
        if not self.are_keyed or self.space is None:
            return every[first_met(every)], None
        new = []
        for slot, _, mine in coming:
            there = rows[slot]
            assert there is not None  # Invariant: what comes is among the rows
            keys = self.keys.in_space(self.space, slot, there)
            new.append(keys.take(np.arange(len(there) - len(mine), len(there))))
        every_key = concatenated([*([] if before.keys is None else [before.keys]), concatenated(new).take(order)])
        (codes, *_), count = codes_of([every_key])
        first = first_met(every * (count + 1) + codes)
        return every[first], every_key.take(first)

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
        numbers, keys = opened(self.spans, self.installed)
        return State(tuple(retained), Contents(numbers, of_values(keys) if self.are_keyed else None, tuple(windows)))

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold it."""
        contents: Contents = state.more
        keys = None if contents.keys is None else contents.keys.to_list()
        store_windows(self.spans, self.installed, contents.opened, None, keys)
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


def window_join_stage(join: Join) -> Stage | str | None:
    """Return the stage of two streams that meet in windows, at once."""
    meanings = {one.restriction.meaning for one in join.installed}
    opening = [one for one in join.installed if one.restriction.meaning is Meaning.WINDOWS]
    if len(opening) != 1 or not meanings <= _KNOWN or not isinstance(join.batch.output, Events):
        return None
    if len(join.slots) != 2 or join.slots[0].reactive is join.slots[1].reactive:
        return "not two sources meet in its windows"
    if any(slot.reactive.table or slot.reactive.pattern is not None or slot.is_table for slot in join.slots):
        return "a slot in windows is no plain stream"
    if any(slot.n is not None or slot.shared is not None for slot in join.slots):
        return "a slot in windows is shared, or binds lists"
    spaces = join.bindings.spaces
    if len(spaces) > 2 or any(set(space) != {0, 1} for space in spaces):
        return "its slots are not keyed once, together"
    kept = [one for one in join.installed if one.restriction.meaning is Meaning.NEWEST]
    prefixes = {one.prefixes[slot.index] for one in kept for slot in one.named}
    if len(prefixes) > 1 or not all(join.bindings.window_space in prefix for prefix in prefixes):
        return "what is kept of a slot is common to all windows"
    spans = spans_of(opening[0])
    if isinstance(spans, str):
        return spans
    if spans.delay is not None:
        return "what meets in its windows waits for their end"
    try:
        stage = WindowJoin(join, opening[0], spans)
    except NotColumnar as why:
        return str(why)
    return stage if stage.body.is_traced else "its body is asked candidate by candidate"
