"""The kernel of rows that the clock changes: each is seen, hidden or too old, by phases that it says itself.

What a row is when it comes is a function of it and of the clock, computed for all rows at once (`phasing`). Between
batches each row that the clock can change has a deadline, as in place.

Invariant: of each row that is kept, `Phase` is the phase that the clock has reached.

Source: DESIGN 4; SEMANTICS 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columnar.keys import encoded
from cartesius.columnar.ordering import begins, by_code
from cartesius.columnar.phasing import NEVER, Phase, PhaseCode, marked, together
from cartesius.columnar.rows import BEFORE, Flow, Rows, joined, nothing
from cartesius.columnar.sameness import unchanged
from cartesius.columnar.stages import Outcome, Stage, State, entries_of, rows_of
from cartesius.columnar.vectors import MISSING, NotColumnar, Struct
from cartesius.expressions import Apply, Part
from cartesius.generated import commented
from cartesius.meanings import Meaning
from cartesius.missing_values import is_there
from cartesius.phases import phases_of
from cartesius.views import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columnar.stages import Moment
    from cartesius.installations import Installed
    from cartesius.join_shape import Join
    from cartesius.phases import Phases

_KNOWN = {Meaning.AGES, Meaning.RETRACTS, Meaning.ROWS}


class Ageing(Stage):
    """A table of the rows of another, as the clock shows them."""

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

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Find the phase of each row that comes, and compare it with the row before."""
        (before,), coming = state.retained, arriving.get(0)
        rows = [one for one in (before, coming) if one is not None and len(one)]
        if not rows:
            return Outcome(nothing(), state, 0)
        phases = [state.more] if before is not None and len(before) else []
        if coming is not None and len(coming):
            phases.append(self._phase(coming, moment))
        every, phase = joined(rows), together(phases)
        if moment.meets_deadlines and moment.clock is not None and len(moment.clock):
            _check_deadlines(phase, int(moment.clock[-1]))
        return self._compared(every, phase)

    def _phase(self, rows: Rows, moment: Moment) -> Phase:
        """Return the phases in which rows come."""
        payload, n = rows.payload, len(rows)
        there = np.arange(n) if rows.deletes is None else np.flatnonzero(~rows.deletes)
        now = rows.end if moment.clock is None else np.maximum(rows.end, moment.clock[rows.position])
        none = np.zeros(n, np.bool_)
        if not len(there):
            return Phase(rows.end, now, np.full(n, NEVER), none, none)
        if not isinstance(payload, Struct):
            reason = "rows have no fields"
            raise NotColumnar(reason)
        chosen = payload.take(there)
        if chosen.valid is not None and not chosen.valid.all():
            reason = "some rows are None"
            raise NotColumnar(reason)
        found = self.code.at(chosen, rows.end[there], now[there])
        if len(there) == n:
            return found
        until, seen, stale = np.full(n, NEVER), none.copy(), none.copy()
        until[there], seen[there], stale[there] = found.until, found.seen, found.stale
        return Phase(rows.end, now, until, seen, stale)

    def _compared(self, rows: Rows, phase: Phase) -> Outcome:
        """Return what differs from the row before, of each key."""
        assert rows.key is not None  # Invariant: it is a table
        (codes,), count = encoded([[rows.key]], skips_null=False)
        order = by_code(codes, count)
        first = begins(codes[order])
        is_new = rows.position[order] != BEFORE
        seen, stays = phase.seen[order], phase.stays[order]
        showed = np.zeros(len(order), np.bool_)
        showed[1:] = seen[:-1]
        showed &= ~first
        changes = is_new & (seen ^ showed)
        both = np.flatnonzero(is_new & seen & showed)
        value = rows.payload
        if seen.any():
            assert isinstance(value, Struct)  # Invariant: what is seen has fields
            value = marked(self.phases, value, phase)
        if len(both):
            same = unchanged(value.take(order[both - 1]), value.take(order[both]))
            changes[both[~same]] = True
        last = np.ones(len(order), np.bool_)
        last[:-1] = first[1:]
        left = np.sort(order[last & stays])
        kept = rows.take(left).as_retained() if len(left) else None
        given = order[changes]
        is_update = seen[changes]
        in_order = np.argsort(rows.position[given], kind="stable")
        given, is_update = given[in_order], is_update[in_order]
        deletes = None if is_update.all() else ~is_update
        chosen = (
            value.take(given) if deletes is None else value.take(np.where(is_update, given, MISSING), may_miss=True)
        )
        position, start, end = rows.position[given], rows.start[given], rows.end[given]
        flow = Flow(position, chosen, start, end, None, rows.key.take(given), deletes)
        more = None if kept is None else phase.take(left)
        return Outcome(flow, State((kept,), more), int(np.count_nonzero(is_new & stays)))

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
            reason = "a retained event has an infinite time"
            raise NotColumnar(reason)
        time = np.array([entry.noted("time") for entry in entries], np.int64)
        until = [entry.noted("until") for entry in entries]
        seen = np.array([entry.value is not None for entry in entries])
        now, stale = time.copy(), np.zeros(len(entries), np.bool_)
        for place, entry in enumerate(entries):
            if entry.value is None:
                continue
            stale[place] = self.phases.stale in entry.value
            if self.phases.now in entry.value:
                now[place] = entry.value[self.phases.now]
        phase = Phase(time, now, np.array([NEVER if one is None else one for one in until], np.int64), seen, stale)
        return State((rows,), phase)

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold the rows as they are seen, what they were made from, and their deadlines."""
        (slot,), (rows,), join = self.join.slots, state.retained, self.join
        stored.add(id(slot.memory))
        for entry in list(slot.memory.all()):
            slot.memory.remove(entry)
        deadlines = join.world.deadlines
        deadlines.forget_all(join)
        self.installed.due.clear()
        if rows is None:
            return
        phase: Phase = state.more
        assert isinstance(rows.payload, Struct)  # Invariant: rows that are kept have fields
        shown = attrs.evolve(rows, payload=marked(self.phases, rows.payload, phase))
        columns: Any = zip(
            entries_of(join, slot, shown),
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
            slot.memory.store(entry)
        slot.memory.settle(slot.memory.all())
        for until in np.unique(phase.until[phase.until != NEVER]).tolist():
            deadlines.add(until - 1, self.installed, ())


def _check_deadlines(phase: Phase, clock: int) -> None:
    if len(phase.until) and int(phase.until.min()) <= clock:
        reason = "rows change by the clock within the batch"
        raise NotColumnar(reason)


def ageing_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that shows rows as the clock does."""
    found = [one for one in join.installed if one.restriction.meaning is Meaning.AGES]
    if not found:
        return None
    (installed,) = found[:1]
    phases = phases_of(installed.restriction.configuration["life"])
    if phases is None:
        return f"{installed.restriction.configuration['life']!r} does not say its phases"
    meanings = [one.restriction.meaning for one in join.installed]
    if len(meanings) != len(set(meanings)) or not set(meanings) <= _KNOWN or not isinstance(join.batch.output, View):
        return "more is done to rows that the clock changes"
    (slot,) = join.slots if len(join.slots) == 1 else (None,)
    condition = join.pattern.conditions()
    if slot is None or slot.shared is not None or slot.kept is not None or join.batch.is_read_only:
        return "rows that the clock changes are no table of their own"
    if join.pattern.yields != Part(slot.name) or [type(one) for one in condition] != [Apply]:
        return "it gives something else than the rows that the clock changes"
    (only,) = condition
    if not isinstance(only, Apply) or only.function is not is_there or only.arguments != (Part(slot.name),):
        return "it gives something else than the rows that the clock changes"
    return Ageing(join, installed, phases)
