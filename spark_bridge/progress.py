"""Progress: a line per micro-batch of a query that `Frames.start` runs.

Spark calls a listener from a thread of its own, some time after the micro-batch. How many results, late rows and dead
letters there were is counted by Spark on their way out (`counted`), not by another look at them.

Source: Spark's `StreamingQueryListener` and `DataFrame.observe`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryListener

from cartesius.errors import InvalidArgument
from spark_bridge.transport.emission import LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

_COUNTED: Final = "cartesius"
_KINDS: Final = ("results", "late", "dead")
_NO_WATERMARK: Final = "1970-01-01T00:00:00.000Z"  # Spark's "none yet"
_UNITS: Final = ("B", "KB", "MB", "GB")


def counted(parts: DataFrame) -> DataFrame:
    """Return the parts that come out (see `emission`), whose rows Spark counts by kind as they pass."""
    output = f.col("output")
    of_kind = {name: output >= 0 if name == "results" else output == LETTERS[name] for name in _KINDS}
    sums = [f.sum(f.when(is_mine, f.col("rows")).otherwise(0)).alias(name) for name, is_mine in of_kind.items()]
    return parts.observe(_COUNTED, *sums)


@final
class ProgressLines(StreamingQueryListener):
    """Writes a line per micro-batch: rows, rows per second, what came out, state, watermark, time.

    >>> from spark_bridge.progress import ProgressLines
    >>> spark.streams.addListener(ProgressLines())  # doctest: +SKIP
    micro-batch 3: 880 rows (460 a second), 43 results, 0 late, 2 dead; state 6 rows, 9 KB; no watermark; 1.91 s

    Queries that were not started by `Frames.start` are passed over.

    Args:
        write: Gets each line. It is called by a thread of Spark's.

    Raises:
        InvalidArgument: ``write`` cannot be called.
    """

    def __init__(self, write: Callable[[str], object] = print) -> None:
        if not callable(write):
            message = f"ProgressLines: expected a function of a line but got {write=!r} (type={type(write).__name__})"
            raise InvalidArgument(message)
        self._write = write

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Write the line of a micro-batch."""
        line = progress_line(event.progress)
        if line is not None:
            self._write(line)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing; the interface asks for it."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing: no micro-batch, no line."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing: the query says itself how it ended."""


def progress_line(progress: Mapping[str, Any]) -> str | None:
    """Return the line of a micro-batch; None if the query was not started by `Frames.start`.

    Args:
        progress: What Spark reports of a micro-batch: a `StreamingQueryProgress`, or its JSON.
    """
    counts = progress["observedMetrics"].get(_COUNTED)
    if counts is None:
        return None
    rows, milliseconds = progress["numInputRows"], progress["batchDuration"]
    speed = 1000 * rows / max(milliseconds, 1)
    came = ", ".join(f"{counts[name] or 0:,} {name}" for name in _KINDS)
    states = progress["stateOperators"]
    state = sum(each["numRowsTotal"] for each in states), sum(each["memoryUsedBytes"] for each in states)
    watermark = progress["eventTime"].get("watermark", _NO_WATERMARK)
    parts = [
        f"micro-batch {progress['batchId']}: {rows:,} rows ({speed:,.0f} a second), {came}",
        f"state {state[0]:,} rows, {_size(state[1])}",
        "no watermark" if watermark == _NO_WATERMARK else f"watermark {watermark}",
        f"{milliseconds / 1000:.2f} s",
    ]
    name = progress["name"]
    return "; ".join(parts) if name is None else f"{name}: {'; '.join(parts)}"


def _size(count: float) -> str:
    """Return a number of bytes in words."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:,.0f} {_UNITS[-1]}"
