"""The kernel of rows that are collected from the events of a stream: a loop over the events, by the life of the rows.

The life does what it does in place; there is neither a step of the engine nor an entry for an event.

Source: DESIGN 4; `life_stages.collating`; SEMANTICS 2.7 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.stages.held import Held, load_held
from cartesius.columns.stages.rows import BEFORE, Flow, Rows, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.stages.stored_rows import entries_of, store_deadlines, store_entries
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.generated import commented
from cartesius.expressions.expressions import Part
from cartesius.expressions.phases import collected_of
from cartesius.plan.nodes import AsTable, Collate, TakeBack
from cartesius.results.unchanged_values import is_unchanged
from cartesius.results.views import View
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.stages.stages import Moment
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot

_KNOWN = {Collate, TakeBack, AsTable}


@attrs.frozen(eq=False)
class Row:
    """A row that has been collected, and until when it is what it is; None: for ever."""

    value: Any
    start: int
    end: int
    number: int
    until: int | None


@attrs.define(eq=False)
class _Change:
    key: Any
    position: int
    start: int
    end: int
    value: Any  # None: the row is gone


class Collating(Stage):
    """A table of rows that are collected from a stream."""

    is_in_memory = True
    keeps_time = True

    def __init__(self, join: Join, installed: Installed) -> None:
        super().__init__(join)
        self.installed = installed
        node: Any = installed.node
        self.life: Any = node.life

    def source(self) -> str:
        """Return what is done, as there is no code."""
        (slot,) = self.join.slots
        what = f"each {commented(slot.reactive.name)}, one by one: {commented(repr(self.installed.restriction))}"
        return f"# {commented(self.join.name)}\n# {what}\n"

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Tell all ways in which a row leaves."""
        return frozenset({None, Fate.EXPIRED, Fate.DISPLACED})

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Let one event after the other come to its row."""
        rows: dict[Any, Row] = dict(state.more or {})
        coming = arriving.get(0)
        clock = moment.clock if moment.meets_deadlines and moment.clock is not None and len(moment.clock) else None
        due = float("-inf")  # not after the first deadline
        if coming is None or not len(coming):
            if clock is not None:
                _first_due(rows, due, int(clock[-1]))
            return Outcome(nothing(), state, 0)
        changes: list[_Change] = []
        tuples, known = 0, len(rows)
        columns = (coming.start.tolist(), coming.end.tolist(), coming.number.tolist(), coming.position.tolist())
        for value, start, end, number, position in zip(coming.payload.to_list(), *columns, strict=True):
            now = end if moment.clock is None else max(end, int(moment.clock[position]))
            if clock is not None:
                due = _first_due(rows, due, int(clock[position]))
            key, before, stage = self._come(rows, value, end, now)
            if stage is None:
                if rows.pop(key, None) is not None:
                    changes.append(_Change(key, position, start, end, None))
                continue
            tuples += 1
            rows.pop(key, None)  # what has come last is the last in order
            rows[key] = Row(stage.value, start, end, number, stage.until)
            if stage.until is not None:
                due = min(due, stage.until)
            if before is None or not is_unchanged(before, stage.value):
                changes.append(_Change(key, position, start, end, stage.value))
        if clock is not None:
            _first_due(rows, due, int(clock[-1]))
        gone = sum(one.value is None for one in changes)
        left = {Fate.EXPIRED: gone, Fate.DISPLACED: known + tuples - len(rows), None: len(coming) - tuples - gone}
        return Outcome(_flow(changes), State((_retained(rows),), rows), tuples, fates={0: left})

    def _come(self, rows: Mapping[Any, Row], value: Any, end: int, now: int) -> tuple[Any, Any, Any]:
        """Return the key of the row that a value comes to, what it was, and its stage."""
        life = self.life
        try:
            objection = life.objection(value)
            key = None if objection is not None else life.key(value)
            found = rows.get(key)
            before = None if found is None else found.value
            stage = None if objection is not None else life.come(before, value, end, now)
        except Exception as error:
            raise NotColumnar(f"{life!r} raises {type(error).__name__}") from error
        if objection is not None:
            raise NotColumnar(objection)
        if stage is not None and (stage.value is None or stage.keeps is not None):
            raise NotColumnar("rows are kept that are not seen as they are")
        return key, before, stage

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the rows that there are."""
        (slot,) = self.join.slots
        found = load_held(slot)
        rows: dict[Any, Row] = {}
        for entry in slot.memory.all():
            if entry.noted("keeps") is not None or not isinstance(entry.noted("time"), int):
                raise NotColumnar("a row is kept that is not seen as it is, or has an infinite time")
            rows[entry.row_key] = Row(entry.value, int(entry.start), int(entry.end), entry.number, entry.noted("until"))
        return State((found,), rows)

    def deadline(self, state: State) -> int | None:
        """Return when the first row is decided."""
        due = [row.until for row in state.more.values() if row.until is not None]
        return min(due) - 1 if due else None

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold the rows, and their deadlines."""
        (slot,), (rows,) = self.join.slots, state.retained
        stored.add(id(slot.memory))
        known: list[Row] = [] if rows is None else list(state.more.values())
        entries = [] if rows is None else entries_of(self.join, slot, rows)
        for entry, row in zip(entries, known, strict=True):
            entry.note(time=row.end, keeps=None, until=row.until)
        store_entries(slot, entries)
        store_deadlines(self.installed, [row.until for row in known if row.until is not None])


def _first_due(rows: Mapping[Any, Row], due: float, clock: int) -> float:
    """Return a time that is not after the first deadline, if that is to come; ``due`` is one that was known before."""
    if clock < due:
        return due
    due = min((row.until for row in rows.values() if row.until is not None), default=float("inf"))
    if due <= clock:
        raise NotColumnar("what was collected is forgotten in the batch")
    return due


def _flow(changes: list[_Change]) -> Flow:
    if not changes:
        return nothing()
    position, start, end = (
        np.array([getattr(one, name) for one in changes], np.int64) for name in ("position", "start", "end")
    )
    deletes = np.array([one.value is None for one in changes], np.bool_)
    key, value = of_values([one.key for one in changes]), Held([one.value for one in changes])
    return Flow(position, value, start, end, None, key, deletes if deletes.any() else None)


def _retained(rows: Mapping[Any, Row]) -> Rows | None:
    if not rows:
        return None
    known = list(rows.values())
    start, end, number = (
        np.array([getattr(one, name) for one in known], np.int64) for name in ("start", "end", "number")
    )
    before = np.full(len(known), BEFORE, np.int64)
    return Rows(Held([one.value for one in known]), start, end, number, number, before, of_values(list(rows)))


def collating_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that collects rows from the events of a stream."""
    found = [one for one in join.installed if isinstance(one.node, Collate)]
    if not found:
        return None
    installed = found[0]
    node: Any = installed.node
    life = node.life
    if collected_of(life) is None:
        return f"{life!r} does not say what it collects"
    meanings = [type(one.node) for one in join.installed]
    if len(meanings) != len(set(meanings)) or not set(meanings) <= _KNOWN or not isinstance(join.batch.output, View):
        return "more is done to rows that are collected"
    (slot,) = join.slots if len(join.slots) == 1 else (None,)
    if slot is None or slot.shared is not None or slot.kept is not None or join.batch.is_read_only:
        return "rows that are collected are no table of their own"
    if slot.memory.finds or slot.reactive.pattern is not None:
        return "rows are collected from results, or from events that may be taken back"
    if join.pattern.yields != Part(slot.name) or join.pattern.conditions:
        return "it gives something else than the rows that are collected"
    return Collating(join, installed)
