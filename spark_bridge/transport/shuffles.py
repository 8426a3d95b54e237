"""Shuffles: into how many partitions buckets go, and under which numbers, so that each partition has as many.

Spark sends a group to the partition that a hash of its key says. Of 32 buckets numbered from 0, four partitions get 5
to 10 by that. So buckets travel under numbers that were looked for: the hash of the i-th, divided by `PERIOD`, leaves
i. So over any number of partitions that divides `PERIOD` they are spread evenly, one more or less.

Invariant: the numbers follow from how many buckets there are and nothing else, so a restart on other machines, which
would choose another number of partitions, finds the states where they are. The number of the first bucket is always the
same, so that a restart with another number of buckets finds its state, which says so.

Source: Appleby, MurmurHash3 (the 32-bit variant, as Spark's hash of an int, with seed 42).
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

PERIOD: Final = 2**6 * 3**2 * 5 * 7 * 11
"""Which all of 1 to 12 divide, and most numbers of cores, doubled."""
PARTITIONS: Final = "spark.sql.shuffle.partitions"
_AT_ONCE: Final = 1 << 20
_LOG = logging.getLogger("spark_bridge")


def spark_hash(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return Spark's hash of each int.

    >>> import numpy as np
    >>> from spark_bridge.transport.shuffles import spark_hash
    >>> spark_hash(np.array([0, 1], np.int32)).tolist()
    [933211791, -559580957]
    """
    with np.errstate(over="ignore"):
        k = _rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        h = _rotated(k ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)  # the length of an int, in bytes
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        found: NDArray[np.int32] = (h ^ (h >> np.uint32(16))).view(np.int32)
    return found


def _rotated(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    found: NDArray[np.uint32] = (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
    return found


@lru_cache(maxsize=8)
def bucket_numbers(count: int) -> tuple[int, ...]:
    """Return under which number each bucket travels: different ints ≥ 0, dimensionless.

    >>> from spark_bridge.transport.shuffles import bucket_numbers
    >>> len(set(bucket_numbers(7)))
    7

    Args:
        count: How many buckets there are, an int ≥ 1.
    """
    wanted = min(count, PERIOD)
    found: dict[int, list[int]] = {rest: [] for rest in range(wanted)}
    each = -(-count // wanted)
    missing, start = wanted, 0
    while missing:
        numbers = np.arange(start, start + _AT_ONCE, dtype=np.int32)
        rests = np.mod(spark_hash(numbers).astype(np.int64), PERIOD)
        chosen = np.flatnonzero(rests < wanted)
        for number, rest in zip(numbers[chosen].tolist(), rests[chosen].tolist(), strict=True):
            if len(found[rest]) < each:
                found[rest].append(number)
                missing -= len(found[rest]) == each
        start += _AT_ONCE
    return tuple(found[n % wanted][n // wanted] for n in range(count))


def partitions_for(buckets: int, cores: int) -> int:
    """Return how many partitions a query should have: at most the buckets, at most twice the cores, evenly filled.

    >>> from spark_bridge.transport.shuffles import partitions_for
    >>> partitions_for(buckets=32, cores=4), partitions_for(buckets=2, cores=4), partitions_for(buckets=32, cores=13)
    (8, 2, 24)
    """
    most = max(1, min(buckets, 2 * cores))
    return next(number for number in range(most, 0, -1) if PERIOD % number == 0)


@contextmanager
def partitioned(spark: SparkSession, buckets: int) -> Iterator[None]:
    """Let a query that is started meanwhile have `partitions_for` its buckets, unless the user has set a number."""
    if spark.conf.get(PARTITIONS, None) is not None:
        yield
        return
    cores = spark.sparkContext.defaultParallelism
    chosen = partitions_for(buckets, cores)
    _LOG.info(
        "%s is not set: %d for %d buckets on %d cores, if the checkpoint is new", PARTITIONS, chosen, buckets, cores
    )
    spark.conf.set(PARTITIONS, chosen)
    try:
        yield
    finally:
        spark.conf.unset(PARTITIONS)
