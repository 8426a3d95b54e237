"""What is nowhere there: as many None as were asked for, with the fields and types of what it is like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from cartesius.columns.bodies.column_functions import Absent
from cartesius.columns.vectors.vectors import MISSING, RECORD, TUPLE, Leaf, Struct, concatenated

if TYPE_CHECKING:
    from cartesius.columns.vectors.vectors import Vector

PAIR = Struct(TUPLE, ("0", "1"), [Leaf(pa.array([1.5, 2.5])), Leaf(pa.array(["a", "b"]))], 2)
RECORDS = Struct(RECORD, ("n", "pair"), [Leaf(pa.array([1, 2])), PAIR], 2)


def test_it_is_none_however_it_is_cut():
    absent = Absent(RECORDS, 5)
    assert absent.to_list() == [None] * 5
    assert absent.take(np.array([0, MISSING, 4]), may_miss=True).to_list() == [None] * 3
    assert absent.slice(1, 3).to_list() == [None] * 2
    assert Absent(RECORDS, 0).to_list() == []


def test_it_has_the_types_of_what_it_is_like():
    absent = Absent(RECORDS, 3)
    assert absent.type == RECORDS.type
    array = absent.to_arrow()
    assert array.type == RECORDS.to_arrow().type
    assert array.to_pylist() == [None] * 3
    assert [item.to_list() for item in absent.items] == [[None] * 3, [None] * 3]
    with pytest.raises(AttributeError):
        _ = absent.nothing_else


def test_it_goes_with_what_is_there_also_of_other_types():
    """The types of a batch before may differ from those of what comes: nothing is nothing."""
    floats = Struct(RECORD, ("n", "pair"), [Leaf(pa.array([0.5])), PAIR.slice(0, 1)], 1)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        parts: list[Vector] = [Absent(RECORDS, 2), floats, Leaf(pa.nulls(1))]
        found = concatenated([parts[place] for place in order])
        assert found.to_list() == [value for place in order for value in parts[place].to_list()]
    assert concatenated([Absent(RECORDS, 1), Absent(RECORDS, 2)]).to_list() == [None] * 3
