"""Any stack with windows in it: batches give what one event after the other gives in the reference tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, note
from hypothesis import strategies as st

from cartesius import Delete, Engine, Update, correlate
from cartesius.columns.batches import plans
from cartesius.columns.results import events_of
from cartesius.errors import CartesiusError
from restrictions import aligning, as_table, key_by, most_recently, retracting, sliding, tumbling, within
from tests.unit.cartesius.columns.stacks import TWO, WHERE_TWO, X, Y, program
from tests.unit.cartesius.columns.stream_traces import batch_of, check, cuts
from tests.unit.cartesius.columns.test_stepping import rows, traces

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOWS: dict[str, Callable[[], Any]] = {
    "tumbling": lambda: tumbling(5),
    "tumbling, and freed later": lambda: tumbling(4, offset=1, lateness=3),
    "sliding": lambda: sliding(6, 2),
    "sliding, and freed later": lambda: sliding(4, 2, lateness=2),
    "sliding, with gaps": lambda: sliding(3, 5, t0=1),
}


@given(
    windows=st.sampled_from(sorted(WINDOWS)),
    rest=st.lists(st.sampled_from(sorted(TWO)), max_size=3, unique=True),
    place=st.integers(0, 3),
    where=st.sampled_from(WHERE_TWO),
    lateness=st.sampled_from((None, 0, 2, 30)),
    trace=traces(2),
    cut=cuts(),
)
def test_any_stack_with_windows_in_it(
    windows: str, rest: list[str], place: int, where: Any, lateness: int | None, trace: list[Any], cut: list[Any]
) -> None:
    names = [*rest[:place], windows, *rest[place:]]
    note(" | ".join(names))
    output = program({**TWO, **WINDOWS}, names, where, 2)
    if output is None:
        return
    options: dict[str, Any] = {} if lateness is None else {"lateness": lateness}
    try:
        engine = Engine(output, **options)
    except CartesiusError:
        return
    if not isinstance(plans.stage_of(engine._program.joins[0]), str):
        check(lambda: output, (X, Y), trace, cut, **options)


def test_a_band_inside_a_window_waits_for_nothing_that_is_displaced() -> None:
    near = correlate(
        x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=tumbling(10) | within(3, "x", "y") | most_recently("x")
    )
    compiled, reference = Engine(near), Engine(near, tier="reference")
    found = compiled.push_many({X: rows((0, 1, 0), (0, 2, 2)), Y: rows((0, 3, 4))})
    assert [event.value for event in events_of(found)] == [(2, 3)]
    for slot, value, at in ((X, 1, 0), (X, 2, 2), (Y, 3, 4)):
        reference.push(slot, {"id": 0, "v": value}, at=at)
    assert compiled.next_deadline == reference.next_deadline == 6
    assert compiled._compiled is not None
    assert compiled._why_row_by_row == ""


def test_a_table_of_windows_consolidates_all_windows_of_an_event() -> None:
    """An event in two windows is one step: what one of them takes back the other gives, and the row is as it was."""
    table = correlate(
        x=X,
        y=Y,
        yields=lambda x, y, window: (x.v, y.v, window.start),
        restrict=sliding(4, 2) | most_recently("x", "y") | retracting() | as_table(lambda row: row[0]),
    )
    engine, reference = Engine(table), Engine(table, tier="reference")
    found = events_of(engine.push_many({X: rows((0, 7, 2)), Y: rows((0, 1, 3), (0, 2, 4))}))
    expected = []
    for slot, value, at in ((X, 7, 2), (Y, 1, 3), (Y, 2, 4)):
        expected += reference.push(slot, {"id": 0, "v": value}, at=at)
    assert [event.value for event in found] == [event.value for event in expected]
    assert {type(event.value) for event in found} <= {Update, Delete}
    assert engine.query(table) == reference.query(table)
    assert engine._why_row_by_row == ""


def test_a_batch_of_null_keys_leaves_nothing_to_align() -> None:
    pairs = correlate(
        x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=tumbling(8) | key_by(x="id", y="id") | aligning("x", "y")
    )
    engine = Engine(pairs)
    assert engine.push_many({X: {"id": [None], "v": [1], "at": [2]}}).num_rows == 0
    assert engine._why_row_by_row == ""
    assert [slot for _, slot, _ in engine.late] == ["x"]
    batch = {X: {"id": [3], "v": [1], "at": [3], "order": [1]}, Y: {"id": [3], "v": [2], "at": [3], "order": [2]}}
    assert [event.value for event in events_of(engine.push_many(batch))] == [(1, 2)]


def test_what_is_kept_of_all_windows_forgets_what_is_freed() -> None:
    """Two are kept of all windows; once the clock has freed one that is newer, an older one is not displaced."""
    pairs = correlate(x=X, y=Y, yields=lambda x, y: (x.v, y.v), restrict=most_recently("x", n=2) | tumbling(5))
    trace = [(0, 0, 1, 7), (0, 0, 2, 4), (1, 0, 9, 9), (0, 0, 3, 8), (1, 0, 8, 9)]
    check(lambda: pairs, (X, Y), trace, lateness=4)
    engine = Engine(pairs, lateness=4)
    values = [(slot, value, order, at) for order, (slot, _, value, at) in enumerate(trace)]
    batch = {
        reactive: {
            "v": [value for slot, value, _, _ in values if slot == n],
            "id": [0 for slot, *_ in values if slot == n],
            "order": [order for slot, _, order, _ in values if slot == n],
            "at": [at for slot, *_, at in values if slot == n],
        }
        for n, reactive in enumerate((X, Y))
    }
    assert [event.value for event in events_of(engine.push_many(batch))] == [(1, 9), (3, 9), (3, 8), (1, 8)]


def test_a_row_is_forgotten_in_the_middle_of_a_batch_when_the_last_of_its_windows_is_freed() -> None:
    """What it shows is told once more then, though it is the same; and nobody is shown it for ever."""
    table = correlate(
        x=X, y=Y, yields=lambda x, y: x.v, restrict=sliding(6, 2) | as_table(lambda v: v % 2), name="table"
    )
    early = [(0, 0, 2, 1), (1, 0, 0, 1), (0, 0, 3, 1)]
    again, later = [(0, 0, 2, 5), (1, 0, 0, 6)], [(0, 0, 4, 30)]
    for lateness, changes in ((0, [2, 3, 2]), (5, [2, 3])):  # freed when the clock is at 6, or at 11
        engine = Engine(table, lateness=lateness)
        found = events_of(engine.push_many(batch_of((X, Y), [*early, *again])))
        assert [event.value.value for event in found] == changes
        assert engine.query(table) == ({0: 2} if lateness == 0 else {0: 2, 1: 3})
        check(lambda: table, (X, Y), [*early, *again, *later], lateness=lateness)
        check(lambda: table, (X, Y), [*early, *later, *early], lateness=lateness)
