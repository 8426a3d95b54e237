"""The kernel of totals in sessions: what `aggregate` gives of one stream by session, or by key and session.

Events are held until their session is over: then it gives one change, when the clock is past its end, before the event
that moved the clock.

Invariant: what is held is in sessions that are not over.

Source: SEMANTICS 3.1 and 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.analysis.windowed_rows import are_by_keys, totalled_by
from cartesius.columns.bodies.computed import Keys
from cartesius.columns.bodies.vectorising import heading
from cartesius.columns.stages.rows import BEFORE, FAR, Flow, Rows, all_of, nothing
from cartesius.columns.stages.spans import until
from cartesius.columns.stages.stages import Outcome, Stage, State, count_of
from cartesius.columns.stages.stored_rows import entries_of
from cartesius.columns.streams.shapes import not_plain
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import Segments
from cartesius.columns.vectors.vectors import TUPLE, NotColumnar, Struct
from cartesius.columns.windows.sessions_of_rows import LATE, SessionsOfRows, sessions_of
from cartesius.columns.windows.totalled_rows import TotalledRows, by_unknown_groups
from cartesius.columns.windows.window_deliveries import told_late
from cartesius.columns.windows.window_state import load_held
from cartesius.data.events import Window
from cartesius.data.queues import Queue
from cartesius.expressions.expressions import WindowOf
from cartesius.plan.nodes import Aggregate, KeyBy, Now, Sessions, TakeBack
from cartesius.results.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.stages import Counts, Moment
    from cartesius.columns.vectors.vectors import Ints, Vector
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry

_KNOWN = {Sessions, KeyBy, Aggregate, TakeBack, Now}


class SessionTotals(Stage):
    """Totals of one stream by session, or by key and session."""

    keeps_time = True
    gives_turns = True

    def __init__(self, join: Join, installed: Installed, gap: int, totals: TotalledRows, keys: Keys | None) -> None:
        super().__init__(join)
        self.installed = installed
        self.gap = gap
        self.totals = totals
        self.keys = keys

    def source(self) -> str:
        """Return the generated code."""
        return heading(self.join, f"sessions of {self.gap}, Segments, {self.totals}") + self.totals.source()

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Hold what comes, and total the sessions that are over."""
        rows = all_of(state.retained[0], arriving.get(0))
        if rows is None or not len(rows):
            return Outcome(nothing(), State((None,)), 0)
        number = np.where(rows.position == BEFORE, rows.number, rows.position + (self.join.world.steps + 1))
        rows = attrs.evolve(rows, number=number)
        found, now = self._sessions(rows, moment.clock), until(moment, self.join.world)
        is_late = found.of == LATE
        reach = found.reach.values()
        aside, freed = rows.take(np.array([*found.reach], np.int64)), [due + 1 for _, due in reach]
        late = told_late(self.join.slots[0], aside, reach, freed)
        leaves = np.append(found.due < now, [False])[found.of]
        stays = rows.take(np.flatnonzero(~leaves & ~is_late))
        state = State((stays.as_retained() if len(stays) else None,))
        if not leaves.any():
            return Outcome(nothing(), state, 0, late, {0: 0})
        assert moment.clock is not None  # Invariant: before all times nothing is over
        flow, n = self._flow(rows.take(np.flatnonzero(leaves)), found, leaves, moment.clock), int(leaves.sum())
        return Outcome(flow, state, n, late, {0: n})

    def _sessions(self, rows: Rows, clock: Ints | None = None) -> SessionsOfRows:
        codes, count = np.zeros(len(rows), np.int64), 1
        if self.keys is not None:
            (codes,), count = encoded([[self.keys.in_space(0, 0, rows)]], skips_null=False)
        return sessions_of(rows, codes, count, self.gap, clock)

    # -- what they come to ---------------------------------------------------------------------------------------------

    def _flow(self, rows: Rows, found: SessionsOfRows, leaves: NDArray[np.bool_], clock: Ints) -> Flow:
        """Return what the sessions come to that are over, in the order of their deadlines."""
        of = found.of[leaves]
        is_over = np.zeros(len(found.due), np.bool_)
        is_over[of] = True
        over = np.flatnonzero(is_over)
        segments = Segments((np.cumsum(is_over) - 1)[of], len(over), 0)
        key = self.totals.keys_of(rows)
        windows = found.windows(of)
        keys: Vector = windows if key is None else Struct(TUPLE, ("0", "1"), [key, windows], len(of))
        totalled = self.totals.run(segments, rows, None, keys.to_list)
        order = np.lexsort((found.asked[over], found.due[over]))
        chosen, due = over[order], found.due[over[order]]
        position = np.searchsorted(clock, due, side="right")
        value, shown = totalled.shown.take(segments.tails[order]), keys.take(segments.first[order])
        return Flow(position, value, found.first[chosen], due - self.gap, key=shown, turn=due)

    # -- state by key --------------------------------------------------------------------------------------------------

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of which each has sessions of its own."""
        return None if self.keys is None else self.keys.in_space(0, 0, rows)

    def dues(self, slot: int, rows: Rows) -> Ints:
        """Return when a session would be over of which each is the last."""
        due: Ints = rows.end + self.gap
        return due

    def passed(self, state: State, clock: int) -> State | None:
        """Return the same state; None if a session is over by then."""
        first = self.deadline(state)
        return None if first is not None and first < clock else state

    def deadline(self, state: State) -> int | None:
        """Return after which clock the first session is over."""
        rows = state.retained[0]
        return None if rows is None or not len(rows) else int(self._sessions(rows).due.min())

    # -- objects -------------------------------------------------------------------------------------------------------

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return what the sessions hold."""
        (slot,) = self.join.slots
        held = load_held(slot, self.installed, arriving.get(0))
        if slot.memory.all() or any(copy.reported for copy in self.installed.copies.values()):
            raise NotColumnar("a session that is over is not freed")
        return State((held,))

    def counts(self, state: State) -> Counts:
        """Return how many events are in sessions."""
        return {0: (0, count_of(state.retained[0]))}

    def store(self, state: State, stored: set[int]) -> None:
        """Let sessions hold their events, and ask when they are over."""
        installed, deadlines, (slot,) = self.installed, self.join.world.deadlines, self.join.slots
        stored.add(id(slot.memory))
        installed.due.clear()
        installed.copies.clear()
        deadlines.drop([installed])
        rows = state.retained[0]
        if rows is None or not len(rows):
            return
        found, entries = self._sessions(rows), entries_of(self.join, slot, rows)
        events: list[list[Entry]] = [[] for _ in found.due]
        for entry, session in zip(entries, found.of.tolist(), strict=True):
            entry.note(step=entry.number)
            entry.number = -1
            events[session].append(entry)
        first, due = found.first.tolist(), found.due.tolist()
        for entry in entries:  # in the order of the keys
            key = installed.key_of(slot, entry)
            if key not in installed.copies:
                installed.make(key)
        for session in sorted(range(len(events)), key=lambda one: events[one][-1].noted("step")):
            copy = installed.copies[installed.key_of(slot, events[session][0])]
            copy.contents = {**copy.contents, Window(first[session], due[session]): Queue(events[session])}
        for session in np.argsort(found.asked, kind="stable").tolist():
            installed.notify_at(due[session], installed.key_of(slot, events[session][0]))
        deadlines.clean()


