"""The kernel of rows that the clock changes: each is seen, hidden or too old, by phases that it says itself.

What a row is when it comes is a function of it and of the clock, computed for all rows at once (`phasing`). Between
batches each row that the clock can change has a deadline, as in place.

Invariant: of each row that is kept, `Phase` is the phase that the clock has reached.

This module is over 300 lines because one pass finds what a row is, what it gives, and what becomes of the one before.

Source: DESIGN 4; SEMANTICS 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.bodies.phasing import NEVER, Phase, PhaseCode, marked, together
from cartesius.columns.stages.rows import BEFORE, LAST, Flow, Rows, all_of, joined, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.stages.stored_rows import entries_of, rows_of, store_deadlines, store_entries
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import begins, by_code, ends
from cartesius.columns.vectors.sameness import unchanged
from cartesius.columns.vectors.vectors import MISSING, NotColumnar, Struct
from cartesius.data.generated import commented
from cartesius.expressions.expressions import Apply, Part
from cartesius.expressions.missing_values import is_there
from cartesius.expressions.phases import phases_of
from cartesius.plan.nodes import Age, AsTable, TakeBack
from cartesius.results.views import View
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.expressions.phases import Phases
    from cartesius.language.families import Slot

_KNOWN = {Age, TakeBack, AsTable}


@attrs.frozen(eq=False)
class Stages:
    """Rows in all phases that they are in during a batch.

    Args:
        rows: The rows; in a later phase with the position, and the end, of its beginning.
        phase: The phase of each.
        code: The code of its key.
        count: Below what the codes are.
        turn: The time of the deadline with which the phase begins; `LAST` if a row comes with it.
    """

    rows: Rows
    phase: Phase
    code: NDArray[np.int64]
    count: int
    turn: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows, phase: Phase) -> Stages:
        """Return rows in the phases in which they come."""
        assert rows.key is not None  # Invariant: it is a table
        (code,), count = encoded([[rows.key]], skips_null=False)
        return cls(rows, phase, code, count, np.full(len(rows), LAST))

    @classmethod
    def together(cls, parts: Sequence[Stages]) -> Stages:
        """Return them all."""
        code, turn = (np.concatenate([getattr(one, name) for one in parts]) for name in ("code", "turn"))
        return cls(
            joined([one.rows for one in parts]), together([one.phase for one in parts]), code, parts[0].count, turn
        )

    @property
    def has_met(self) -> bool:
        """Whether a deadline was met."""
        return bool((self.turn != LAST).any())

    def arrival(self) -> NDArray[np.int64]:
        """Return the order in which phases begin: of those of one deadline, the row that was there longest first."""
        if not self.has_met:
            return np.arange(len(self.turn))
        arrival = np.empty(len(self.turn), np.int64)
        since: dict[int, int] = {}  # of each key when its present phase began
        code = self.code.tolist()
        order = np.lexsort((self.turn, self.rows.position))
        groups = np.flatnonzero(begins(self.rows.position[order], self.turn[order]) | (self.turn[order] == LAST))
        rank = 0
        for group in np.split(order, groups[1:]):
            for place in sorted(group.tolist(), key=lambda place: since.get(code[place], 0)):
                arrival[place] = since[code[place]] = rank
                rank += 1
        return arrival


class Ageing(Stage):
    """A table of the rows of another, as the clock shows them."""

    is_in_memory = True
    keeps_time = True

    def __init__(self, join: Join, installed: Installed, phases: Phases) -> None:
        super().__init__(join)
        self.installed = installed
        self.phases = phases
        self.code = PhaseCode(phases)

    def source(self) -> str:
        """Return the generated code."""
        (slot,) = self.join.slots
        shown = f"# {commented(self.join.name)}: {commented(slot.reactive.name)}\n"
        return f"{shown}# {commented(repr(self.installed.restriction))}\n{self.code.text}"

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Tell all ways in which a row leaves."""
        return frozenset({None, Fate.EXPIRED, Fate.DISPLACED})

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Find the phase of each row that comes, and compare it with the row before."""
        (before,), coming = state.retained, arriving.get(0)
        whole = all_of(before, coming)
        if whole is None or not len(whole):
            return Outcome(nothing(), state, 0)
        phases = [state.more] if before is not None and len(before) else []
        if coming is not None and len(coming):
            phases.append(self._phase(coming, moment))
        if not isinstance(whole.payload, Struct) and (whole.deletes is None or not whole.deletes.all()):
            raise NotColumnar("rows have other fields than each other")
        found = Stages.of(whole, together(phases))
        if moment.meets_deadlines and moment.clock is not None and len(moment.clock):
            found = self._met(found, moment.clock)
        return self._compared(found)

    def _met(self, found: Stages, clock: NDArray[np.int64]) -> Stages:
        """Return the phases of rows, and those into which deadlines take them before the clock has passed."""
        code, steps = found.code, len(clock)
        order = by_code(code, found.count)
        until_row = np.full(len(order), steps)
        until_row[order[:-1]] = np.where(np.diff(code[order]) == 0, found.rows.position[order[1:]], steps)
        parts, last = [found], found
        while True:
            due = np.searchsorted(clock, last.phase.until, side="left")
            met = np.flatnonzero((due <= until_row) & (due < steps))
            if not len(met):
                return Stages.together(parts)
            until, position, until_row = last.phase.until[met], due[met], until_row[met]
            rows = last.rows.take(met)
            phase = self.code.at(rows.payload, last.phase.time[met], until)
            rows = attrs.evolve(rows, position=position, end=np.maximum(rows.end, until), deletes=None)
            last = Stages(rows, phase, last.code[met], found.count, until - 1)
            parts.append(last)

    def _phase(self, rows: Rows, moment: Moment) -> Phase:
        """Return the phases in which rows come."""
        payload, n = rows.payload, len(rows)
        there = np.arange(n) if rows.deletes is None else np.flatnonzero(~rows.deletes)
        now = rows.end if moment.clock is None else np.maximum(rows.end, moment.clock[rows.position])
        none = np.zeros(n, np.bool_)
        if not len(there):
            return Phase(rows.end, now, np.full(n, NEVER), none, none)
        if not isinstance(payload, Struct):
            raise NotColumnar("rows have no fields")
        chosen = payload.take(there)
        if chosen.valid is not None and not chosen.valid.all():
            raise NotColumnar("some rows are None")
        found = self.code.at(chosen, rows.end[there], now[there])
        if len(there) == n:
            return found
        until, seen, stale = np.full(n, NEVER), none.copy(), none.copy()
        until[there], seen[there], stale[there] = found.until, found.seen, found.stale
        return Phase(rows.end, now, until, seen, stale)

    def _compared(self, found: Stages) -> Outcome:
        """Return what differs from the row before, of each key."""
        rows, phase, arrival = found.rows, found.phase, found.arrival()
        assert rows.key is not None  # Invariant: it is a table
        order = np.lexsort((arrival, found.code)) if found.has_met else by_code(found.code, found.count)
        first = begins(found.code[order])
        is_new = rows.position[order] != BEFORE
        seen, stays = phase.seen[order], phase.stays[order]
        showed = np.zeros(len(order), np.bool_)
        showed[1:] = seen[:-1]
        showed &= ~first
        changes = is_new & (seen ^ showed)
        value = rows.payload
        if seen.any():
            assert isinstance(value, Struct)  # Invariant: what is seen has fields
            value = marked(self.phases, value, phase)
        both = np.flatnonzero(is_new & seen & showed)
        if len(both):
            same = unchanged(value.take(order[both - 1]), value.take(order[both]))
            changes[both[~same]] = True
        places = np.flatnonzero(changes)
        places = places[np.argsort(arrival[order[places]])]
        flow = self._flow(found, value, order[places], seen[places])
        left = order[ends(found.code[order]) & stays]
        left = left[np.argsort(arrival[left])]
        more, kept = phase.take(left), None
        if len(left):
            kept = attrs.evolve(rows.take(left).as_retained(), number=np.sort(rows.number[left]))
        had = np.append(False, stays[:-1])[: len(order)] & ~first
        is_deletion = is_new & ~stays & (had if rows.deletes is None else had | rows.deletes[order])
        fates = {
            None: int(np.count_nonzero(is_new & ~stays & ~is_deletion) - np.count_nonzero(found.turn != LAST)),
            Fate.EXPIRED: int(np.count_nonzero(is_deletion)),
            Fate.DISPLACED: int(np.count_nonzero(is_new & had)),
        }  # what a deadline makes of a row comes from the gate, which has not taken it
        return Outcome(flow, State((kept,), more), int(np.count_nonzero(is_new & stays)), fates={0: fates})

    def _flow(self, found: Stages, value: Vector, given: Indices, is_update: NDArray[np.bool_]) -> Flow:
        """Return changes, in order."""
        rows = found.rows
        assert rows.key is not None  # Invariant: it is a table
        deletes = None if is_update.all() else ~is_update
        shown = value.take(given if deletes is None else np.where(is_update, given, MISSING), may_miss=bool(len(given)))
        start, end, turn = rows.start[given], rows.end[given], found.turn[given]
        start = np.where(is_update | (turn == LAST), start, end)  # what a deadline takes away, it takes away then
        turns = turn if found.has_met else None
        return Flow(rows.position[given], shown, start, end, None, rows.key.take(given), deletes, turns)

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the rows as they came, and their phases."""
        (slot,), like = self.join.slots, arriving.get(0)
        entries = list(slot.memory.all())
        if not entries:
            return State((None,), None)
        came = []
        for entry in entries:
            kept = entry.noted("keeps")
            one = entry.with_value(entry.value if kept is None else kept)
            one.number = entry.number
            came.append(one)
        rows = rows_of(slot, came, like if like is not None and isinstance(like.payload, Struct) else None)
        if not all(isinstance(entry.noted("time"), int) for entry in entries):
            raise NotColumnar("a retained event has an infinite time")
        time = np.array([entry.noted("time") for entry in entries], np.int64)
        until = np.array([NEVER if (one := entry.noted("until")) is None else one for entry in entries], np.int64)
        seen = np.array([entry.value is not None for entry in entries])
        now, stale = time.copy(), np.zeros(len(entries), np.bool_)
        for place, entry in enumerate(entries):
            if entry.value is None:
                continue
            stale[place] = self.phases.stale in entry.value
            if self.phases.now in entry.value:
                now[place] = entry.value[self.phases.now]
        return State((rows,), Phase(time, now, until, seen, stale))

    def deadline(self, state: State) -> int | None:
        """Return when the first row comes to its next phase."""
        first = NEVER if state.more is None else int(state.more.until.min(initial=NEVER))
        return None if first == NEVER else first - 1

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold the rows as they are seen, what they were made from, and their deadlines."""
        (slot,), (rows,) = self.join.slots, state.retained
        stored.add(id(slot.memory))
        store_entries(slot, entries := [] if rows is None else self._entries(rows, state.more))
        store_deadlines(self.installed, [until for entry in entries if (until := entry.noted("until")) is not None])

    def _entries(self, rows: Rows, phase: Phase) -> list[Entry]:
        assert isinstance(rows.payload, Struct)  # Invariant: rows that are kept have fields
        shown = attrs.evolve(rows, payload=marked(self.phases, rows.payload, phase))
        entries = entries_of(self.join, self.join.slots[0], shown)
        columns: Any = zip(
            entries,
            rows.payload.to_list(),
            phase.time.tolist(),
            phase.until.tolist(),
            phase.seen.tolist(),
            strict=True,
        )
        for entry, row, time, until, is_seen in columns:
            if not is_seen:
                entry.value = None
            entry.note(time=time, keeps=row, until=None if until == NEVER else until)
        return entries


def ageing_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that shows rows as the clock does."""
    found = [one for one in join.installed if isinstance(one.node, Age)]
    if not found:
        return None
    (installed,) = found[:1]
    node: Any = installed.node
    phases = phases_of(node.life)
    if phases is None:
        return f"{node.life!r} does not say its phases"
    meanings = [type(one.node) for one in join.installed]
    if len(meanings) != len(set(meanings)) or not set(meanings) <= _KNOWN or not isinstance(join.batch.output, View):
        return "more is done to rows that the clock changes"
    (slot,) = join.slots if len(join.slots) == 1 else (None,)
    condition = join.pattern.conditions
    if slot is None or slot.shared is not None or slot.kept is not None or join.batch.is_read_only:
        return "rows that the clock changes are no table of their own"
    if join.pattern.yields != Part(slot.name) or [type(one) for one in condition] != [Apply]:
        return "it gives something else than the rows that the clock changes"
    (only,) = condition
    if not isinstance(only, Apply) or only.function is not is_there or only.arguments != (Part(slot.name),):
        return "it gives something else than the rows that the clock changes"
    return Ageing(join, installed, phases)
