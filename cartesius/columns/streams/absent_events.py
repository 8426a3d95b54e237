"""The kernel of absence: rows of one part that wait until the clock has decided that something did not come after it.

Whether a row comes is known from the times of the events that may forbid it, which are all there when it is decided;
so of each row the next of those, under its key, is found by one binary search.

Invariant: what waits is not decided; of what must not come that is kept which a row that comes may need.

Source: SEMANTICS 3.3; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.bodies.coding import codes_under
from cartesius.columns.bodies.computed import Keys
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.stages.candidates import Parts, whole
from cartesius.columns.stages.rows import Flow, all_of, no_rows, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State, count_of
from cartesius.columns.stages.stored_rows import entries_of, load_rows, rows_of, store_rows
from cartesius.columns.streams.expiring import first_asked
from cartesius.columns.streams.shapes import not_plain
from cartesius.columns.vectors.ordering import LAST, ascends, by_code
from cartesius.columns.vectors.vectors import MISSING, NotColumnar
from cartesius.data.events import EARLIEST
from cartesius.data.queues import Queue
from cartesius.expressions.expressions import Expression, slots_of
from cartesius.plan.nodes import KeyBy, Never
from cartesius.results.outputs import Events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Equals
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Counts, Moment
    from cartesius.columns.vectors.vectors import Ints, Vector
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join

_BITS: Final = 62
_KNOWN: Final = frozenset({KeyBy, Never})


@attrs.frozen(eq=False)
class Waiting:
    """What is kept besides the events that must not come.

    Args:
        rows: The parts of the rows that wait; None if there are none.
        forgotten: The last end of what has been forgotten of what must not come; `EARLIEST` if nothing has.
    """

    rows: Rows | None
    forgotten: float


class NotAfter(Stage):
    """`without(…, after=…)`."""

    keeps_time = True
    gives_turns = True

    def __init__(self, join: Join, never: Installed, keys: Keys, components: list[Equals]) -> None:
        super().__init__(join)
        self.never = never
        node: Any = never.node
        self.anchor, self.absent, self.duration = node.anchor, node.slot, node.duration
        self.components = components
        self.keys = keys
        self.key = keys.own(self.anchor.index)
        self.body = ColumnarBody(join, [])

    def source(self) -> str:
        """Return the code of the body, below the function that decides."""
        return heading(self.join, "absent_events.NotAfter") + "".join(f"\n{code.text}" for code in self.body.codes)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Decide what is due, and let what comes wait."""
        before: Waiting = state.more
        fresh = arriving.get(self.anchor.index)
        if fresh is not None and len(fresh):  # a body is asked when a row is complete, whether or not it comes
            self._values(whole(fresh, self._keys_for_body(fresh)))
        held = all_of(before.rows, fresh)
        absent = all_of(state.retained[self.absent.index], arriving.get(self.absent.index))
        if moment.clock is None or not moment.meets_deadlines or not len(moment.clock):
            return Outcome(nothing(), self._state(held, absent, before.forgotten), count_of(fresh))
        now, flow, forgotten = moment.clock[-1], nothing(), before.forgotten
        if held is not None:
            due = held.end + self.duration
            decided = np.flatnonzero(due < now)
            flow = self._decide(held, decided, absent, moment.clock)
            held = held.take(np.flatnonzero(due >= now))
        if absent is not None:
            needed = absent.end + self.duration >= now
            forgotten = _last(forgotten, absent.end[~needed])
            absent = absent.take(np.flatnonzero(needed))
        return Outcome(flow, self._state(held, absent, forgotten), count_of(fresh))

    def _state(self, held: Rows | None, absent: Rows | None, forgotten: float) -> State:
        retained = [None if one is None or not len(one) else one.as_retained() for one in (held, absent)]
        rows = tuple([retained[1] if slot is self.absent else None for slot in self.join.slots])
        return State(rows, Waiting(retained[0], forgotten), count_of(retained[0]))

    def _decide(self, held: Rows, decided: Ints, absent: Rows | None, clock: Ints) -> Flow:
        """Return the rows that come, of those whose time is over, in the order of their deadlines."""
        if not len(decided):
            return nothing()
        sides: list[Rows | None] = [None, None]
        sides[self.anchor.index], sides[self.absent.index] = held, absent
        codes, count = codes_under(self.components, sides)
        mine, others = codes[self.anchor.index], codes[self.absent.index]
        if absent is not None and len(absent):
            decided = decided[~_forbidden(held, mine, decided, absent, others, count, self.duration)]
        due = held.end[decided] + self.duration
        position = np.searchsorted(clock, due, side="right")
        if not ascends(due, strictly=True):
            asked = self._asked(held, absent)[decided]
            sign = 1 if self.join.batch.rank.is_oldest_first else -1
            order = np.lexsort((sign * decided, asked, due))
            decided, position, due = decided[order], position[order], due[order]
        return self._given(held, decided, position, due)

    def _asked(self, held: Rows, absent: Rows | None) -> Ints:
        """Return for each row that waits who has asked for its deadline first, as a number of arrival."""
        there = [(self.anchor.index, held), (self.absent.index, absent)]
        sides = [(slot, rows) for slot, rows in there if rows is not None]
        return first_asked(self.never, self.keys, sides, [rows.end for _, rows in sides])[0]

    def _given(self, rows: Rows, chosen: Ints, position: Ints, turn: Ints) -> Flow:
        parts = Parts(rows, chosen, key=self._keys_for_body(rows))
        start, end = parts.times
        return Flow(position, self._values(parts), start, end, turn=turn)

    def _values(self, parts: Parts) -> Vector:
        """Return what rows yield."""
        nobody = Parts(no_rows(), np.full(len(parts), MISSING), may_miss=True)
        return self.body.values([parts if slot is self.anchor else nobody for slot in self.join.slots])[0]

    def _keys_for_body(self, rows: Rows) -> Vector | None:
        return None if self.key is None else self.key(rows)

    # -- state by key --------------------------------------------------------------------------------------------------

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of rows: those that wait are as rows of a third slot."""
        if len(self.components) != 1:
            return None
        return self.components[0].columns[self.anchor.index if slot == len(self.join.slots) else slot](rows)

    def dues(self, slot: int, rows: Rows) -> Ints | None:
        """Return when rows are decided, or forgotten."""
        due: Ints = rows.end + self.duration
        return due

    def as_rows(self, state: State) -> State:
        """Return the state with what waits as rows of a third slot."""
        return State((*state.retained, state.more.rows), attrs.evolve(state.more, rows=None))

    def of_rows(self, state: State) -> State:
        """Return the state of rows."""
        *retained, rows = [one if count_of(one) else None for one in state.retained]
        return State(tuple(retained), attrs.evolve(state.more, rows=rows), count_of(rows))

    # -- the clock -----------------------------------------------------------------------------------------------------

    def passed(self, state: State, clock: int) -> State | None:
        """Return the state without the events that nothing needs any more; None if rows are decided by then."""
        held: Rows | None = state.more.rows
        absent = state.retained[self.absent.index]
        if held is not None and int(held.end.min()) + self.duration < clock:
            return None
        if absent is None:
            return state
        needed = absent.end + self.duration >= clock
        forgotten = _last(state.more.forgotten, absent.end[~needed])
        return self._state(held, absent.take(np.flatnonzero(needed)), forgotten)

    def deadline(self, state: State) -> int | None:
        """Return when the first row is due to be decided, or an event to be forgotten."""
        ends = [int(one.end.min()) for one in (state.more.rows, state.retained[self.absent.index]) if one is not None]
        return min(ends) + self.duration if ends else None

    # -- objects -------------------------------------------------------------------------------------------------------

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the state that the objects hold."""
        copies = self.never.copies.values()
        rows = [row for copy in copies for rows in copy.held.values() for row in rows]
        held = sorted([parts[self.anchor.index] for parts, _ in rows], key=lambda entry: entry.number)
        if any(entry.more is not None for entry in held) or any(count != 1 for _, count in rows):
            raise NotColumnar("something is noted of a row that waits")
        waiting = rows_of(self.anchor, held, arriving.get(self.anchor.index))
        absent = load_rows(self.absent, arriving.get(self.absent.index))
        return self._state(waiting, absent, self.absent.forgotten.get((), EARLIEST))

    def counts(self, state: State) -> Counts:
        """Return how many of what must not come are in memory, and how many rows wait."""
        absent = count_of(state.retained[self.absent.index])
        return {self.absent.index: (absent, 0), self.anchor.index: (0, count_of(state.more.rows))}

    def store(self, state: State, stored: set[int]) -> None:
        """Store what must not come, let rows wait, and ask for the deadlines of both."""
        never, deadlines = self.never, self.join.world.deadlines
        store_rows(self.join, self.absent, state.retained[self.absent.index])
        stored.add(id(self.absent.memory))
        held: Rows | None = state.more.rows
        if state.more.forgotten != EARLIEST:
            self.absent.forgotten = {(): state.more.forgotten}
        never.due.clear()
        never.copies.clear()
        deadlines.drop([never])
        waiting = [] if held is None else [(self.anchor, one) for one in entries_of(self.join, self.anchor, held)]
        kept = [(self.absent, one) for one in self.absent.memory.all()]
        for slot, entry in sorted([*waiting, *kept], key=lambda pair: pair[1].number):
            key, due = never.key_of(slot, entry), int(entry.end + self.duration)
            copy = never.copies[key] if key in never.copies else never.make(key)
            if slot is self.anchor:
                row: list[Any] = [entry if one is slot else None for one in self.join.slots]
                copy.held = {**copy.held, due: copy.held.get(due, Queue()).append((row, 1))}
            never.notify_at(due, key)
        deadlines.clean()