def session_totals_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that totals one stream in sessions."""
    output = join.batch.output
    opening = [one for one in join.installed if isinstance(one.node, Sessions)]
    if len(opening) != 1 or not isinstance(output, Totals) or len(join.slots) != 1:
        return None
    installed, node = opening[0], opening[0].node
    assert isinstance(node, Sessions)
    if not {type(one.node) for one in join.installed} <= _KNOWN:
        return "what is in its sessions is kept otherwise"
    is_plain = node.content is None and node.ticks == "tuple" and not node.displaces
    if node.lateness or "on_close" not in node.reports or not is_plain:
        return "its sessions may be merged once they are over, or keep what is in them otherwise"
    if node.gap > FAR:
        return "its sessions are very long"
    if installed.floor_slots:
        return "when its sessions are over depends on what gates hold"
    if reason := not_plain(join):
        return reason
    key = totalled_by(join.pattern)
    if key is None or join.batch.body.where is not None or not are_by_keys(join, key):
        return "its totals are not by session, or by the key of its sessions besides"
    if reason := by_unknown_groups(output):
        return reason
    is_keyed = not isinstance(key, WindowOf)
    totals = TotalledRows(join, key if is_keyed else None, output)
    return SessionTotals(join, installed, node.gap, totals, Keys(join) if is_keyed else None)
