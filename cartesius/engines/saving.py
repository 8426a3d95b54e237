"""Saving the state of an engine as columns: the same as a snapshot has, with the memories of slots as rows.

While columns own the state, nothing is turned into objects: their rows are saved as they are, with what the objects
were left at, and own the state again where they are loaded. Otherwise each memory that rows can stand for exactly is
saved as rows, any other as its entries.

Invariant: an engine that `load` makes of what `save` returned goes on as the saved one does.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.columns.batches.keyed_state import whole
from cartesius.columns.batches.running import Compiled
from cartesius.columns.stages.stages import State
from cartesius.columns.stages.stored_rows import entries_of, rows_of
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.entries import ABSENT, Entry
from cartesius.engines.engine import Engine
from cartesius.engines.snapshots import load_engine, load_entries, save_engine, save_entries
from cartesius.errors import InternalError, SnapshotMismatch
from cartesius.storage.version_memories import VersionMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.columns.stages.rows import Rows
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.lenience import OnError
    from cartesius.language.reactives import Reactive

FEW: Final = 32
"""Fewer entries are not worth columns of their own."""


@attrs.frozen(eq=False)
class Memory:
    """The memory of a slot, as rows.

    Args:
        rows: They.
        first: The place of the first of them among the entries that the correlation mentions.
    """

    rows: Rows
    first: int


def save(engine: Engine) -> dict[str, Any]:
    """Return the state of an engine: plain data, but for the memories of slots, which may be a `Memory` or `Rows`.

    Raises:
        NotStorable: The state holds something that is not plain data.
    """
    engine._check_own_thread("save")
    states = _columns(engine)
    if states is None:
        engine._settle()
        return save_engine(engine, _in_rows)
    assert isinstance(engine._compiled, Compiled)  # Invariant: it holds the columns
    engine._compiled.keep_rows()
    engine._program.world.journal.clear()
    return {**save_engine(engine, lambda join, slot, places: []), "columns": [list(state.retained) for state in states]}


def load(
    state: Mapping[str, Any], outputs: Iterable[Reactive], lateness: int | None = None, on_error: OnError = "fail"
) -> Engine:
    """Return an engine for ``outputs``, of that ``lateness`` and ``on_error``, in the state that `save` returned.

    Raises:
        SnapshotMismatch: It is the state of another program.
    """
    engine = Engine(*outputs, lateness=lateness, on_error=on_error, _layout=state["layout"])
    if [len(join.slots) for join in engine._program.joins] != [len(one["ended"]) for one in state["joins"]]:
        message = "restore: expected the state of this program but it has other correlations; use the program that was"
        raise SnapshotMismatch(message)
    load_engine(engine, state, _from_rows)
    if "columns" in state:
        compiled = engine._compiled = Compiled(engine)
        if compiled.reason:
            message = f"restore: expected a program that is compiled, as it was when it was saved: {compiled.reason}"
            raise InternalError(message)
        compiled.states = [State(tuple(retained)) for retained in state["columns"]]
        engine._direct = {}
    return engine


def _columns(engine: Engine) -> list[State] | None:
    """Return the columns that own the state, if they are all that is needed; None: the objects own it, or must."""
    compiled = engine._compiled
    if compiled is None or compiled.states is None or compiled.program is not engine._program:
        return None
    if len(compiled.states) < len(engine._program.joins):
        return None
    slots = [slot for join in engine._program.joins for slot in join.slots]
    if any(isinstance(slot.memory, VersionMemory) for slot in slots):
        return None
    return list(map(whole, compiled.states)) if all(state.more is None for state in compiled.states) else None


def _in_rows(join: Join, slot: Slot, places: dict[int, int]) -> Any:
    """Return a memory as rows, if they can stand for it, or else its entries."""
    entries = list(slot.memory.all())
    if len(entries) < FEW or not all(_is_plain(slot, entry) for entry in entries):
        return save_entries(join, slot, places)
    try:
        rows = rows_of(slot, entries, None)
    except NotColumnar:
        return save_entries(join, slot, places)
    assert rows is not None  # Invariant: there are entries
    first = len(places)
    places.update((id(entry), first + n) for n, entry in enumerate(entries))
    return Memory(rows, first)


def _is_plain(slot: Slot, entry: Entry) -> bool:
    """Whether an entry is told by the numbers, times, value and key that a row has."""
    if type(entry) is not Entry or entry.more is not None or entry.slot != slot.name:
        return False
    if type(entry.start) is not int or type(entry.end) is not int:
        return False
    if slot.is_table:
        return entry._identity == slot.source and entry.row_key is not ABSENT
    own = entry._identity
    return (
        type(own) is tuple
        and len(own) == 2
        and type(own[1]) is int
        and own[0] == slot.source
        and entry.row_key is ABSENT
        and (slot.reactive.pattern is None or own[1] == entry.number)
    )


def _from_rows(join: Join, slot: Slot, stored: Any) -> Iterable[tuple[int, Entry]]:
    if isinstance(stored, Memory):
        return enumerate(entries_of(join, slot, stored.rows), stored.first)
    return load_entries(join, slot, stored)
