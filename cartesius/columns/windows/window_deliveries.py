"""Deliveries: which events a batch brings to which windows, when, and what is held back or comes too late.

Source: SEMANTICS 3.1, 3.2 and 3.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE, Rows
from cartesius.columns.stages.spans import clock_of
from cartesius.data.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cartesius.batching.world import World
    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.ordering import Segments
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.language.families import Slot


@attrs.frozen(eq=False)
class Deliveries:
    """What comes to windows in a batch, event by event and then window by window.

    Args:
        rows: The events, those that were held before first.
        place: Which of them each is; None: each event comes once, in order.
        window: The number of its window.
        position: In which step it comes.
        waited: Whether it comes because its window is reported then; None: none does.
        held: What is held afterwards.
        assigned: Which events are in a window that was not freed when they came, and the number of that window.
        late: What comes too late, as ``engine.late`` has it, with its step.
    """

    rows: Rows
    place: Indices | None
    window: NDArray[np.int64]
    position: NDArray[np.int64]
    waited: NDArray[np.bool_] | None
    held: Rows | None
    assigned: tuple[Indices, NDArray[np.int64]]
    late: list[tuple[int, Any]]

    def __len__(self) -> int:
        return len(self.window)

    def came(self, steps: int) -> NDArray[np.int64]:
        """Return in which step each has come, of all steps; there have been so many before the batch."""
        step = np.where(self.rows.position == BEFORE, self.rows.number, self.rows.position + (steps + 1))
        return step if self.place is None else step[self.place]

    def let_in(self, holds: NDArray[np.bool_] | None) -> Deliveries:
        """Return those of the events that ``holds`` is true of; None: of all."""
        if holds is None or holds.all():
            return self
        every = np.arange(len(self.rows)) if self.place is None else self.place
        some = np.flatnonzero(holds[every])
        waited = None if self.waited is None else self.waited[some]
        return attrs.evolve(
            self, place=every[some], window=self.window[some], position=self.position[some], waited=waited
        )

    def rows_of(self, chosen: Indices) -> Indices:
        """Return the events of those ``chosen``."""
        return chosen if self.place is None else self.place[chosen]


def deliveries(spans: Spans, slot: Slot, world: World, rows: Rows, moment: Moment) -> Deliveries:
    """Deliver the events of a batch, and those that were held before it."""
    place, window = spans.of(rows.start, rows.end)
    position = rows.position if place is None else rows.position[place]
    every = np.arange(len(rows)) if place is None else place
    if moment.clock is None and spans.delay is None:
        return Deliveries(rows, place, window, position, None, None, (every, window), [])
    since = clock_of(world.clock)
    clock = np.full(moment.steps, since, np.int64) if moment.clock is None else moment.clock
    was_held = position == BEFORE
    now = np.where(was_held, since, clock[position]) if len(clock) else np.full(len(position), since, np.int64)
    is_visible = spans.is_visible(window, now)
    alive = ~spans.is_freed(window, now)
    late = _late(spans, slot, rows, every, alive)
    alive &= ~(was_held & is_visible)  # what a window held has been given, once it was visible
    waits = alive & ~is_visible
    step = position
    if waits.any():
        step = position.copy()
        step[waits] = _reported(spans, window[waits], clock)
    stays = waits & (step == moment.steps)
    held = _held(rows, every[stays], world.steps + 1)
    assigned = every[alive], window[alive]
    comes = alive & ~stays
    if comes.all():
        return Deliveries(rows, place, window, step, waits if waits.any() else None, held, assigned, late)
    waits = waits[comes]
    rest = (every[comes], window[comes], step[comes], waits if waits.any() else None)
    return Deliveries(rows, *rest, held, assigned, late)


def _reported(spans: Spans, window: NDArray[np.int64], clock: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in which step each window is reported; as many as there are if it is not in this batch."""
    low, high = int(window.min()), int(window.max())
    is_dense = high - low < len(window)
    asked = np.arange(low, high + 1) if is_dense else window
    found = np.searchsorted(clock, spans.ends(asked) + (spans.delay or 0), "left")
    return found[window - low] if is_dense else found


