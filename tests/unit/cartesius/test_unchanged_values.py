"""What counts as a change of a row: values are compared with their types, beside a form that has both written out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cartesius.results.outputs import is_unchanged

NAN = float("nan")
ATOMS = st.sampled_from([0, 1, True, False, 0.0, -0.0, 1.0, NAN, float("nan"), "1", "a", b"a", None])
HASHABLE = st.recursive(ATOMS, lambda of: st.tuples(of, of) | st.frozensets(of, max_size=3), max_leaves=6)
VALUES = st.recursive(
    HASHABLE, lambda of: st.lists(of, max_size=3) | st.dictionaries(st.sampled_from("ab"), of), max_leaves=6
)


def written(value: Any) -> Any:
    """The value with its types, so that what is equal is the same in all that can be seen."""
    if isinstance(value, float):
        return "float", "nan" if value != value else str(value + 0.0)  # noqa: PLR0124 - NaN; both zeros are one number
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(map(written, value))
    if isinstance(value, frozenset):
        return "frozenset", frozenset(map(written, value))
    if isinstance(value, dict):
        return "dict", frozenset((key, written(each)) for key, each in value.items())
    return type(value).__name__, repr(value)


@given(VALUES, VALUES)
def test_what_is_written_alike_is_unchanged(old, new):
    assert is_unchanged(old, new) == (written(old) == written(new))


@given(VALUES)
def test_nothing_differs_from_itself(value):
    assert is_unchanged(value, value)


def test_sets_of_equal_numbers_differ_by_type():
    assert not is_unchanged(frozenset({1}), frozenset({True}))
    assert not is_unchanged(frozenset({(1, "a")}), frozenset({(1.0, "a")}))
    assert not is_unchanged(frozenset({((1,), "a")}), frozenset({((True,), "a")}))
    assert is_unchanged(frozenset({float("nan")}), frozenset({NAN}))
    assert is_unchanged(frozenset({("a", 1), ("b", None)}), frozenset({("b", None), ("a", 1)}))
