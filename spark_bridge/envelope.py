"""The envelope: all inputs as one tagged frame, and the one frame that comes back.

Out: bucket, source, sequence, time, payload, reason, and ``at``, which carries the watermark. It holds ints and text
only, and no nulls but in ``reason`` (see `values`). What must not move the watermark is given a time that cannot.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from spark_bridge.dead_letters import NO_TIME
from spark_bridge.values import JSON_OPTIONS, wire_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column

    from spark_bridge.dead_letters import Plausible
    from spark_bridge.schemas import ResultSchema
    from spark_bridge.sources import Source

OUTPUT: Final = t.StructType(
    [
        t.StructField("kind", t.StringType()),
        t.StructField("bucket", t.IntegerType()),
        t.StructField("output", t.StringType()),
        t.StructField("change", t.StringType()),
        t.StructField("start", t.LongType()),
        t.StructField("end", t.LongType()),
        t.StructField("result", t.StringType()),
        t.StructField("source", t.StringType()),
        t.StructField("reason", t.StringType()),
        t.StructField("at", t.LongType()),
        t.StructField("payload", t.StringType()),
    ]
)
"""What a bucket gives: a result, or a row that was not used; the other one's columns are null."""

_LONG_AGO = "TIMESTAMP '1700-01-01 00:00:00Z'"
FAR_OFF = "TIMESTAMP '2250-01-01 00:00:00Z'"  # ``at`` goes through pandas, whose timestamps end in 2262


def column(name: str) -> Column:
    """Return the column of that name, whatever characters it has."""
    return f.col(f"`{name.replace('`', '``')}`")


def tagged(source: Source, buckets: int, plausible: Plausible) -> DataFrame:
    """Return the tagged frame of one source."""
    time = column(source.event_time)
    reason = plausible.objection(time)
    for needed, what in source.needed.items():
        reason = f.coalesce(reason, f.when(column(needed).isNull(), f.lit(f"its {what} {needed!r} is null")))
    payload = [to_wire(column(field.name), field.dataType).alias(field.name) for field in source.schema]
    sequence = f.lit(0) if source.sequence is None else f.coalesce(column(source.sequence), f.lit(0))
    frame = source.frame.select(
        f.lit(source.number).alias("source"),
        sequence.cast("long").alias("sequence"),
        f.coalesce(f.unix_micros(time), f.lit(NO_TIME)).alias("time"),
        (f.to_json(f.struct(*payload), JSON_OPTIONS) if payload else f.lit("{}")).alias("payload"),
        reason.alias("reason"),
        time.alias("at"),
        _bucket(source, buckets).alias("home"),
    )
    is_fine = f.col("reason").isNull()
    clamped = f.greatest(f.least(f.col("at"), f.expr(FAR_OFF)), f.expr(_LONG_AGO))
    if source.partition is None and buckets > 1:
        everywhere = f.sequence(f.lit(0), f.lit(buckets - 1))
        bucket = f.explode(f.when(is_fine, everywhere).otherwise(f.array(f.lit(0))))
    else:
        bucket = f.when(is_fine, f.col("home")).otherwise(f.lit(0))
    return frame.select(
        bucket.alias("bucket"),
        "source",
        "sequence",
        "time",
        "payload",
        "reason",
        f.when(is_fine, clamped).otherwise(f.expr(_LONG_AGO)).alias("at"),
    )


def _bucket(source: Source, buckets: int) -> Column:
    if source.partition is None or buckets == 1:
        return f.lit(0)
    key = column(source.partition)
    is_whole = isinstance(source.frame.schema[source.partition].dataType, t.IntegralType)
    return f.pmod(f.hash(key.cast("long") if is_whole else key), f.lit(buckets))


def united(frames: Iterable[DataFrame]) -> DataFrame:
    """Return the union of tagged frames."""
    return reduce(DataFrame.unionByName, frames)


def opened(frame: DataFrame, schemas: Mapping[str, ResultSchema], key: t.DataType, value: t.StructType) -> DataFrame:
    """Return the frame of all that came back: times as timestamps, the value as one struct (null for a delete)."""
    found = []
    for name, schema in schemas.items():
        fields = [t.StructField("key", wire_type(schema.key)), t.StructField(name, wire_type(schema.value))]
        read = f.from_json("result", t.StructType(fields), {**JSON_OPTIONS, "mode": "FAILFAST"})
        found.append((f.col("output") == name, read, name, schema))
    keys = [f.when(is_it, from_wire(read["key"], schema.key).cast(key)) for is_it, read, _, schema in found]
    values = []
    for is_it, read, name, schema in found:
        inner = read.getField(name)
        own = {field.name: field for field in schema.value if field.name != schema.key_field}
        fields_ = [
            (from_wire(inner.getField(n), own[n].dataType) if n in own else f.lit(None).cast(kind.dataType)).alias(n)
            for n, kind in ((kind.name, kind) for kind in value)
        ]
        if fields_:
            values.append(f.when(is_it & inner.isNotNull(), f.struct(*fields_)))
    return frame.select(
        "kind",
        "bucket",
        "output",
        "change",
        f.coalesce(*keys).alias("key"),
        f.timestamp_micros("start").alias("start"),
        f.timestamp_micros("end").alias("end"),
        *([f.coalesce(*values).alias("value")] if values else []),
        "source",
        "reason",
        f.timestamp_micros("at").alias("at"),
        "payload",
    )


def to_wire(value: Column, kind: t.DataType) -> Column:
    """Turn a column into one of its `wire_type`."""
    if wire_type(kind).simpleString() == kind.simpleString():
        return value
    match kind:
        case t.StructType():
            fields = [to_wire(value.getField(one.name), one.dataType).alias(one.name) for one in kind]
            return f.when(value.isNotNull(), f.struct(*fields))
        case t.ArrayType():
            return f.transform(value, lambda item: to_wire(item, kind.elementType))
        case t.MapType(keyType=t.StringType()):
            return f.transform_values(value, lambda _, item: to_wire(item, kind.valueType))
        case t.MapType():
            return f.transform(
                f.map_entries(value),
                lambda entry: f.struct(
                    to_wire(entry["key"], kind.keyType).alias("key"),
                    to_wire(entry["value"], kind.valueType).alias("value"),
                ),
            )
    return value


def from_wire(value: Column, kind: t.DataType) -> Column:
    """Turn a column of a `wire_type` back."""
    if wire_type(kind).simpleString() == kind.simpleString():
        return value
    match kind:
        case t.StructType():
            fields = [from_wire(value.getField(one.name), one.dataType).alias(one.name) for one in kind]
            return f.when(value.isNotNull(), f.struct(*fields))
        case t.ArrayType():
            return f.transform(value, lambda item: from_wire(item, kind.elementType))
        case t.MapType(keyType=t.StringType()):
            return f.transform_values(value, lambda _, item: from_wire(item, kind.valueType))
        case t.MapType():
            return f.map_from_entries(
                f.transform(
                    value,
                    lambda entry: f.struct(
                        from_wire(entry["key"], kind.keyType).alias("key"),
                        from_wire(entry["value"], kind.valueType).alias("value"),
                    ),
                )
            )
    return value
