"""The envelope: all inputs as one tagged frame, and the one frame that comes back.

Out: bucket, source, chunk (the packed rows, see `packing`), and ``at``, which carries the watermark: the latest of the
chunk's times. What must not move the watermark has a time that cannot.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from spark_bridge.dead_letters import NO_TIME
from spark_bridge.emission import CHANGES, LETTERS, NO_OUTPUT
from spark_bridge.packing import EVERYWHERE, PACKED, packer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column

    from spark_bridge.dead_letters import Plausible
    from spark_bridge.emission import Layout
    from spark_bridge.sources import Source

FOREVER: Final = "TIMESTAMP '2250-01-01 00:00:00Z'"  # it goes through pandas, whose timestamps end in 2262


def column(name: str) -> Column:
    """Return the column of that name, whatever characters it has."""
    return f.col(f"`{name.replace('`', '``')}`")


def tagged(source: Source, buckets: int, plausible: Plausible) -> DataFrame:
    """Return the tagged frame of one source."""
    time = column(source.event_time)
    reason = plausible.objection(time)
    for needed, what in source.needed.items():
        reason = f.coalesce(reason, f.when(column(needed).isNull(), f.lit(f"its {what} {needed!r} is null")))
    sequence = f.lit(0) if source.sequence is None else f.coalesce(column(source.sequence), f.lit(0))
    frame = source.frame.select(
        f.when(reason.isNull(), _bucket(source, buckets)).otherwise(f.lit(0)).alias("bucket"),
        sequence.cast("long").alias("sequence"),
        f.coalesce(f.unix_micros(time), f.lit(NO_TIME)).alias("time"),
        reason.alias("reason"),
        *(column(field.name).alias(f"column {place}") for place, field in enumerate(source.schema)),
    ).mapInArrow(packer(source.schema), PACKED)
    bucket = f.col("bucket")
    if source.partition is None and buckets > 1:
        every = f.sequence(f.lit(0), f.lit(buckets - 1))
        bucket = f.explode(f.when(bucket == EVERYWHERE, every).otherwise(f.array(bucket))).alias("bucket")
    return frame.select(bucket, f.lit(source.number).alias("source"), "at", "chunk")


def _bucket(source: Source, buckets: int) -> Column:
    if buckets == 1:
        return f.lit(0)
    if source.partition is None:
        return f.lit(EVERYWHERE)
    key = column(source.partition)
    is_whole = isinstance(source.frame.schema[source.partition].dataType, t.IntegralType)
    return f.pmod(f.hash(key.cast("long") if is_whole else key), f.lit(buckets))


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the union of tagged frames."""
    return reduce(DataFrame.unionByName, frames)


def opened(frame: DataFrame, layout: Layout, key: t.DataType) -> DataFrame:
    """Return the frame of all that came back: codes by their names, and one column for the key."""
    is_letter = f.col("output") == NO_OUTPUT
    keys = [f.col(f"key_{place}").cast(key) for place in range(len(layout.keys))]
    return frame.select(
        f.when(is_letter, _named(LETTERS)).otherwise(f.lit("result")).alias("kind"),
        "bucket",
        f.when(~is_letter, _named(layout.names, f.col("output"))).alias("output"),
        f.when(~is_letter, _named(CHANGES)).alias("change"),
        f.coalesce(*keys).alias("key"),
        "start",
        "end",
        *(["value"] if len(layout.value) else []),
        "source",
        "reason",
        "at",
        "payload",
    )


def _named(names: Iterable[str], code: Column | None = None) -> Column:
    """Return the name of a code."""
    return f.get(f.array(*map(f.lit, names)), f.col("code") if code is None else code)
