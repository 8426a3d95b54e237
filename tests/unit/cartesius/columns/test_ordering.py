"""Sorting rows of several columns, packed into one number or not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cartesius.columns.vectors.ordering import by_code, sorted_rows


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=9), st.sampled_from([4, 5, 2**40]))
def test_rows_are_sorted_whether_they_fit_into_one_number_or_not(rows: list[tuple[int, ...]], bound: int) -> None:
    columns = [(np.array([row[place] for row in rows], np.int64), bound) for place in range(3)]
    found = [column.tolist() for column in sorted_rows(columns)]
    assert list(zip(*found, strict=True)) == sorted(rows)


@given(st.sampled_from([np.int16, np.int32, np.int64]), st.sampled_from([1, 2, 1 << 16, (1 << 16) + 1, 1 << 30]))
def test_codes_of_any_width_are_sorted_stably(kind: type[np.signedinteger], count: int) -> None:
    codes = np.array([0, 1, 0, count - 1, 1, count - 1, 0]) % min(count, np.iinfo(kind).max)
    order = by_code(codes.astype(kind), count)
    assert order.tolist() == np.argsort(codes, kind="stable").tolist()
