"""Traces of streams, cut at random into pushes, batches and snapshots, and the reference for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.columns.results import events_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius import Event, Reactive
    from cartesius.programs.measures import Stats

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("at", pa.int64()), ("order", pa.int64())])


def traces(slots: int, *, most: int = 24, ids: int = 3, last: int = 20) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Return traces: (number of the slot, id, value, time) each; an id may be None."""
    event = st.tuples(
        st.integers(0, slots - 1), st.none() | st.integers(0, ids - 1), st.integers(0, 4), st.integers(0, last)
    )
    return st.lists(event, max_size=most)


def cuts() -> st.SearchStrategy[list[tuple[str, int]]]:
    """Return how a trace is cut: what is done with the next so many events."""
    ways = st.sampled_from(("many", "many", "push", "restore", "reference"))
    return st.lists(st.tuples(ways, st.integers(1, 9)), max_size=8)


def batch_of(inputs: Sequence[Reactive], trace: Sequence[tuple[Any, ...]]) -> dict[Reactive | str, pa.Table]:
    """Return a trace as the columns of a batch."""
    rows: dict[Reactive, list[dict[str, Any]]] = {reactive: [] for reactive in inputs}
    for order, (slot, key, value, at) in enumerate(trace):
        rows[inputs[slot]].append({"id": key, "v": value, "at": at, "order": order})
    return {reactive: pa.Table.from_pylist(mine, SCHEMA) for reactive, mine in rows.items()}


def push(engine: Engine, inputs: Sequence[Reactive], trace: Sequence[tuple[Any, ...]]) -> list[Event]:
    """Push a trace event by event; return what comes out."""
    return [e for s, key, value, at in trace for e in engine.push(inputs[s], {"id": key, "v": value}, at)]


def exactly(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """Return events as what must be the same in all tiers, with the types of the values."""
    return [(repr(e.value), e.value, e.start, e.end, e.weight, e.reactive) for e in events]


def check(
    program: Callable[[], Reactive],
    inputs: Sequence[Reactive],
    trace: Sequence[tuple[Any, ...]],
    cut: Sequence[tuple[str, int]] = (),
    **options: Any,
) -> None:
    """Compare a trace that is pushed into the reference with one that is cut, of which batches must be compiled."""
    output = program()
    reference = Engine(output, tier="reference", **options)
    expected = push(reference, inputs, trace)
    engine = Engine(output, **options)
    found: list[Event] = []
    rest = list(trace)
    for way, n in [*cut, ("many", len(trace))]:
        now, rest = rest[:n], rest[n:]
        if way == "push":
            found += push(engine, inputs, now)
        elif way == "reference":
            other = Engine.restore(engine.snapshot(), output, tier="reference", **options)
            found += push(other, inputs, now)
            engine = Engine.restore(other.snapshot(), output, **options)
        else:
            if way == "restore":
                engine = Engine.restore(engine.snapshot(), output, **options)
            found += events_of(engine.push_many(batch_of(inputs, now)))
            assert engine._compiled is not None
            assert engine._compiled.reason == ""
            assert engine._why_row_by_row in ("", "an event without a key comes out unmatched")
    assert exactly(found) == exactly(expected)
    assert counts(engine.stats) == counts(reference.stats)
    if output in engine._program.join_of and engine._program.join_of[output].is_table:
        assert engine.query(output) == reference.query(output)
    assert (engine.clock, engine.next_deadline) == (reference.clock, reference.next_deadline)
    assert [late[1:] for late in engine.late] == [late[1:] for late in reference.late]
    engine._check_invariants()
    assert exactly(push(engine, inputs, trace[:4])) == exactly(push(reference, inputs, trace[:4]))


def counts(stats: Stats) -> tuple[Any, ...]:
    """Return what is the same in all tiers."""
    return stats.events, stats.tuples, stats.retained, stats.waiting, stats.slots
