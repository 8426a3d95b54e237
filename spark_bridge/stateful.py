"""The functions that Spark calls, one bucket at a time; the only place that says which bucket an error comes from.

Streaming: ``applyInPandasWithState`` without a timeout, because Spark's event-time timeout drops late rows before the
function sees them; so lateness is ours to tell, from the watermark that the state gives. A bucket without rows is not
called: deadlines on idle buckets come with a later issue. Batch: ``applyInPandas``; there is no watermark, and all
sources end.

The state is one binary column, the engine's snapshot: restored at the start of a call, taken at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pyspark.sql.streaming.state import GroupStateTimeout

from spark_bridge.buckets import Row
from spark_bridge.envelope import OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

    from spark_bridge.buckets import Buckets, Outcome

_STATE: Final = "engine binary"
_MILLISECOND = 1_000


def run_streaming(frame: DataFrame, buckets: Buckets, *, has_watermark: bool) -> DataFrame:
    """Return the output of a streaming tagged frame."""

    def call(key: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        bucket = int(key[0])
        before = bytes(state.get[0]) if state.exists else None
        watermark = state.getCurrentWatermarkMs() if has_watermark else 0
        # Spark's 0 is "none yet". A row at the watermark counts as late for Spark, hence one millisecond more.
        clock = (watermark + 1) * _MILLISECOND if watermark > 0 else None
        outcome = _noting(bucket, lambda: buckets.run(bucket, before, _rows(frames), clock))
        state.update((outcome.state,))
        if outcome.rows:
            yield _to_pandas(outcome.rows)

    return frame.groupBy("bucket").applyInPandasWithState(call, OUTPUT, _STATE, "append", GroupStateTimeout.NoTimeout)


def run_batch(frame: DataFrame, buckets: Buckets, *, close: bool) -> DataFrame:
    """Return the output of a batch tagged frame."""

    def call(key: Any, rows: pd.DataFrame) -> pd.DataFrame:
        bucket = int(key[0])
        outcome = _noting(bucket, lambda: buckets.run(bucket, None, _rows([rows]), close=close))
        return _to_pandas(outcome.rows)

    return frame.drop("at").groupBy("bucket").applyInPandas(call, OUTPUT)


def _noting(bucket: int, work: Callable[[], Outcome]) -> Outcome:
    try:
        return work()
    except Exception as error:
        error.add_note(f"while processing bucket {bucket}")
        raise


def _rows(frames: Iterable[pd.DataFrame]) -> list[Row]:
    """Return the rows of all chunks of a call."""
    return [
        Row(sequence, time, source, payload, reason if isinstance(reason, str) else None)
        for frame in frames
        for sequence, time, source, payload, reason in zip(
            *(frame[name].tolist() for name in ("sequence", "time", "source", "payload", "reason")), strict=True
        )
    ]


def _to_pandas(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as objects, so that a null changes no other value of its column."""
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in OUTPUT.names})
