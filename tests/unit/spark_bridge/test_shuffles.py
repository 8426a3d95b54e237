"""Buckets are spread evenly over partitions, under numbers that never change."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_bridge.transport.shuffles import PERIOD, bucket_numbers, partitions_for, spark_hash


def test_the_hash_is_that_of_spark():
    """SELECT hash(x) for each; `tests/spark/test_states.py` asks Spark."""
    known = {0: 933211791, 1: -559580957, 2: 1765031574, 31: 972445202, -1: -1604776387, 2**31 - 1: 133916647}
    for number, expected in known.items():
        assert spark_hash(np.array([number], np.int32)).tolist() == [expected]


def partition_of(number, partitions):
    return int(spark_hash(np.array([number], np.int32))[0]) % partitions


@settings(max_examples=20)
@given(st.integers(1, 200))
def test_they_are_spread_evenly(count):
    numbers = bucket_numbers(count)
    assert len(set(numbers)) == count
    for partitions in (one for one in range(1, min(count, 40) + 1) if PERIOD % one == 0):
        filled = Counter(partition_of(number, partitions) for number in numbers)
        assert len(filled) == partitions
        assert max(filled.values()) - min(filled.values()) <= 1


def test_without_that_they_would_not_be():
    filled = Counter(partition_of(number, 4) for number in range(32))
    assert max(filled.values()) - min(filled.values()) > 1


def test_they_are_fixed_for_ever():
    """A checkpoint depends on it: if this fails, old states are not found any more."""
    assert bucket_numbers(1) == FIRST[:1]
    assert bucket_numbers(4) == FIRST


FIRST = (22362, 100370, 15488, 45384)


@pytest.mark.parametrize("buckets", [1, 2, 7, 32, 1000])
@pytest.mark.parametrize("cores", [1, 2, 3, 8, 13, 64])
def test_there_are_as_many_partitions_as_buckets_or_twice_the_cores(buckets, cores):
    found = partitions_for(buckets, cores)
    most = min(buckets, 2 * cores)
    assert most * 0.9 <= found <= most
    assert PERIOD % found == 0
