"""One streaming query for all that a program gives: each micro-batch is computed once, and split."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from spark_bridge.progress import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql.streaming.query import StreamingQuery

Sink: TypeAlias = Callable[[DataFrame, int], object]
"""What is given a micro-batch and its number."""

_LOG = logging.getLogger("spark_bridge")
_SHOWN = 5  # reasons in one warning


def start_query(
    frame: DataFrame,
    sinks: Sequence[tuple[Sink | None, Callable[[DataFrame], DataFrame]]],
    *,
    checkpoint: str,
    trigger: Mapping[str, Any] | None,
    name: str | None,
    options: Mapping[str, Any],
) -> StreamingQuery:
    """Start one query that gives each sink its part of every micro-batch; what has no sink is logged."""

    def hand_over(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            for sink, part in sinks:
                (sink or _warn)(part(batch), number)
        finally:
            batch.unpersist()

    stream = counted(frame).writeStream.outputMode("append")
    writer = stream.option("checkpointLocation", checkpoint).foreachBatch(hand_over)
    for option, value in options.items():
        writer = writer.option(option, value)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()


def _warn(letters: DataFrame, number: int) -> None:
    counted = letters.groupBy("source", "reason").count().orderBy(f.desc("count")).limit(_SHOWN).collect()
    for row in counted:
        _LOG.warning("micro-batch %d: %d rows of %r were not used: %s", number, row["count"], row.source, row.reason)


def log_warnings(warnings: DataFrame, number: int) -> None:
    """Log what buckets have to say of themselves."""
    for row in warnings.select("bucket", "reason").limit(_SHOWN).collect():
        _LOG.warning("micro-batch %d: bucket %d: %s", number, row.bucket, row.reason)
