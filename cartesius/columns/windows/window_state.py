"""The state of windows as columns: which are open, what they hold, and what their groups have come to.

Invariant: what is held is in a window that is not visible yet; of a window that is freed nothing is known.

Source: SEMANTICS 3.2.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.bodies.computed import of_function
from cartesius.columns.groups.totalling import as_vector, chosen, of_vector
from cartesius.columns.stages.rows import Rows
from cartesius.columns.stages.spans import clock_of
from cartesius.columns.stages.stored_rows import entries_of, rows_of
from cartesius.columns.vectors.key_codes import nulls
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct
from cartesius.data.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.groups.totalling import Totals
    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.installations import Installed
    from cartesius.data.entries import Entry
    from cartesius.data.events import Window
    from cartesius.language.families import Slot


@attrs.frozen(eq=False)
class Groups:
    """The totals of windows that are not freed, in the order in which they were first given.

    Args:
        window: The number of the window of each.
        key: The key of each, where there are keys.
        counts: Of how many results it is.
        totals: What it comes to.
        born: Its number among all that there have been, ascending.
    """

    window: NDArray[np.int64]
    key: Vector | None
    counts: NDArray[np.int64]
    totals: Totals
    born: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.window)

    def take(self, indices: Indices) -> Groups:
        """Return some of them."""
        key = None if self.key is None else self.key.take(indices)
        return Groups(self.window[indices], key, self.counts[indices], chosen(self.totals, indices), self.born[indices])

    def as_rows(self) -> Rows | None:
        """Return them as rows of their keys; None if they have none, or are objects."""
        totals = as_vector(self.totals)
        if self.key is None or totals is None:
            return None
        numbers = [Leaf(pa.array(column)) for column in (self.window, self.counts)]
        payload = Struct("", ("window", "count", "total"), [*numbers, totals], len(self))
        none = np.zeros(len(self), np.int64)
        return Rows(payload, none, none, none, self.born, none, self.key)

    @staticmethod
    def of_rows(rows: Rows) -> Groups:
        """Return those that `as_rows` was given."""
        assert isinstance(rows.payload, Struct)  # Invariant: it is as `as_rows` has made it
        window, count, totals = rows.payload.items
        assert isinstance(window, Leaf)
        assert isinstance(count, Leaf)
        return Groups(window.numbers, rows.key, count.numbers, of_vector(totals), rows.number)


@attrs.frozen(eq=False)
class Windows:
    """The windows that are not freed, in the order in which they were opened, and their groups.

    Args:
        opened: Their numbers.
        groups: Their groups.
        n_born: How many groups there have been.
    """

    opened: NDArray[np.int64]
    groups: Groups
    n_born: int


def load_held(slot: Slot, installed: Installed, like: Rows | None) -> Rows | None:
    """Return what windows hold back, in order of arrival; the number of each is that of its step."""
    queues = [queue for copy in installed.copies.values() for queue in copy.contents.values()]
    found: dict[int, Entry] = {id(entry): entry for queue in queues for entry in queue if entry.slot == slot.name}
    entries = sorted(found.values(), key=lambda entry: entry.noted("step"))
    if not all(set(entry.more or ()) <= {"step"} and entry.identity[:1] == (slot.source,) for entry in entries):
        raise NotColumnar("what windows hold is derived")
    rows = rows_of(slot, entries, like)
    if rows is None:
        return None
    ordinal, steps = (
        np.array(column, np.int64)
        for column in zip(*[(entry.identity[1], entry.noted("step")) for entry in entries], strict=True)
    )
    rows = attrs.evolve(rows, ordinal=ordinal, number=steps)
    needed = installed.join.bindings.needed[slot.index]
    if any(nulls(of_function(one.key, slot)(rows)) is not None for one in needed):
        raise NotColumnar("an event without a key comes out unmatched")
    return rows


def opened(spans: Spans, installed: Installed) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the numbers of the windows that are not freed, and the key of each, if any, in the order of opening.

    Of one key the objects have that order; of several the numbers tell by which a window has asked to be reported, and
    to be freed: if both times had been asked for before, no other comes first by that.
    """
    found: list[tuple[int, int, Any]] = []
    for key, copy in installed.copies.items():
        due, asked = installed.due.get(key, {}), 0
        for window in copy.contents:
            times = (window.end + (spans.delay or 0) - 1, window.end + spans.lateness - 1)
            asked = max(asked, *[due.get(time, 0) for time in times])
            found.append((asked, spans.number(window), key[0] if key else None))
    found.sort(key=itemgetter(0))
    return np.array([number for _, number, _ in found], np.int64), [key for *_, key in found]


def first_due(spans: Spans, opened: NDArray[np.int64], clock: int) -> int | None:
    """Return the first deadline of windows that are not freed: when one is reported, or freed."""
    if not len(opened):
        return None
    ends = spans.ends(opened)
    freed = int(ends.min()) + spans.lateness
    coming = ends[ends + spans.delay > clock] if spans.delay is not None else ends[:0]
    return (min(freed, int(coming.min()) + spans.delay) if spans.delay is not None and len(coming) else freed) - 1


def store_windows(
    spans: Spans,
    installed: Installed,
    opened: NDArray[np.int64],
    held: Sequence[Rows | None],
    keys: Sequence[Any] | None = None,
) -> None:
    """Let the objects have the windows: what they hold, which of them are reported, and what is due when.

    Args:
        spans: Which windows there are.
        installed: The restriction that opens them.
        opened: Those that are not freed, in the order in which they were opened.
        held: What they hold back, by slot.
        keys: The key of each, if every key has windows of its own.
    """
    world = installed.join.world
    world.deadlines.forget_all(installed.join.installed)
    installed.due.clear()
    installed.copies.clear()
    clock = clock_of(world.clock)
    queues = _queues(spans, installed, held)
    found = [(() if keys is None else (keys[n],), one) for n, one in enumerate(spans.objects(opened))]
    by_key: dict[tuple[Any, ...], list[Window]] = {}
    for key, window in found:
        by_key.setdefault(key, []).append(window)
    delay = spans.delay
    for key, windows in by_key.items():
        copy = installed.make(key)
        copy.contents = {window: Queue(queues.get((*key, window), ())) for window in windows}
        if delay is not None:
            copy.reported = frozenset(window for window in windows if window.end + delay <= clock)
    for key, window in found:  # of one time, what was asked for first is due first
        if delay is not None and window.end + delay > clock:
            world.deadlines.add(window.end + delay - 1, installed, key)
        world.deadlines.add(window.end + spans.lateness - 1, installed, key)


def _queues(spans: Spans, installed: Installed, held: Sequence[Rows | None]) -> dict[Any, list[Entry]]:
    """Return what is held, by window, or by key and window, in order of arrival."""
    found: list[tuple[int, Any, Entry]] = []
    for slot, rows in zip(installed.join.slots, held, strict=True):
        if rows is None:
            continue
        entries = entries_of(installed.join, slot, rows)
        of, numbers = spans.of(rows.start, rows.end)
        places = np.arange(len(rows)) if of is None else of
        hidden = ~spans.is_visible(numbers, clock_of(installed.join.world.clock))
        for window, place in zip(spans.objects(numbers[hidden]), places[hidden].tolist(), strict=True):
            entry = entries[place]
            found.append((entry.number, (*installed.key_of(slot, entry), window), entry))
        for entry in entries:
            entry.note(step=entry.number)
            entry.number = -1
    queues: dict[Any, list[Entry]] = {}
    for _, place, entry in sorted(found, key=itemgetter(0)):
        queues.setdefault(place, []).append(entry)
    return queues
