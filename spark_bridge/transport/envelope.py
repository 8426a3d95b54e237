"""The envelope: all inputs as one tagged frame, and frames of the parts that come back (see `emission`).

Out: bucket, source, chunk (the packed rows, see `packing`), and ``at``, which carries the watermark: the latest of the
chunk's times. What must not move the watermark has a time that cannot.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from cartesius.analysis.partitioning import ANYHOW
from spark_bridge.columns.payloads import has_type
from spark_bridge.columns.written_texts import text_of
from spark_bridge.transport.dead_letters import NO_TIME
from spark_bridge.transport.emission import CHANGES, DELETE, LETTER, LETTERS
from spark_bridge.transport.packing import BEFORE_ALL, EVERYWHERE, PACKED, packer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column

    from spark_bridge.transport.dead_letters import Plausible
    from spark_bridge.transport.emission import Layout
    from spark_bridge.transport.source_frames import Source

FOREVER: Final = "TIMESTAMP '2250-01-01 00:00:00Z'"  # it goes through pandas, whose timestamps end in 2262


def quoted(name: str) -> str:
    """Return a name as Spark's SQL reads it, whatever characters it has.

    >>> from spark_bridge.transport.envelope import quoted
    >>> quoted("depth"), quoted("a.b`c")
    ('`depth`', '`a.b``c`')
    """
    return f"`{name.replace('`', '``')}`"


def column(name: str) -> Column:
    """Return the column of that name, whatever characters it has."""
    return f.col(quoted(name))


def objection(source: Source, plausible: Plausible) -> Column:
    """Return why a row of a source cannot be used; null if it can."""
    reason = f.lit(None).cast("string")
    if source.event_time is not None:
        reason = plausible.objection(column(source.event_time))
    for needed, what in source.needed.items():
        reason = f.coalesce(reason, f.when(column(needed).isNull(), f.lit(f"its {what} {needed!r} is null")))
    return reason


def tagged(source: Source, buckets: int, plausible: Plausible, called: int = 1) -> DataFrame:
    """Return the tagged frame of one source; for the buckets that are called with it, see `packing.packer`."""
    reason = objection(source, plausible)
    sequence = f.lit(0) if source.sequence is None else f.coalesce(column(source.sequence), f.lit(0))
    time = f.lit(BEFORE_ALL)
    if source.event_time is None:
        sequence = f.lit(BEFORE_ALL)
    else:
        time = f.coalesce(f.unix_micros(column(source.event_time)), f.lit(NO_TIME))
    frame = source.frame.select(
        *(column(field.name).alias(f"column {place}") for place, field in enumerate(source.input.schema)),
        sequence.cast("long").alias("sequence"),
        time.alias("time"),
        reason.alias("reason"),
        # The last: of an expression of n columns that are renamed after it, Spark's optimizer makes 2**n.
        f.when(reason.isNull(), _bucket(source, buckets)).otherwise(f.lit(0)).alias("bucket"),
    ).mapInArrow(packer(source.input.schema, called), PACKED)
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
    if source.partition == ANYHOW:
        own = [] if source.event_time is None else [source.event_time]
        # Spark hashes no maps, as equal ones may differ in order.
        names = (*own, *(field.name for field in source.input.schema if not has_type(field.dataType, (t.MapType,))))
        return f.pmod(f.hash(*map(column, dict.fromkeys(names))), f.lit(buckets)) if names else f.lit(0)
    key = column(source.partition)
    is_whole = isinstance(source.frame.schema[source.partition].dataType, t.IntegralType)
    return f.pmod(f.hash(key.cast("long") if is_whole else key), f.lit(buckets))


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the union of tagged frames."""
    return reduce(DataFrame.unionByName, frames)


def opened(parts: DataFrame, layout: Layout, key: t.DataType) -> DataFrame:
    """Return the frame of all that parts hold: codes by their names, and one column for the key."""
    rows = _unpacked(parts, layout, layout.schema)
    kind = f.coalesce(_named(LETTERS, -1 - f.col("output")), f.lit("result"))
    fields = _fields(layout)
    is_row = f.col("output") >= 0
    value = [f.when(is_row & (f.col("change") != DELETE), f.struct(*fields)).alias("value")] if fields else []
    output = f.when(is_row, _named(layout.names, f.col("output"))).alias("output")
    columns: list[Column | str] = [kind.alias("kind"), "bucket", output, *_of_results(layout, key), *value]
    return rows.select(*columns, "source", "reason", "at", "payload")


def results_of(parts: DataFrame, layout: Layout, key: t.DataType) -> DataFrame:
    """Return the frame of the results alone, with a column for each field of the values."""
    rows = _unpacked(parts.where(f.col("output") >= 0), layout, layout.result_schema)
    output = _named(layout.names, f.col("output")) if len(layout.names) > 1 else f.lit(*layout.names)
    return rows.select(output.alias("output"), *_of_results(layout, key), *_fields(layout))


def letters_of(parts: DataFrame, layout: Layout, kinds: Iterable[str]) -> DataFrame:
    """Return the frame of the letters of some kinds."""
    mine = parts.where(f.col("output").isin([LETTERS[kind] for kind in kinds]))
    return _unpacked(mine, layout, LETTER).select("source", "reason", "at", "payload", "bucket")


def _unpacked(parts: DataFrame, layout: Layout, schema: t.StructType) -> DataFrame:
    return parts.mapInArrow(partial(layout.rows, schema=schema), schema)


def _of_results(layout: Layout, key: t.DataType) -> list[Column]:
    """Return the columns that results of all outputs have."""
    keys = [_key(f.col(f"key_{place}"), kind, key) for place, kind in enumerate(layout.keys)]
    change = _named(CHANGES, f.col("change")).alias("change")
    return [change, f.coalesce(*keys, f.lit(None).cast(key)).alias("key"), f.col("start"), f.col("end")]


def _key(key: Column, kind: t.DataType, wanted: t.DataType) -> Column:
    """Return a key as what keys of all outputs are: if it is a text, then another one than that of any other key."""
    return text_of(key, kind) if isinstance(wanted, t.StringType) else key.cast(wanted)


def _fields(layout: Layout) -> list[Column]:
    return [f.col(f"value_{place}").alias(name) for place, name in enumerate(layout.value.names)]


def _named(names: Iterable[str], code: Column) -> Column:
    """Return the name of a code; null if it is of no name."""
    return f.get(f.array(*map(f.lit, names)), code)