def _forbidden(
    held: Rows, mine: Ints, decided: Ints, absent: Rows, others: Ints, count: int, duration: int
) -> NDArray[np.bool_]:
    """Return which of the rows that are decided an event of their key forbids, by its time."""
    first = int(min(held.end.min(), absent.end.min()))
    span = int(max(held.end.max(), absent.end.max())) - first + 1
    duration = min(duration, span)
    width = span + duration  # a key's places are so far from the next one's that none of these is near
    if count.bit_length() + width.bit_length() > _BITS:
        raise NotColumnar("keys and times take more than 64 bits together")
    places = others * width + (absent.end - first)
    order = _by_key_and_time(others, count, absent.end, places)
    ordered = np.append(places[order], LAST)
    end, code = held.end[decided], mine[decided]
    asked = code * width + (end - first)
    in_order = _by_key_and_time(code, count, end, asked)
    query = asked[in_order]  # bisection in order stays in the caches
    after, found = ordered[np.searchsorted(ordered, query)], np.empty(len(query), np.bool_)
    is_tied = after == query
    if not is_tied.any():
        found[in_order] = after - query <= duration
        return found
    found[in_order] = ordered[np.searchsorted(ordered, query, side="right")] - query <= duration
    tied = in_order[is_tied]
    points, tied = order[(absent.start == absent.end)[order]], tied[held.start[decided[tied]] == end[tied]]
    if len(points) and len(tied):  # of points of one time, what has come later forbids
        last = points[np.maximum(np.searchsorted(places[points], asked[tied], side="right") - 1, 0)]
        found[tied] |= (places[last] == asked[tied]) & (absent.number[last] > held.number[decided[tied]])
    return found


