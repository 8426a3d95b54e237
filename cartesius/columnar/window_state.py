"""The state of windows as columns: which are open, what they hold, and what their groups have come to.

Invariant: what is held is in a window that is not visible yet; of a window that is freed nothing is known.

Source: SEMANTICS 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columnar.conversions import of_values
from cartesius.columnar.rows import BEFORE, Rows
from cartesius.columnar.spans import clock_of
from cartesius.columnar.stages import entries_of
from cartesius.columnar.totalling import chosen
from cartesius.columnar.vectors import NotColumnar
from cartesius.queues import Queue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columnar.spans import Spans
    from cartesius.columnar.totalling import Totals
    from cartesius.columnar.vectors import Indices, Vector
    from cartesius.entries import Entry
    from cartesius.events import Window
    from cartesius.families import Slot
    from cartesius.installations import Installed


@attrs.frozen(eq=False)
class Groups:
    """The totals of windows that are not freed, in the order in which they were first given.

    Args:
        window: The number of the window of each.
        key: The key of each, where there are keys.
        counts: Of how many results it is.
        totals: What it comes to.
    """

    window: NDArray[np.int64]
    key: Vector | None
    counts: NDArray[np.int64]
    totals: Totals

    def __len__(self) -> int:
        return len(self.window)

    def take(self, indices: Indices) -> Groups:
        """Return some of them."""
        key = None if self.key is None else self.key.take(indices)
        return Groups(self.window[indices], key, self.counts[indices], chosen(self.totals, indices))


@attrs.frozen(eq=False)
class Windows:
    """The windows that are not freed, in the order in which they were opened, and their groups."""

    opened: NDArray[np.int64]
    groups: Groups


def load_held(slot: Slot, installed: Installed, like: Rows | None) -> Rows | None:
    """Return what windows hold back, in order of arrival; the number of each is that of its step."""
    contents = installed.copies[()].contents if () in installed.copies else {}
    found: dict[int, Entry] = {id(entry): entry for queue in contents.values() for entry in queue}
    entries = sorted(found.values(), key=lambda entry: entry.noted("step"))
    if not entries:
        return None
    if not all(set(entry.more or ()) <= {"step"} and entry.identity[:1] == (slot.source,) for entry in entries):
        reason = "what windows hold is derived"
        raise NotColumnar(reason)
    try:
        start, end = (np.array([getattr(e, name) for e in entries], np.int64) for name in ("start", "end"))
    except (OverflowError, ValueError) as error:
        reason = "what windows hold has an infinite time"
        raise NotColumnar(reason) from error
    payload = of_values([entry.value for entry in entries], None if like is None else like.payload)
    ordinal = np.array([entry.identity[1] for entry in entries], np.int64)
    steps = np.array([entry.noted("step") for entry in entries], np.int64)
    return Rows(payload, start, end, ordinal, steps, np.full(len(entries), BEFORE, np.int64))


def opened(spans: Spans, installed: Installed) -> NDArray[np.int64]:
    """Return the numbers of the windows that are not freed, as the objects have them."""
    contents = installed.copies[()].contents if () in installed.copies else {}
    return np.array([spans.number(window) for window in contents], np.int64)


def store_windows(spans: Spans, installed: Installed, opened: NDArray[np.int64], held: Rows | None) -> None:
    """Let the objects have the windows: what they hold, which of them are reported, and what is due when."""
    join, world = installed.join, installed.join.world
    clock = clock_of(world.clock)
    world.deadlines.forget_all(join)
    installed.due.clear()
    if not len(opened):
        installed.copies.pop((), None)
        return
    windows = spans.objects(opened)
    contents: dict[Window, list[Entry]] = {window: [] for window in windows}
    if held is not None:
        (slot,) = join.slots
        entries = entries_of(join, slot, held)
        rows, numbers = spans.of(held.start, held.end)
        places = np.arange(len(held)) if rows is None else rows
        hidden = ~spans.is_visible(numbers, clock)
        for window, place in zip(spans.objects(numbers[hidden]), places[hidden].tolist(), strict=True):
            contents[window].append(entries[place])
        for entry in entries:
            entry.note(step=entry.number)
            entry.number = -1
    copy: Any = installed.copies.get(()) or installed.make(())
    copy.contents = {window: Queue(entries) for window, entries in contents.items()}
    visible = spans.is_visible(opened, clock) if spans.delay is not None else np.zeros(len(opened), np.bool_)
    copy.reported = frozenset(window for window, shown in zip(windows, visible.tolist(), strict=True) if shown)
    for window, shown in zip(windows, visible.tolist(), strict=True):
        if spans.delay is not None and not shown:
            world.deadlines.add(window.end + spans.delay - 1, installed, ())  # type: ignore[arg-type]  # it is finite
        world.deadlines.add(window.end + spans.lateness - 1, installed, ())  # type: ignore[arg-type]  # likewise
