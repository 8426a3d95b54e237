"""What counts as a change of a row: values are compared with their types, beside a form that has both written out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius.data.records import Record
from cartesius.results import relations
from cartesius.results.unchanged_values import bucket_of, is_equal, is_unchanged

NAN = float("nan")
NOON = datetime(2024, 6, 30, 12, tzinfo=UTC)
ATOMS = st.sampled_from([
    0, 1, True, False, 0.0, -0.0, 1.0, NAN, float("nan"), "1", "a", b"a", None, Decimal("1.5"), Decimal("1.50"),
    Decimal("NaN"), Decimal(0), Decimal("-0"), NOON, NOON.astimezone(timezone(timedelta(hours=2))),
])  # fmt: skip
HASHABLE = st.recursive(ATOMS, lambda of: st.tuples(of, of) | st.frozensets(of, max_size=3), max_leaves=6)
VALUES = st.recursive(
    HASHABLE, lambda of: st.lists(of, max_size=3) | st.dictionaries(st.sampled_from("ab"), of), max_leaves=6
)


def written(value: Any, *, by_look: bool) -> Any:
    """The value with its types, so that what is equal is the same: in all that can be seen, or as ``==`` has it."""

    def inside(values: Any) -> Any:
        return [written(each, by_look=by_look) for each in values]

    if isinstance(value, float):
        number = value if by_look else value + 0.0  # both zeros are one number
        return "float", "nan" if value != value else str(number)  # noqa: PLR0124 - NaN
    if isinstance(value, Decimal):
        return "Decimal", "nan" if value.is_nan() else str(value) if by_look else str(value.normalize() + 0)
    if isinstance(value, datetime):
        return "datetime", value.isoformat() if by_look else value.astimezone(UTC).isoformat()
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(inside(value))
    if isinstance(value, frozenset):
        return "frozenset", frozenset(inside(value))
    if isinstance(value, dict):
        items = tuple(zip(value, inside(value.values()), strict=True))
        return "dict", items if by_look else frozenset(items)
    return type(value).__name__, repr(value)


@given(VALUES, VALUES)
@settings(max_examples=300)
def test_what_is_written_alike_is_unchanged(old, new):
    for by_look, function in ((True, is_unchanged), (False, is_equal)):
        assert function(old, new) == (written(old, by_look=by_look) == written(new, by_look=by_look))


@given(VALUES, VALUES)
def test_what_is_equal_in_one_place_is_so_inside_of_values(old, new):
    for function in (is_unchanged, is_equal):
        for wrap in (lambda x: [x], lambda x: {"a": x}, lambda x: (1, x), lambda x: Record({"a": x})):
            assert function(wrap(old), wrap(new)) == function(old, new)


@attrs.frozen
class Point:
    """A class of results."""

    x: Any
    y: Any = attrs.field(default=None, eq=abs)
    note: Any = attrs.field(default=None, eq=False)


@dataclass
class Reading:
    """Another one, which cannot be hashed."""

    x: Any
    note: Any = field(default=None, compare=False)


IN_RESULTS = {
    "a value": lambda value, note: value,
    "a tuple": lambda value, note: (value, "a"),
    "a list": lambda value, note: [value],
    "a dict": lambda value, note: {"a": value, "b": 1},
    "a dict in another order": lambda value, note: dict([("a", value), ("b", 1)][::note]),
    "a set in a dict": lambda value, note: {"a": {value} if isinstance(value, Hashable) else value},
    "a record": lambda value, note: Record({"a": value}),
    "a class": lambda value, note: Point(value, note, note),
    "a dataclass": Reading,
}


@given(VALUES, VALUES, st.sampled_from([*IN_RESULTS.values()]))
def test_what_is_equal_is_looked_for_in_one_place(old, new, wrap):
    old, new = wrap(old, -1), wrap(new, 1)
    assert not is_equal(old, new) or bucket_of(old) == bucket_of(new)


@attrs.define(eq=False)
class Odd:
    """Of a class that cannot be looked up: it lacks a field."""

    x: int
    y: int = attrs.field(init=False)


@pytest.mark.parametrize("value", [Odd(1), Reading, bytearray(b"x"), {float("nan"), NAN}, Decimal("NaN")], ids=repr)
def test_a_value_that_is_the_same_is_found_whatever_it_is(value):
    result: list[Any] = [(0, (0, value, 0, 0))]
    assert relations.minus(result, result) == []
    assert relations.minus(result, []) == result


@pytest.mark.parametrize("kind", IN_RESULTS)
def test_of_many_results_only_those_are_compared_that_may_be_equal(kind, monkeypatch):
    """Else a report of a window takes the square of what it holds."""
    compared = []

    def counted(old, new):
        compared.append((old, new))
        return is_equal(old, new)

    monkeypatch.setattr(relations, "is_equal", counted)
    before: list[Any] = [(n, (n, IN_RESULTS[kind]((n, "x", NAN), 1), 0, 0)) for n in range(100)]
    now: list[Any] = [(n, (n, IN_RESULTS[kind]((n, "x", float("nan")), -1), 0, 0)) for n in range(50, 150)]
    assert relations.minus(now, before) == now[50:]
    assert len(compared) == 50


@given(VALUES)
def test_nothing_differs_from_itself(value):
    assert is_unchanged(value, value)
    assert is_equal(value, value)


def test_sets_of_equal_numbers_differ_by_type():
    assert not is_unchanged(frozenset({1}), frozenset({True}))
    assert not is_unchanged(frozenset({(1, "a")}), frozenset({(1.0, "a")}))
    assert not is_unchanged(frozenset({((1,), "a")}), frozenset({((True,), "a")}))
    assert is_unchanged(frozenset({float("nan")}), frozenset({NAN}))
    assert is_unchanged(frozenset({("a", 1), ("b", None)}), frozenset({("b", None), ("a", 1)}))