def _held(rows: Rows, places: Indices, step: int) -> Rows | None:
    """Return what is held, each with the number of the step in which it came; ``step`` is the first of the batch."""
    if not len(places):
        return None
    is_held = np.zeros(len(rows), np.bool_)
    is_held[places] = True
    held = rows.take(np.flatnonzero(is_held))
    number = np.where(held.position == BEFORE, held.number, held.position + step)
    return attrs.evolve(held.as_retained(), number=number)


def first_met(every: NDArray[np.int64]) -> Indices:
    """Return where each number is met first, in this order."""
    if not len(every):
        return np.zeros(0, np.int64)
    low, high = int(every.min()), int(every.max())
    if high - low > 4 * len(every) + 1_000:
        return np.sort(np.unique(every, return_index=True)[1])
    first = np.full(high - low + 1, -1, np.int64)
    first[every[::-1] - low] = np.arange(len(every))[::-1]  # the last one written is the first one met
    return np.sort(first[first >= 0])


def _late(spans: Spans, slot: Slot, rows: Rows, every: Indices, alive: NDArray[np.bool_]) -> list[tuple[int, Any]]:
    """Return what all windows have been freed of, with the reason."""
    if alive.all():
        return []
    in_some, in_open = np.bincount(every, minlength=len(rows)), np.bincount(every[alive], minlength=len(rows))
    aside = rows.take(np.flatnonzero((in_some > 0) & (in_open == 0) & (rows.position != BEFORE)))
    windows = spans.objects((aside.start - spans.offset) // spans.period)
    return told_late(slot, aside, windows, [window.end + spans.lateness for window in windows])


def told_late(
    slot: Slot, aside: Rows, windows: Iterable[tuple[int, int]], until: Iterable[int]
) -> list[tuple[int, Any]]:
    """Return events that are too late for all windows, as ``engine.late`` has them, each with its step.

    Args:
        slot: The slot that they came to.
        aside: The events.
        windows: The last window of each.
        until: The clock at which that was freed.
    """
    times = zip(aside.start.tolist(), aside.end.tolist(), aside.ordinal.tolist(), strict=True)
    values = aside.payload.to_list()
    late = []
    for position, value, (start, end, ordinal), window, freed in zip(
        aside.position.tolist(), values, times, windows, until, strict=True
    ):
        event = Event(value, start, end, 1, slot.source, (slot.source, ordinal))
        reason = f"its last window, {tuple(window)}, was freed when the clock reached {freed}"
        late.append((position, (event, slot.name, reason)))
    return late


def reported(found: Deliveries, segments: Segments) -> tuple[Indices, Indices, NDArray[np.int64], NDArray[np.int64]]:
    """Return, of each group that waited, where its last row is, its first delivery, and the hull of their times."""
    assert found.waited is not None
    none = np.zeros(segments.before, np.bool_)
    waited = segments.sorted(np.concatenate([none, found.waited]))
    is_last = waited.copy()
    is_last[:-1] &= ~waited[1:] | segments.is_head[1:]
    last = np.flatnonzero(is_last)
    head = segments.heads[segments.number[last]]
    first = (head if segments.order is None else segments.order[head]) - segments.before
    bounds = np.column_stack([head, last + 1]).ravel()
    bounds = bounds[:-1] if len(bounds) and bounds[-1] == segments.size else bounds
    places = found.rows_of(np.arange(len(found)))
    before = np.zeros(segments.before, np.int64)
    start = segments.sorted(np.concatenate([before, found.rows.start[places]]))
    end = segments.sorted(np.concatenate([before, found.rows.end[places]]))
    if not len(last):
        return last, first, start[:0], end[:0]
    return last, first, np.minimum.reduceat(start, bounds)[::2], np.maximum.reduceat(end, bounds)[::2]
