"""Long batches are computed in slices, and nobody sees it; the law over all programs is tests/oracle/test_tiers.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.columns.batches import slicing
from cartesius.columns.batches.running import compiled_of
from cartesius.columns.batches.slicing import SLICE, slice_length, stacked
from cartesius.columns.results import events_of
from restrictions import combine_latest, most_recently
from restrictions.tables import outer_join

if TYPE_CHECKING:
    import pyarrow as pa

LEFT, RIGHT = Reactive("left"), Reactive("right")
TABLES = Reactive("left", table=True), Reactive("right", table=True)


def pushed(
    output: Reactive, batch: dict[Any, Any], monkeypatch: pytest.MonkeyPatch, size: int
) -> tuple[Engine, pa.Table]:
    """Push a batch in slices of ``size`` rows at least."""
    with monkeypatch.context() as patched:
        patched.setattr(slicing, "SLICE", size)
        patched.setattr(slicing, "_TIMES_RETAINED", 0)
        engine = Engine(output)
        return engine, engine.push_many(batch)


def test_slices_grow_with_what_is_retained() -> None:
    assert slice_length(0) == slice_length(SLICE // 100) == SLICE
    assert slice_length(10 * SLICE) > 10 * SLICE


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_results_and_their_types_are_those_of_the_batch_as_one(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first slices have rows of one table alone, so that they know nothing of the other one's types."""
    left, right = TABLES
    batch = {
        left: {"key": [1, 2, 3, 1, 2], "n": [1, None, 3, 4, 5], "order": [0, 1, 2, 7, 8]},
        right: {"key": [1, 2, 1, 4], "t": ["a", "b", None, "d"], "order": [3, 4, 5, 6]},
    }
    output = outer_join(left, right)
    whole, expected = pushed(output, batch, monkeypatch, SLICE)
    engine, found = pushed(output, batch, monkeypatch, size)
    assert compiled_of(whole).states is not None
    assert compiled_of(engine).states is not None
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert events_of(found) == events_of(expected)
    assert engine.stats == whole.stats
    assert engine.snapshot() == whole.snapshot()


def test_a_slice_that_columns_cannot_do_is_pushed_row_by_row_with_all_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = correlate(x=LEFT, yields=lambda x: x + 1, restrict=most_recently("x"))
    batch = {LEFT: {"value": [1, 2, 3, 2**63 - 1, 5, 6]}}
    engine, found = pushed(output, batch, monkeypatch, 2)
    assert compiled_of(engine).states is None
    assert [event.value for event in events_of(found)] == [2, 3, 4, 2**63, 6, 7]
    assert [event.start for event in events_of(found)] == [1, 2, 3, 4, 5, 6]


def test_an_error_says_which_row_of_the_batch_and_what_all_before_it_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    output = correlate(x=LEFT, yields=lambda x: 6 // x, restrict=most_recently("x"))
    with pytest.raises(ZeroDivisionError) as caught:
        pushed(output, {LEFT: {"value": [1, 2, 3, 6, 0, 1]}}, monkeypatch, 2)
    assert [event.value for event in events_of(vars(caught.value)["emitted"])] == [6, 3, 2, 1]
    assert "at row 4 of 6 in the order of arrival" in " ".join(caught.value.__notes__)


def test_a_batch_of_nothing_is_one_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = pushed(combine_latest(LEFT, RIGHT), {LEFT: {"value": []}}, monkeypatch, 1)
    assert (found.num_rows, found.column_names) == (0, ["reactive", "value", "start", "end", "weight"])
    assert stacked([found, found]).num_rows == 0
