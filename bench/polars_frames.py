"""What polars makes of the same Arrow tables, as its users write it.

For orientation: it knows no late events, no state between batches, and uses all cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from bench.arrow_rows import results, struct
from bench.workloads import WINDOW

if TYPE_CHECKING:
    from bench.arrow_rows import Batch


def latest_of_three(batch: Batch) -> pa.Table:
    """Combine the latest of three: one below the other, by arrival, filled forward."""
    names, times = list(batch), [f"at {name}" for name in batch]
    sides = [
        pl.DataFrame(values).select("order", pl.col("value").alias(name), pl.col("at").alias(time))
        for (name, values), time in zip(batch.items(), times, strict=True)
    ]
    found = (
        pl.concat(sides, how="diagonal")
        .sort("order")
        .with_columns(pl.max_horizontal(*times).alias("end"))
        .with_columns(pl.exclude("order", "end").forward_fill())
        .drop_nulls()
        .select(*names, pl.min_horizontal(*times).alias("start"), "end")
        .to_arrow()
    )
    columns = [found[name].combine_chunks() for name in (*names, "start", "end")]
    return results(struct(*columns[:-2]), *columns[-2:])


def tumbling_sums(batch: Batch) -> pa.Table:
    """Sum by key in windows, and give those that are over when the last event is there."""
    (values,) = batch.values()
    frame = pl.DataFrame(values).with_columns(pl.col("at").set_sorted().alias("window"))
    last = frame["at"][-1]
    found = (
        frame.group_by_dynamic("window", every=f"{WINDOW}i", group_by="k", start_by="window")
        .agg(pl.col("v").sum(), pl.col("at").first().alias("start"), pl.col("at").last().alias("end"))
        .filter(pl.col("window") + WINDOW <= last)
        .sort("window", "start")
        .with_columns((pl.col("window") + WINDOW).alias("until"))
        .to_arrow()
    )
    key, total, start, end, since, until = (
        found[name].combine_chunks() for name in ("k", "v", "start", "end", "window", "until")
    )
    window = pa.StructArray.from_arrays([since, until], names=["start", "end"])
    return results(total, start, end, key=struct(key, window), deleted=pa.repeat(False, len(total)))
