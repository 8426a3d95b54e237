"""The order of rows: by sequence, event time and source, and what is alike in these by its values, null last."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from spark_bridge.transport.row_order import ordered

if TYPE_CHECKING:
    import random

few = st.integers(0, 2)
rows_of_a_source = st.lists(
    st.tuples(few, few, few, st.none() | st.sampled_from([-1.5, -0.0, 0.0, 2.0]), st.none() | st.sampled_from("ab"))
)


def key(value):
    """Null last; -0.0 before 0.0."""
    if value is None:
        return (1, 0.0, 0.0)
    return (0, value, np.copysign(1.0, value)) if isinstance(value, float) else (0, value, 0.0)


@given(rows_of_a_source, rows_of_a_source, st.randoms(use_true_random=False))
def test_rows_come_in_the_order_of_their_values_whatever_order_they_had(first, second, draw: random.Random):
    sources = [draw.sample(rows, len(rows)) for rows in (first, second)]
    tables = [
        pa.table(
            {
                "k": pa.array([row[2] for row in rows], pa.int64()),
                "x": pa.array([row[3] for row in rows], pa.float64()),
                "name": pa.array([row[4] for row in rows], pa.string()),
            }
        )
        for rows in sources
    ]
    sequences, times = [[np.array([row[i] for row in rows], np.int64) for rows in sources] for i in (0, 1)]
    everything = [(row, source) for source, rows in enumerate(sources) for row in rows]
    found = [everything[place] for place in ordered(sequences, times, tables)]

    def place(row, source):
        return (row[0], row[1], source, row[2], key(row[3]), key(row[4]))

    assert list(starmap(place, found)) == sorted(starmap(place, everything))
