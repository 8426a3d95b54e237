"""The kernel of totals in windows: what `aggregate` gives of one stream, by window, or by key and window.

Each event is a row in each of its windows. Rows are sorted by group, stably, those of the groups so far in front; a
total after a row is a running sum, or maximum, within its group, and a change where it differs from the one before. A
window that waits for its end gives one change a group when the clock reaches it, before the event that moved the clock.

This module is over 300 lines because totals are computed, kept by key, and given to objects and taken from them here.

Source: DESIGN 4; SEMANTICS 2.7, 3.1 and 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.analysis.windowed_rows import totalled_by
from cartesius.columns.bodies.computed import of_predicates
from cartesius.columns.bodies.vectorising import heading
from cartesius.columns.groups.totalling import Totalled, chosen, widened
from cartesius.columns.lifetimes.lifetimes import predicates_of
from cartesius.columns.stages.rows import BEFORE, LAST, Flow, Rows, all_of, nothing
from cartesius.columns.stages.spans import clock_of, spans_of, until
from cartesius.columns.stages.stages import Outcome, Stage, State, count_of
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import Segments
from cartesius.columns.vectors.vectors import TUPLE, Leaf, NotColumnar, Struct, concatenated
from cartesius.columns.windows.totalled_rows import TotalledRows, by_unknown_groups
from cartesius.columns.windows.window_deliveries import Deliveries, deliveries, first_met, reported
from cartesius.columns.windows.window_state import Groups, Windows, first_due, load_held, opened, store_windows
from cartesius.expressions.expressions import Expression, WindowOf
from cartesius.plan.nodes import Aggregate, Let, Now, Regular, Separate, TakeBack, Visit
from cartesius.results.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.stages.stages import Counts, Moment
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.reactives import Reactive

_KNOWN = {Regular, Aggregate, TakeBack, Now, Let}
_BY_ITSELF = {Now, Visit, Let, Separate}


class WindowTotals(Stage):
    """Totals of one stream, by window, or by key and window."""

    keeps_time = True

    def __init__(self, join: Join, installed: Installed, spans: Spans, key: Expression | None, output: Totals) -> None:
        super().__init__(join)
        self.installed = installed
        self.gives_turns = spans.delay is not None
        self.spans = spans
        self.output = output
        self.totals = TotalledRows(join, key, output)
        self._has_key = key is not None
        self._predicates = predicates_of(join, join.slots[0])

    def source(self) -> str:
        """Return the generated code."""
        functions = f"deliveries to {self.spans}, Segments, {self.totals}, changes"
        return heading(self.join, functions) + self.totals.source()

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Deliver what comes, total it, and let go of the windows that are over."""
        before: Windows = state.more
        rows = all_of(state.retained[0], arriving.get(0))
        clock = until(moment, self.join.world)
        if rows is None:
            windows = Windows(self._opened(before.opened, clock), self._unfreed(before.groups, clock), before.n_born)
            return Outcome(nothing(), _state(None, windows), 0)
        found = deliveries(self.spans, self.join.slots[0], self.join.world, rows, moment)
        delivered = len(found)
        found = found.let_in(of_predicates(self._predicates, found.rows))
        flow, after = self._totalled(found, before) if len(found) else (nothing(), before)
        every = np.concatenate([before.opened, found.assigned[1]])
        opened_ = self._opened(every[first_met(every)], clock)
        windows = Windows(opened_, self._unfreed(after.groups, clock), after.n_born)
        return Outcome(flow, _state(found.held, windows), len(found), found.late, {0: delivered})

    def _opened(self, windows: Indices, clock: int) -> Indices:
        return windows[~self.spans.is_freed(windows, clock)]

    def _unfreed(self, groups: Groups, clock: int) -> Groups:
        freed = self.spans.is_freed(groups.window, clock)
        return groups.take(np.flatnonzero(~freed)) if freed.any() else groups

    # -- totals --------------------------------------------------------------------------------------------------------

    def _totalled(self, found: Deliveries, before: Windows) -> tuple[Flow, Windows]:
        groups, key = before.groups, self.totals.keys_of(found.rows)
        segments = self._segments(found, groups, key)
        totalled = self.totals.run(
            segments,
            found.rows,
            found.place,
            lambda: self._keys(found, key, np.arange(len(found))).to_list(),
            groups.totals,
            groups.counts,
        )
        return self._flow(found, segments, totalled, key), self._after(found, segments, totalled, before, key)

    def _segments(self, found: Deliveries, before: Groups, key: Vector | None) -> Segments:
        """Sort what comes by window and key, what was there before in front."""
        windows = np.concatenate([before.window, found.window]) if len(before) else found.window
        low, high = int(windows.min()), int(windows.max())
        codes, count = windows - low, high - low + 1
        if key is not None:
            sides = [[key]] if before.key is None or not len(before) else [[before.key], [key]]
            found_codes, keys = encoded(sides, skips_null=False)
            of_key = found_codes[-1] if found.place is None else found_codes[-1][found.place]
            of_key = np.concatenate([found_codes[0], of_key]) if len(sides) > 1 else of_key
            if count > (1 << 62) // keys:
                _, codes = np.unique(codes, return_inverse=True)
                count = int(codes.max()) + 1
            codes, count = codes * keys + of_key, count * keys
        return Segments(codes, count, len(before))

    def _keys(self, found: Deliveries, key: Vector | None, chosen_: Indices) -> Vector:
        """Return the keys of the rows of some deliveries."""
        windows = self.spans.column(found.window[chosen_])
        if key is None:
            return windows
        return Struct(TUPLE, ("0", "1"), [key.take(found.rows_of(chosen_)), windows], len(chosen_))

    def _after(
        self, found: Deliveries, segments: Segments, totalled: Totalled, windows: Windows, key: Vector | None
    ) -> Windows:
        order, before = self._in_turn(segments, found), windows.groups
        is_old = segments.first < segments.before
        counts = segments.lengths.copy()
        counts[is_old] += before.counts[segments.first[is_old]] - 1
        new = segments.first[order][len(before) :] - segments.before
        window = np.concatenate([before.window, found.window[new]])
        n_born = windows.n_born + len(new)
        born = np.concatenate([before.born, np.arange(windows.n_born, n_born)])
        keys = None
        if key is not None:
            coming = key.take(found.rows_of(new))
            keys = coming if before.key is None or not len(before) else concatenated([before.key, coming])
        return Windows(windows.opened, Groups(window, keys, counts[order], chosen(totalled.after, order), born), n_born)

    def _in_turn(self, segments: Segments, found: Deliveries) -> Indices:
        """Return the groups in the order in which they are first given, those that were there before first."""
        if found.waited is None:
            return segments.by_arrival
        first = segments.first - segments.before
        is_new = first >= 0
        delivery = np.where(is_new, first, 0)
        due = np.where(found.waited[delivery], self.spans.ends(found.window[delivery]), LAST)
        position = np.where(is_new, found.position[delivery], BEFORE)
        return np.lexsort((first, np.where(is_new, due, 0), position))

    # -- changes -------------------------------------------------------------------------------------------------------

    def _flow(self, found: Deliveries, segments: Segments, totalled: Totalled, key: Vector | None) -> Flow:
        """Return the changes: of what is visible at once each, of what waited one a group."""
        where = segments.places
        changed = totalled.changed[where]
        if found.waited is not None:
            changed = changed & ~found.waited
        emitted = np.arange(len(found)) if changed.all() else np.flatnonzero(changed)
        places = found.rows_of(emitted)
        start, end, position = found.rows.start[places], found.rows.end[places], found.position[emitted]
        if found.waited is None:
            value = totalled.shown.take(where[emitted])
            return Flow(position, value, start, end, key=self._keys(found, key, emitted))
        last, first, since, until = reported(found, segments)
        ends = self.spans.ends(found.window[first]) + (self.spans.delay or 0) - 1
        due = np.concatenate([ends, np.full(len(emitted), LAST)])
        mentioned, position = np.concatenate([first, emitted]), np.concatenate([found.position[first], position])
        order = np.lexsort((mentioned, due, position))
        value = totalled.shown.take(np.concatenate([last, where[emitted]])[order])
        start, end = np.concatenate([since, start])[order], np.concatenate([until, end])[order]
        keys = self._keys(found, key, mentioned[order])
        return Flow(position[order], value, start, end, key=keys, turn=due[order])

    # -- state ---------------------------------------------------------------------------------------------------------

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys by which it totals: of events, of totals as rows, and of events that wait.

        Without any, all totals are at hand, and what waits is of no account before it is due: each by itself.
        """
        if not self._has_key:
            return Leaf(pa.array(rows.number if slot else np.full(len(rows), -1)))
        try:
            return rows.key if slot == 1 else self.totals.keys_of(rows)
        except NotColumnar:  # of an event that is not let in
            return None

    def dues(self, slot: int, rows: Rows) -> Indices | None:
        """Return when events are reported that wait, each in the first of its windows that is not visible by now."""
        if slot < 2:
            return None
        return self.spans.reported(rows.start, rows.end, clock_of(self.join.world.clock))

    def as_rows(self, state: State) -> State | None:
        """Return the state with totals by key, and what waits, as rows of further slots; None if totals are objects."""
        windows, held = state.more, state.retained[0]
        if not self._has_key:
            return State((None, None, held), windows)
        rows = windows.groups.as_rows() if len(windows.groups) else None
        if rows is None and len(windows.groups):
            return None
        none = windows.groups.take(np.zeros(0, np.int64))
        return State((None, rows, held), attrs.evolve(windows, groups=none))

    def of_rows(self, state: State) -> State:
        """Return the state of rows, without the totals of windows that have been freed since."""
        windows: Windows = state.more
        _, rows, held = state.retained
        groups = windows.groups if rows is None else Groups.of_rows(rows)
        stays = np.isin(groups.window, windows.opened)
        groups = groups if stays.all() else groups.take(np.flatnonzero(stays))
        return _state(held, attrs.evolve(windows, groups=groups))

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return what the objects hold: windows, what waits in them, and totals."""
        held = load_held(self.join.slots[0], self.installed, arriving.get(0))
        totals = self.output.totals
        keys = [key[0] for key in totals] if self._has_key else []
        windows = [key[1] if self._has_key else key for key in totals]
        number = np.array([self.spans.number(window) for window in windows], np.int64)
        counts = np.array([n for _, n in totals.values()], np.int64)
        key = widened(of_values(keys)) if self._has_key else None
        n = len(totals)
        groups = Groups(number, key, counts, [total for total, _ in totals.values()], np.arange(n))
        return _state(held, Windows(opened(self.spans, self.installed)[0], groups, n))

    def deadline(self, state: State) -> int | None:
        """Return when the first window is reported, or freed."""
        return first_due(self.spans, state.more.opened, clock_of(self.join.world.clock))

    def about(self, state: State, key: Any) -> State | None:
        """Return the totals of that key."""
        windows: Windows = state.more
        own = key[0] if isinstance(key, tuple) and key else ""
        if windows.groups.key is None or type(own) not in {int, str}:
            return None
        groups = windows.groups.take(np.flatnonzero([one == own for one in windows.groups.key.to_list()]))
        return _state(None, attrs.evolve(windows, groups=groups))

    def counts(self, state: State) -> Counts:
        """Return how many events wait in windows."""
        return {0: (0, count_of(state.retained[0]))}

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold it."""
        windows: Windows = state.more
        groups = windows.groups
        stored.add(id(self.join.slots[0].memory))
        store_windows(self.spans, self.installed, windows.opened, state.retained[:1])
        of: list[Any] = self.spans.objects(groups.window)
        keys = of if groups.key is None else list(zip(groups.key.to_list(), of, strict=True))
        values = zip(self.totals.objects(groups.totals, groups.counts), groups.counts.tolist(), strict=True)
        self.output.totals = dict(zip(keys, values, strict=True))
        batch = self.join.batch.windows
        assert batch is not None  # Invariant: there are windows
        rows: dict[tuple[Any, ...], dict[Any, None]] = {}
        for window, key in zip(of, keys, strict=True):
            rows.setdefault((window,), {})[key] = None
        batch.rows.of = rows


def _state(held: Rows | None, windows: Windows) -> State:
    return State((held if held is not None and len(held) else None,), windows, len(windows.groups))


def window_totals_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that totals one stream in windows."""
    output = join.batch.output
    opening = [one for one in join.installed if isinstance(one.node, Regular)]
    meanings = {type(one.node) for one in join.installed}
    if len(opening) != 1 or not isinstance(output, Totals):
        return None
    if len(join.slots) != 1 or Now not in meanings or not meanings <= _KNOWN or output.keeps_elements:
        return "the events that its windows total are kept, as they may be taken back"
    slot = join.slots[0]
    if not _comes_alone(slot.reactive):
        return "several results of one step may come into its windows"
    if slot.is_table or slot.n is not None or slot.shared is not None or join.batch.body.where is not None:
        return "its slot is no plain stream"
    key = totalled_by(join.pattern)
    if key is None:
        return "its totals are not by window, or by key and window"
    if reason := by_unknown_groups(output):
        return reason
    spans = spans_of(opening[0])
    if isinstance(spans, str):
        return spans
    return WindowTotals(join, opening[0], spans, None if isinstance(key, WindowOf) else key, output)


def _comes_alone(reactive: Reactive) -> bool:
    """Whether no step brings several events: an input, or what is made of each event of an input by itself."""
    pattern = reactive.pattern
    if pattern is None:
        return True
    nodes = {type(node) for one in pattern.restrictions for node in one.nodes}
    if pattern.is_generator or pattern.lists or pattern.absent.names or not nodes <= _BY_ITSELF:
        return False
    sources = [*pattern.slots.values()]
    is_merged = Separate in nodes and len({*sources}) == len(sources) and all(one.pattern is None for one in sources)
    return is_merged or (len(sources) == 1 and _comes_alone(sources[0]))