def _by_key_and_time(codes: Ints, count: int, times: Ints, places: Ints) -> Ints:
    """Return the order of ``places``, which are keys and times: where times ascend that of the keys is enough."""
    return by_code(codes, count) if ascends(times) else np.argsort(places, kind="stable")


def _last(forgotten: float, ends: Ints) -> float:
    return max(forgotten, int(ends.max())) if len(ends) else forgotten


def absence_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation of which something must not come after its one part."""
    nevers = [one for one in join.installed if isinstance(one.node, Never)]
    if not nevers or not {type(one.node) for one in join.installed} <= _KNOWN:
        return None
    never, pattern = nevers[0], join.pattern
    if len(nevers) > 1 or len(join.slots) != 2 or never.node.when != "after":  # type: ignore[attr-defined]  # it is one
        return "more than one event must not come, or not after the one part of a row"
    if not isinstance(join.batch.output, Events) or pattern.alternative is not None or join.batch.versions is not None:
        return "its results are no events of its own"
    if reason := not_plain(join):
        return reason
    if never.floor_slots:
        return "what is decided waits for what gates hold"
    if pattern.where is not None or pattern.is_generator or not isinstance(pattern.yields, Expression):
        return "conditions are asked, or its body runs as written"
    if never.node.slot.name in slots_of(pattern.yields):  # type: ignore[attr-defined]  # as above
        return "its results name what is not there"
    keys = Keys(join)
    components = keys.components()
    if isinstance(components, str):
        return components
    return NotAfter(join, never, keys, components)
