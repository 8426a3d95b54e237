"""The sides of the figures on Spark: our programs, and what a good engineer would write without them.

All of them read the same streams, two sources of a time, a key and a number, and give the same rows where they are
joins: of the latest by key the key and both numbers, of the band the same.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupStateTimeout

from cartesius import Reactive, correlate
from restrictions import key_by, most_recently, within
from spark_bridge import correlate_frames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray
    from pyspark.sql.streaming.state import GroupState

    from bench.spark_streams import Load
    from cartesius import Reactive as Output

    Streams = Mapping[str, DataFrame]
    Ints = NDArray[np.int64]

BAND: Final = 10
"""Seconds by which the two parts of the band may differ."""
_OUT: Final = "k long, l long, r long"
_NONE: Final = -1  # numbers are at least 0


def our_latest(streams: Streams, load: Load) -> DataFrame:
    """Ours: the latest of both sources by key, at each arrival."""
    left, right = Reactive("left"), Reactive("right")
    latest = correlate(
        left=left,
        right=right,
        yields=lambda left, right: {"k": left.k, "l": left.n, "r": right.n},
        restrict=key_by(left="k", right="k") | most_recently("left", "right"),
        name="latest",
    )
    return _ours(latest, streams, load, "1 second")


def our_band(streams: Streams, load: Load) -> DataFrame:
    """Ours: pairs of one key at most `BAND` seconds apart."""
    left, right = Reactive("left"), Reactive("right")
    band = correlate(
        left=left,
        right=right,
        where=lambda left, right: left.k == right.k,
        yields=lambda left, right: {"k": left.k, "l": left.n, "r": right.n},
        restrict=within(BAND * 1_000_000, "left", "right"),
        name="band",
    )
    return _ours(band, streams, load, "1 second")


def _ours(program: Output, streams: Streams, load: Load, watermark: str) -> DataFrame:
    frames = correlate_frames(
        program,
        streams,
        event_time="at",
        partition_by="k",
        buckets=load.buckets,
        order="arrival",
        watermark=watermark,
    )
    return frames.results.select("k", "l", "r")


def native_band(streams: Streams, _: Load) -> DataFrame:
    """Spark's own stream-stream join of the same."""
    left = streams["left"].withWatermark("at", "1 second").select(f.col("at").alias("a"), "k", f.col("n").alias("l"))
    right = (
        streams["right"]
        .withWatermark("at", "1 second")
        .select(f.col("at").alias("b"), f.col("k").alias("key"), f.col("n").alias("r"))
    )
    near = f.expr(f"k = key AND b BETWEEN a - INTERVAL {BAND} SECONDS AND a + INTERVAL {BAND} SECONDS")
    return left.join(right, near).select("k", "l", "r")


def identity(streams: Streams, _: Load) -> DataFrame:
    """Rows through Python and back, by `mapInPandas`: the floor of the transport."""
    return _united(streams).mapInPandas(lambda frames: frames, "source int, time long, k long, n long")


def counting(streams: Streams, load: Load) -> DataFrame:
    """The least that a stateful operator does: rows are counted, in the same buckets."""
    return counted(_united(streams), "k", load.buckets)


def counted(frame: DataFrame, key: str, buckets: int) -> DataFrame:
    """Return the number of rows of each bucket, by a stateful operator that is given all columns."""

    def call(bucket: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        n = sum(map(len, frames))
        before = state.get[0] if state.exists else 0
        state.update((before + n,))
        yield pd.DataFrame({"bucket": [int(bucket[0])], "n": [before + n]})

    grouped = frame.withColumn("bucket", _bucket(key, buckets)).groupBy("bucket")
    return grouped.applyInPandasWithState(call, "bucket int, n long", "n long", "append", GroupStateTimeout.NoTimeout)


def latest_by_key(streams: Streams, _: Load) -> DataFrame:
    """By hand: one group a key, whose state is the latest of both sources."""

    def call(key: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        latest = list(state.get) if state.exists else [_NONE, _NONE]
        rows = [
            row for frame in frames for row in zip(*(frame[c].tolist() for c in ("time", "source", "n")), strict=True)
        ]
        found = []
        for _, source, n in sorted(rows):
            latest[source] = n
            if _NONE not in latest:
                found.append(tuple(latest))
        state.update(tuple(latest))
        if found:
            left, right = zip(*found, strict=True)
            yield pd.DataFrame({"k": int(key[0]), "l": left, "r": right})

    grouped = _united(streams).groupBy("k")
    return grouped.applyInPandasWithState(call, _OUT, "l long, r long", "append", GroupStateTimeout.NoTimeout)


def latest_by_numpy(streams: Streams, load: Load) -> DataFrame:
    """By hand: the same buckets as ours, whose state is the latest by key, and a body of numpy."""

    def call(_: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        whole = pd.concat(list(frames), ignore_index=True)
        before = np.frombuffer(state.get[0], np.int64).reshape(3, -1) if state.exists else np.zeros((3, 0), np.int64)
        columns = [whole[name].to_numpy() for name in ("source", "time", "k", "n")]
        after, found = _latest(before, *columns)
        state.update((after.tobytes(),))
        yield pd.DataFrame(dict(zip(("k", "l", "r"), found, strict=True)))

    grouped = _united(streams).withColumn("bucket", _bucket("k", load.buckets)).groupBy("bucket")
    return grouped.applyInPandasWithState(call, _OUT, "latest binary", "append", GroupStateTimeout.NoTimeout)


def _latest(before: Ints, source: Ints, time: Ints, key: Ints, n: Ints) -> tuple[Ints, tuple[Ints, ...]]:
    """Return the latest by key, and what each row gives, of rows in any order."""
    order = np.lexsort((source, time))
    keys, old = before[0], before.shape[1]
    key = np.concatenate([keys, keys, key[order]])
    source = np.concatenate([np.zeros(old, np.int64), np.ones(old, np.int64), source[order]])
    n = np.concatenate([before[1], before[2], n[order]])
    is_fresh = np.arange(len(key)) >= 2 * old
    is_there = n != _NONE
    key, source, n, is_fresh = key[is_there], source[is_there], n[is_there], is_fresh[is_there]
    by_key = np.argsort(key, kind="stable")
    key, source, n, is_fresh = key[by_key], source[by_key], n[by_key], is_fresh[by_key]
    place = np.arange(len(key))
    is_first = np.append(True, key[1:] != key[:-1])
    first = np.maximum.accumulate(np.where(is_first, place, 0))
    at = [np.maximum.accumulate(np.where(source == side, place, -1)) for side in (0, 1)]
    has = [found >= first for found in at]
    emits = is_fresh & has[0] & has[1]
    last = np.flatnonzero(np.append(is_first[1:], True))
    after = [np.where(has[side][last], n[at[side][last]], _NONE) for side in (0, 1)]
    return np.stack([key[last], *after]), (key[emits], n[at[0][emits]], n[at[1][emits]])


def _united(streams: Streams) -> DataFrame:
    parts = [
        frame.select(f.lit(number).alias("source"), f.unix_micros("at").alias("time"), "k", "n")
        for number, frame in enumerate(streams.values())
    ]
    return reduce(DataFrame.unionByName, parts)


def _bucket(key: str, buckets: int) -> Any:
    return f.pmod(f.hash(key), f.lit(buckets))
