"""Prefixes: a batch that gives what a stream of its rows would have given, up to the watermark of them all.

How far a stream's clock would have come is not in the rows of a bucket, but in those of all. So Spark looks for the
latest times, as it does for a stream's watermark, and each bucket is sent a chunk that says what the clock is.

Invariant: the clock is that of a stream of the same rows once it has settled, however it is cut.

Source: Spark's EventTimeWatermarkExec (whole milliseconds, nothing before 1970) and WatermarkTracker (the minimum).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from cartesius.data.events import EPOCH
from cartesius.errors import InvalidArgument
from spark_bridge.reading.options import MARK
from spark_bridge.transport.envelope import column, objection, united
from spark_bridge.transport.packing import FAR_OFF

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from spark_bridge.transport.dead_letters import Plausible
    from spark_bridge.transport.source_frames import Source

CLOCK: Final = -1
"""Stands for a source: what comes of it is the clock, in microseconds, as text."""


def delay_of(spark: SparkSession, duration: str) -> int:
    """Return how many milliseconds a duration has, as Spark's ``withWatermark`` takes it."""
    stream = marked(spark.readStream.format("rate").load().withColumnRenamed("timestamp", "at"), duration)
    found: int = stream.schema["at"].metadata[MARK]
    return found


def marked(frame: DataFrame, duration: str) -> DataFrame:
    """Return a frame with a watermark on its ``at``; raise `InvalidArgument` unless Spark can read the duration."""
    try:
        return frame.withWatermark("at", duration)
    except (PySparkException, Py4JJavaError) as error:
        message = (
            f'correlate_frames: expected durations ≥ 0 that Spark reads, such as "10 seconds", for watermark= but got'
            f" {duration!r} ({str(error).splitlines()[0]})"
        )
        raise InvalidArgument(message) from error


def checked_until(until: datetime | None, *, close: bool, is_streaming: bool, has_watermark: bool) -> int | None:
    """Return ``until=`` in microseconds; raise `InvalidArgument` unless it has a zone, and a clock that goes on."""
    if until is None:
        return None
    if close or is_streaming or has_watermark:
        message = (
            f"correlate_frames: expected until= with close=False, of a batch without watermark, but got {until=!r}; in"
            " others the sources end, or the watermark says how far time is"
        )
        raise InvalidArgument(message)
    if not isinstance(until, datetime) or until.utcoffset() is None:
        message = f"correlate_frames: expected a datetime with a zone for until= but got {until!r}"
        raise InvalidArgument(message)
    return (until - EPOCH) // timedelta(microseconds=1)


def clock_rows(
    sources: Sequence[Source],
    buckets: int,
    plausible: Plausible,
    watermark: str | Mapping[str, str] | None,
    until: int | None,
) -> DataFrame:
    """Return a row for each bucket that says the clock at the end of the rows; none if they move no clock.

    Args:
        sources: The program's.
        buckets: How many there are.
        plausible: Which times are believed.
        watermark: As for `correlate_frames`; None: the clock is just after the latest row.
        until: The least time of that, in microseconds; None: any.
    """
    timed = [source for source in sources if source.event_time is not None]
    spark = timed[0].frame.sparkSession
    delays: dict[str, int] = {}
    if isinstance(watermark, str):
        delays = dict.fromkeys((source.input.name for source in timed), delay_of(spark, watermark))
    elif watermark is not None:
        delays = {name: delay_of(spark, duration) for name, duration in watermark.items()}
        timed = [source for source in timed if source.input.name in delays]
    latest = united(_latest(source, plausible, delays.get(source.input.name)) for source in timed)
    is_whole = f.lit(True) if not isinstance(watermark, dict) else f.count("mark") == len(timed)
    mark = f.min("mark") if isinstance(watermark, dict) else f.max("mark")
    if until is None:
        is_whole &= mark > 0  # as Spark's watermark
    else:
        mark = f.greatest(mark, f.lit(until))  # which passes over the null of no rows
    clock = latest.agg(f.when(is_whole, mark + 1).alias("clock")).where("clock IS NOT NULL")
    bucket = f.explode(f.sequence(f.lit(0), f.lit(buckets - 1))).alias("bucket")
    chunk = f.col("clock").cast("string").cast("binary").alias("chunk")
    return clock.select(bucket, f.lit(CLOCK).alias("source"), f.lit(None).cast("timestamp_ltz").alias("at"), chunk)


def _latest(source: Source, plausible: Plausible, delay: int | None) -> DataFrame:
    """Return the latest time of a source's rows less its delay, in microseconds; null if it has no rows."""
    assert source.event_time is not None  # Invariant: no static one comes here
    time = f.unix_micros(column(source.event_time))
    believed = f.least(f.when(objection(source, plausible).isNull(), time), f.lit(FAR_OFF))
    latest = f.max(believed)
    if delay is not None:
        latest = (f.floor(latest / 1000) - delay) * 1000
    return source.frame.select(latest.alias("mark"))


def clock_in(chunks: dict[int, list[bytes]]) -> int | None:
    """Take the clock out of the chunks of a call; None if there is none."""
    found: Any = chunks.pop(CLOCK, None)
    return None if found is None else int(found[0])
