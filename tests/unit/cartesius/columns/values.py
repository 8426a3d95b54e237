"""What the tests of columns share: strategies of Python values, and what tells values apart type for type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from cartesius.data.codec import text_of
from cartesius.data.events import Interval, Window
from cartesius.data.records import Record

SCALARS = {
    "int": st.integers(-5, 5) | st.integers() | st.sampled_from([2**63 - 1, -(2**63), 2**63, 2**64, -(2**63) - 1]),
    "small": st.integers(-128, 127),
    "bool": st.booleans(),
    "float": st.floats() | st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf"), 2.0**53]),
    "str": st.text(max_size=4) | st.sampled_from(["", "\ud800", "1", '["t"]', "\0"]),
    "bytes": st.binary(max_size=4),
    "date": st.dates(),
    "datetime": st.datetimes() | st.datetimes(timezones=st.sampled_from([dt.UTC, ZoneInfo("Europe/Berlin")])),
    "timedelta": st.timedeltas(),
    "decimal": st.decimals(allow_nan=False, places=2) | st.sampled_from([Decimal("1.0"), Decimal("1.00")]),
    "uuid": st.sampled_from([UUID(int=1), UUID(int=2)]),
}  # fmt: skip
scalars = st.one_of(*SCALARS.values())
names = st.sampled_from(["a", "b", "items", "", "ü", "0"])


def nested(inner):
    """Values with fields, and collections."""
    return st.one_of(
        st.dictionaries(names, inner, max_size=3),
        st.dictionaries(names, inner, max_size=3).map(Record),
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.tuples(inner, inner),
        st.frozensets(st.integers(0, 3), max_size=2),
        st.sampled_from([Interval(1, 3), Interval(float("-inf"), 2), Window(0, 5), Window(0)]),
    )


values = st.recursive(st.none() | scalars, nested, max_leaves=5)
"""Any plain data."""


@st.composite
def columns(draw, max_size=6):
    """Lists of values: of one type, of one type with nulls, of one shape with fields, or of any types."""
    kind = draw(st.sampled_from(["one type", "one type", "with nulls", "records", "tuples", "mixed", "empty"]))
    one = draw(st.sampled_from(sorted(SCALARS)))
    several = {"min_size": 1, "max_size": max_size}
    if kind == "empty":
        return []
    if kind == "one type":
        return draw(st.lists(SCALARS[one], **several))
    if kind == "with nulls":
        return draw(st.lists(st.none() | SCALARS[one], **several))
    if kind == "mixed":
        return draw(st.lists(values, **several))
    pair = st.tuples(SCALARS[one], st.none() | st.integers(0, 2))
    pair = st.one_of(pair, st.tuples(pair, st.booleans()), st.none()) if draw(st.booleans()) else pair
    found = draw(st.lists(pair, **several))
    if kind == "tuples":
        return found
    make = draw(st.sampled_from([dict, Record]))
    return [None if one is None else make({"x": one[0], "y": one[1]}) for one in found]


def told(value):
    """Return what tells two values apart: types, NaN equal to itself, 0.0 not to -0.0, and the order of fields."""
    return repr(value) if value is None or isinstance(value, str) else repr((type(value), text_of(value)))


def all_told(found):
    """Return `told` of each."""
    return [told(value) for value in found]
