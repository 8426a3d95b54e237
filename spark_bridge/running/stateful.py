"""The functions that Spark calls, one bucket at a time; the only place that says which bucket an error comes from.

Streaming: ``applyInPandasWithState`` with Spark's event-time timeout, which calls a bucket without rows when something
is due in it, and lets the query run once more when the watermark has moved. That timeout also makes Spark drop late
rows before the function sees them. So once Spark has taken the watermark from ``at``, the column is replaced by one
that is never late, but carries the same mark: lateness is ours to tell, from the watermark that the state gives.
Batch: ``applyInPandas``; there is no watermark, and all sources end.

What pandas sees are chunks of rows, and parts of results, both bytes (see `packing` and `emission`). The state is one
binary column: opened at the start of a call and sealed at its end (`bucket_states`). Versions that cannot work together
are told before a query fails by them in a worker.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow
import pyspark
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupStateTimeout

from cartesius.errors import InvalidArgument, add_note
from spark_bridge.reading.prefixes import clock_in
from spark_bridge.transport.emission import PART
from spark_bridge.transport.envelope import FOREVER
from spark_bridge.transport.packing import BEFORE_ALL
from spark_bridge.transport.wire import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

    from spark_bridge.running.buckets import Buckets, Outcome

_STATE: Final = "engine binary"
_MILLISECOND = 1_000


def run_streaming(
    frame: DataFrame, buckets: Buckets, numbers: Sequence[int], *, has_watermark: bool, holds: bool = False
) -> DataFrame:
    """Return the parts that a streaming tagged frame gives.

    Args:
        frame: The tagged frame, with a watermark on ``at`` if it has one.
        buckets: The program.
        numbers: Under which number each bucket travels (`shuffles`).
        has_watermark: Whether it has.
        holds: Whether rows wait for the watermark.

    Raises:
        InvalidArgument: This PySpark and this pyarrow do not go together.
    """
    check_versions(pyspark.__version__, pyarrow.__version__)
    call = streaming_call(buckets, numbers, has_watermark=has_watermark, holds=holds)
    timeout = GroupStateTimeout.NoTimeout
    if has_watermark:
        timeout = GroupStateTimeout.EventTimeTimeout
        never_late = f.expr(FOREVER).alias("at", metadata={"spark.watermarkDelayMs": 0})
        frame = frame.select(*(name for name in frame.columns if name != "at"), never_late)
    spread = f.element_at(f.array(*map(f.lit, numbers)), f.col("bucket") + 1)
    frame = frame.withColumn("bucket", spread)
    return frame.groupBy("bucket").applyInPandasWithState(call, PART, _STATE, "append", timeout)


def streaming_call(
    buckets: Buckets, numbers: Sequence[int], *, has_watermark: bool, holds: bool = False
) -> Callable[[Any, Iterable[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    """Return what Spark calls with the rows of one bucket, or none, and its state; the arguments of `run_streaming`."""
    bucket_of = {number: bucket for bucket, number in enumerate(numbers)}

    def call(key: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        before = bytes(state.get[0]) if state.exists else None
        bucket = bucket_of.get(int(key[0]))
        if bucket is None:  # of a query with more buckets: no row goes there, a timeout of that query does
            buckets.states.refuse(before or b"")
        watermark = state.getCurrentWatermarkMs() if has_watermark else 0
        # Spark's 0 is "none yet". A row at the watermark counts as late for Spark, one a microsecond after it does not.
        clock = watermark * _MILLISECOND + 1 if watermark > 0 else None
        outcome = _noting(bucket, lambda: buckets.run(bucket, before, _chunks(frames), clock, holds=holds))
        state.update((outcome.state,))
        if has_watermark and outcome.due is not None:
            state.setTimeoutTimestamp(max(watermark, _before(outcome.due), 1))
        if outcome.parts:
            yield _to_pandas(bucket, outcome)

    return call


def _before(due: int) -> int:
    """Return the last watermark at which the clock has not reached ``due``: Spark calls once it is beyond that."""
    return -(-(due - 1) // _MILLISECOND) - 1


def run_batch(frame: DataFrame, buckets: Buckets, *, follows: bool, close: bool) -> DataFrame:
    """Return the parts that a batch tagged frame gives.

    Args:
        frame: The tagged frame.
        buckets: The program.
        follows: Whether the clock follows the rows, as it does in a stream whose rows wait for it.
        close: Whether all sources end; otherwise rows of `prefixes.CLOCK` say what the clock is at the end.
    """
    call = batch_call(buckets, follows=follows, close=close)
    return frame.drop("at").groupBy("bucket").applyInPandas(call, PART)


def batch_call(buckets: Buckets, *, follows: bool, close: bool) -> Callable[[Any, pd.DataFrame], pd.DataFrame]:
    """Return what Spark calls with all rows of one bucket; the arguments of `run_batch`."""

    def call(key: Any, rows: pd.DataFrame) -> pd.DataFrame:
        bucket, chunks = int(key[0]), _chunks([rows])
        end = None if close else clock_in(chunks) or (BEFORE_ALL if follows else None)
        outcome = _noting(bucket, lambda: buckets.run(bucket, None, chunks, end=end, follows=follows, close=close))
        return _to_pandas(bucket, outcome)

    return call


def _noting(bucket: int, work: Callable[[], Outcome]) -> Outcome:
    try:
        return work()
    except Exception as error:
        add_note(error, f"while processing bucket {bucket}")
        raise


def _chunks(frames: Iterable[pd.DataFrame]) -> dict[int, list[bytes]]:
    """Return the chunks of a call by the place of their source."""
    found: dict[int, list[bytes]] = defaultdict(list)
    for frame in frames:
        for source, chunk in zip(frame["source"].tolist(), frame["chunk"].tolist(), strict=True):
            found[source].append(chunk)
    return found


def _to_pandas(bucket: int, outcome: Outcome) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "bucket": bucket,
            "output": [output for output, _ in outcome.parts],
            "rows": [part.num_rows for _, part in outcome.parts],
            "part": [written(part) for _, part in outcome.parts],
        }
    )


_MENDED: Final = {(4, 0): 5, (4, 1): 4}
"""The first release of a minor version of PySpark that slices by whole numbers; those of later ones all do."""
_STRICT: Final = 26
"""The first pyarrow, by major version, that wants whole numbers."""


def check_versions(spark: str, arrow: str) -> None:
    """Raise `InvalidArgument` if this PySpark cannot run a stateful operator with this pyarrow.

    As soon as a group has two rows, Spark fills up with nulls the column by which Arrow batches are to be sliced. So
    its numbers come out of pyarrow as floats, and PySpark 4.0 and 4.1 sliced by those. From version 26 on pyarrow takes
    whole numbers only: releases of PySpark from before then run no stateful operator of pandas with it, neither ours
    nor anybody else's. PySpark 4.2 reads that column otherwise.

    >>> from spark_bridge.running.stateful import check_versions
    >>> check_versions("4.1.3", "25.0.0")

    Args:
        spark: The version of PySpark, here; that of the workers has to be the same.
        arrow: The version of pyarrow, here, and most likely there.

    Source:
        PySpark's ``pyspark/sql/pandas/serializers.py``; 4.0.5 and 4.1.4 say why they make whole numbers of them again.
    """
    major, minor, release = _numbers(spark)
    first = _MENDED.get((major, minor))
    if first is not None and release < first and _numbers(arrow)[0] >= _STRICT:
        message = (
            f"correlate_frames: expected a pyarrow before {_STRICT} beside PySpark {spark}, which slices batches by"
            f" floats, but got {arrow}, which takes whole numbers only, so that streams fail in their workers;"
            f' install "pyarrow<{_STRICT}", or PySpark {major}.{minor}.{first} or newer'
        )
        raise InvalidArgument(message)


def _numbers(version: str) -> tuple[int, int, int]:
    """Return the first three numbers of a version, 0 for those that it does not say."""
    major, minor, release, *_ = (*map(int, re.findall(r"\d+", version)), 0, 0, 0)
    return major, minor, release
