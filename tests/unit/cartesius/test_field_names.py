"""A field of a payload is `x.name`, whatever it is called; what Python finds before it asks is no name of a field."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument

PYTHONS = [
    "__class__",
    "__weakref__",
    "__doc__",
    "__getattribute__",
    "__init__",
    "__slots__",
    "_fields",
    "__reduce_ex__",
]


@given(st.dictionaries(st.text(), st.integers(), min_size=1))
@example({"keys": 1, "items": 2, "get": 3, "_": 4, "__x": 5, "mro": 6})
def test_a_field_is_found_by_its_name_or_the_record_is_refused(fields):
    try:
        record = Record(fields)
    except InvalidArgument:
        assert any(hasattr(object, name) or name in PYTHONS for name in fields)
        return
    for name, value in fields.items():
        assert getattr(record, name) == record[name] == value


@pytest.mark.parametrize("name", PYTHONS)
def test_a_payload_with_a_name_of_pythons_own_is_refused_and_nothing_changes(name):
    x = Reactive("x")
    for body in (lambda x: x.a, lambda x: getattr(x, name)):
        engine = Engine(correlate(x=x, yields=body))
        with pytest.raises(InvalidArgument, match=f"expected names of fields but got '{name}'"):
            engine.push(x, {"a": 1, name: 2})
        with pytest.raises(InvalidArgument, match=f"expected names of fields but got '{name}'"):
            engine.push_many({x: pa.table({"a": [1], name: [2]})})
        assert engine.stats.events == 0
    with pytest.raises(InvalidArgument, match="rename the field"):
        Engine(correlate(x=x, yields=lambda x: x.a)).push(x, {"a": {"b": [1], name: 2}})
