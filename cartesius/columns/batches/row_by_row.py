"""Row by row: what a batch becomes that stages cannot do, or cannot do to its end.

Invariant: the rows before one at which a body raises stand, and what they gave goes with the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.columns.batches.slicing import between, stacked
from cartesius.columns.results import dated, table_of
from cartesius.data.events import Delete, Update
from cartesius.errors import NotStorable, add_note, carried, unloaded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from cartesius.columns.batches.feeds import Feed
    from cartesius.columns.stages.rows import Rows
    from cartesius.core.engine_core import EngineCore
    from cartesius.data.events import Event
    from cartesius.language.reactives import Reactive


def one_by_one(
    engine: EngineCore, feed: Feed, tables: Sequence[pa.Table], done: int, told: list[BaseException]
) -> pa.Table:
    """Push the rows from ``done`` on one by one; those before gave ``tables``. Errors that carry them are ``told``."""
    outputs = [(engine._program.names[output], is_table(engine, output)) for output in engine._program.outputs]
    out: list[Event] = []
    calendar = engine._world.calendar
    begun = engine._world.events - done
    try:
        for reactive, value, at in in_order(between(feed, done, feed.steps)):
            out += engine.push(reactive, value, at and (calendar.time(at[0]), calendar.time(at[1])))
            done += 1
        return dated(stacked([*tables, table_of([*map(calendar.taken, out)], outputs)]), calendar)
    except BaseException as error:
        is_torn, engine._journal.is_open = engine._journal.is_open, True
        told.append(error)
        if engine._world.events - begun > done and isinstance(emitted := unloaded(error), list):
            out += emitted  # of the row at which it was interrupted, which stands
            done += 1
        if isinstance(error, NotStorable) and done == feed.steps:
            error.add_note(no_table(done, done))
        else:
            where = (
                f"in push_many, at row {done} of {feed.steps} in the order of arrival; those before it stand, and what"
            )
            try:
                table = dated(stacked([*tables, table_of([*map(calendar.taken, out)], outputs)]), calendar)
            except NotStorable:  # they may be no plain data
                add_note(error, f"{where} they gave is nothing columns hold; use push")
            else:
                add_note(error, f"{where} they gave is the attribute `emitted` of this error, a table")
                is_torn |= not carried(error, table)
        engine._journal.is_open = is_torn
        raise


def no_table(done: int, steps: int) -> str:
    """Say, of what rows gave that were pushed, that it is no table."""
    rows = "all rows" if done == steps else f"{done} of {steps} rows"
    return f"in push_many: {rows} were pushed, but what they gave is nothing columns hold; use push"


def in_order(feed: Feed) -> Iterator[tuple[Reactive, Any, tuple[int, int] | None]]:
    """Iterate over the rows as `push` takes them."""
    items: list[tuple[Reactive, Any, tuple[int, int] | None] | None] = [None] * feed.steps
    for reactive, rows in feed.rows.items():
        values = payloads_of(reactive, rows)
        times = zip(rows.start.tolist(), rows.end.tolist(), strict=True) if feed.is_timed else [None] * len(rows)
        for position, value, at in zip(rows.position.tolist(), values, times, strict=True):
            items[position] = (reactive, value, at)
    return (item for item in items if item is not None)


def payloads_of(reactive: Reactive, rows: Rows) -> list[Any]:
    """Return what is pushed for each row."""
    values = rows.payload.to_list()
    if not reactive.table:
        return values
    assert rows.key is not None  # Invariant: rows of a table have keys
    deletes = [False] * len(rows) if rows.deletes is None else rows.deletes.tolist()
    keys = rows.key.to_list()
    return [Delete(k, v) if gone else Update(k, v) for k, v, gone in zip(keys, values, deletes, strict=True)]


def is_table(engine: EngineCore, output: Reactive) -> bool:
    """Whether an output is a table."""
    return engine._program.join_of[output].is_table if output in engine._program.join_of else output.table
