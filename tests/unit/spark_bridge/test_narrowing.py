"""Where in a batch the rows are that columns cannot take: rows are used in order, each once, up to one of those."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_bridge.running.row_errors import narrowed


@given(st.integers(1, 300), st.sets(st.integers(0, 299), min_size=1), st.integers(1, 40), st.integers(1, 90))
def test_what_is_left_begins_shortly_before_a_row_that_cannot_be_used(n, bad, few, slices):
    n = max(n, min(bad) + 1)
    used: list[int] = []

    def use(begin, end):
        """Use slices that are whole, as an engine does."""
        assert begin == len(used)
        for first in range(begin, end, slices):
            some = range(first, min(first + slices, end))
            if not bad.isdisjoint(some):
                return first
            used.extend(some)
        return end

    first = narrowed(use, use(0, n), n, few)
    assert used == list(range(first))
    assert min(bad) in range(first, first + few)
