"""Spans: windows of one size, one every period, as numbers; which events are in which, and until when.

Window ``n`` is ``[offset + n · period, offset + n · period + size)``.

Source: SEMANTICS 3.2 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import FAR, LAST
from cartesius.columns.vectors.ordering import ranges
from cartesius.columns.vectors.vectors import Leaf, Struct
from cartesius.data.events import EARLIEST, Window
from cartesius.plan.nodes import Regular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.batching.world import World
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.correlations.installations import Installed
    from cartesius.data.events import Time

BEGINNING: Final = int(np.iinfo(np.int64).min)
"""The clock before all times."""
_REPORTS: Final = {"on_content_change", "on_close", "final", "non_empty"}


def clock_of(time: Time) -> int:
    """Return the clock as an int."""
    return BEGINNING if time == EARLIEST else int(time)


def until(moment: Moment, world: World) -> int:
    """Return the clock after a batch."""
    return int(moment.clock[-1]) if moment.clock is not None and len(moment.clock) else clock_of(world.clock)


@attrs.frozen
class Spans:
    """The windows of one restriction, in time units.

    Args:
        size: How long each is.
        period: One starts every so often.
        offset: Where window 0 starts.
        is_bounded: Whether that is the first one.
        lateness: How long after its end a window is freed.
        delay: How long after its end it is reported; None: whatever comes is visible at once.
    """

    size: int
    period: int
    offset: int
    is_bounded: bool
    lateness: int
    delay: int | None

    def of(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[Indices | None, NDArray[np.int64]]:
        """Return which event is in which window, by event and then by window; None: each is in one."""
        last = (start - self.offset) // self.period
        if self.size == self.period and not self.is_bounded and (start is end or np.array_equal(start, end)):
            return None, last
        first = self._firsts(end)
        return ranges(first, np.maximum(last - first + 1, 0))

    def _firsts(self, end: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the first window that has not ended by each time."""
        first: NDArray[np.int64] = (end - self.size - self.offset) // self.period + 1
        return np.maximum(first, 0) if self.is_bounded else first

    def reported(self, start: NDArray[np.int64], end: NDArray[np.int64], clock: int) -> NDArray[np.int64]:
        """Return the last clock before each event is reported next, given where the clock is."""
        delay = self.delay or 0
        visible = (clock - delay - self.size - self.offset) // self.period  # the last window that is
        first = np.maximum(self._firsts(end), max(visible + 1, -LAST))
        return np.where(first * self.period + self.offset <= start, self.ends(first) + delay - 1, LAST)

    def starts(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where windows start."""
        return numbers * self.period + self.offset

    def ends(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where windows end."""
        return numbers * self.period + (self.offset + self.size)

    def column(self, numbers: NDArray[np.int64]) -> Struct:
        """Return windows as values."""
        starts = self.starts(numbers)
        items = [Leaf(pa.array(starts)), Leaf(pa.array(starts + self.size))]
        return Struct("window", ("start", "end"), items, len(numbers))

    def objects(self, numbers: NDArray[np.int64]) -> list[Window]:
        """Return windows as objects."""
        return [Window(start, start + self.size) for start in self.starts(numbers).tolist()]

    def number(self, window: Window) -> int:
        """Return the number of a window."""
        return int(window.start - self.offset) // self.period

    def is_freed(self, numbers: NDArray[np.int64], clock: NDArray[np.int64] | int) -> NDArray[np.bool_]:
        """Return which windows are over by the clock."""
        freed: NDArray[np.bool_] = self.ends(numbers) + self.lateness <= clock
        return freed

    def is_visible(self, numbers: NDArray[np.int64], clock: NDArray[np.int64] | int) -> NDArray[np.bool_]:
        """Return in which windows what comes is visible at once."""
        if self.delay is None:
            return np.ones(len(numbers), np.bool_)
        visible: NDArray[np.bool_] = self.ends(numbers) + self.delay <= clock
        return visible


def spans_of(installed: Installed) -> Spans | str:
    """Return the windows of a restriction, or why they are none that columns know."""
    node = installed.node
    if not isinstance(node, Regular):
        return "its windows are not of one size"
    if not node.reports <= _REPORTS:
        return "windows are reported from time to time"
    if node.ticks != "tuple":
        return "what comes to windows comes in batches"
    if node.content is not None or node.displaces:
        return "its windows keep, or let go of, what is in them otherwise"
    offset = node.offset if node.t0 is None else node.t0
    if max(node.size, node.period, abs(offset), node.lateness) > FAR:
        return "its windows are very large"
    delay = node.lateness if "final" in node.reports else 0 if "on_close" in node.reports else None
    return Spans(node.size, node.period, offset, node.t0 is not None, node.lateness, delay)
