"""Keys have numbers: equal keys the same, others others, in whatever batches and types they come."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius.columns.groups.key_numbers import KeyNumbers, WholeNumbers
from cartesius.columns.vectors.conversions import of_values

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 2**63 - 1
KEYS = st.one_of(
    st.integers(-3, 3), st.integers(-LARGEST - 1, LARGEST), st.integers(-2000, 2000).map(lambda n: n << 40)
)


def whole(*batches: Sequence[Any]) -> dict[Any, int]:
    """Return the numbers that keys have at last; check that they keep them from batch to batch."""
    numbers, known = KeyNumbers(), {}
    for batch in batches:
        numbers.begin()
        for _ in range(2):  # as they come, and as they stay
            found = numbers.of(of_values(list(batch))).tolist()
            assert len(found) == len(batch)
            for key, number in zip(batch, found, strict=True):
                assert known.setdefault(key, number) == number
    assert sorted(known.values()) == [*range(len(known))]
    assert len(numbers) == len(known)
    return known


@given(st.lists(st.lists(KEYS, min_size=1), max_size=8))
def test_whole_numbers_have_the_numbers_of_a_dict(batches: list[list[int]]) -> None:
    """A dict decides which keys are equal."""
    whole(*batches)


@given(st.lists(st.lists(KEYS, min_size=1), max_size=3), st.lists(st.lists(st.sampled_from(
    [0, 1, 2, True, 1.0, 2.5, "1", None, float(2**62), 2**62])), max_size=4))  # fmt: skip
def test_keys_of_other_types_are_equal_to_whole_numbers_as_in_python(
    batches: list[list[int]], others: list[list[Any]]
) -> None:
    """1, 1.0 and True are one key, also if the whole numbers were there first."""
    whole(*batches, *[[key] for batch in others for key in batch])


def test_many_keys_that_begin_at_one_slot_are_found() -> None:
    """They lie one behind the other, then; those that were put elsewhere when there was less room as well."""
    known = whole(np.arange(0, 1 << 56, 1 << 44).tolist(), np.arange(5_000).tolist(), [0, 1 << 44, 4_999, -1])
    assert len(known) > 9_000


@pytest.mark.parametrize("line", range(1, 12))
def test_keys_are_found_after_an_interruption_at_any_line(line: int) -> None:
    """A number that was to be given may be missing then, and no key has that of another."""
    numbers = WholeNumbers()
    first = numbers.of(np.arange(100)).tolist()
    left, interrupted = line, 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line" and frame.f_code.co_filename.endswith("key_numbers.py"):
            left -= 1
            if not left:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    for step in range(60):
        left = line + 3 * step
        sys.settrace(trace)
        with contextlib.suppress(KeyboardInterrupt):
            interrupted += 1
            numbers.of(np.arange(50, 200 + 10 * step))
            interrupted -= 1
        sys.settrace(before)
        assert numbers.of(np.arange(100)).tolist() == first
    every = numbers.of(np.arange(2_000))
    assert len(set(every.tolist())) == 2_000
    assert every.max() < len(numbers)
    assert interrupted > 10
