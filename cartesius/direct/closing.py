"""Closing: windows that are freed, and what those come to that have waited for it, for functions of pushes.

Deadlines total what such windows hold, event by event, in the order in which it has come, without handlers; what is in
others leaves.

Invariant: what is let out is what the clauses of the windows, the product and `totals.Totals` would have let out.

Source: SEMANTICS 2.7, 3.1 and 3.2.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from cartesius.analysis.windowed_rows import may_share_rows, totalled_by
from cartesius.data.events import Update, made
from cartesius.data.generated import Constants, Lines, define
from cartesius.data.records import Record
from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.expressions.expression_texts import Texts
from cartesius.expressions.expressions import WindowOf
from cartesius.expressions.value_functions import Chained
from cartesius.plan.nodes import Aggregate, KeyBy, Now, Regular, Sessions, TakeBack
from cartesius.programs.give_ups import LeftToClauses
from cartesius.results.totals import Totals
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Window
    from cartesius.direct.leaving import Left
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program

_KNOWN: Final = frozenset({Regular, Sessions, KeyBy, TakeBack, Aggregate, Now})


class Freed:
    """The windows that deadlines free: what is in them leaves."""

    def __init__(self, join: Join, opener: Installed) -> None:
        space: Any = join.bindings.window_space
        self.join = join
        self._opener = opener
        self._positions = {slot: (*opener.prefixes[slot.index], space) for slot in join.slots}
        self._closed: list[tuple[Any, Window]] = []  # of all, and the copies that have them

    def entries(self, slot: Slot, under: Any) -> dict[int, Entry]:
        """Return what is in a slot of the windows that are over, by number, given the key of a copy and the time."""
        *key, time = under if type(under) is tuple else (under,)
        memory, positions, windows = slot.memory, self._positions[slot], self._over(time, tuple(key))
        return {one.number: one for window in windows for one in memory.keyed(positions, (*key, window))}

    def _over(self, time: int, key: tuple[Any, ...]) -> list[Window]:
        copy = self._opener.copies[key]
        return sorted(window for window in copy.contents if copy.times_of(window)[1] == time)

    def decide(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left], out: list[Event]) -> None:
        """Take note of the windows that one deadline frees.

        Raises:
            LeftToClauses: There are none, as of a session that grew in a snapshot of an earlier version.
        """
        over = self._over(time, key)
        if not over:
            raise LeftToClauses("nothing is over at a time that was asked for")
        self._closed += [(self._opener.copies[key], window) for window in over]

    def done(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left]) -> bool:
        """Forget the windows."""
        for copy, window in self._closed:
            del copy.contents[window]
        self.undo()
        return False

    def undo(self) -> None:
        """Forget what would have been freed."""
        self._closed.clear()


class Closing(Freed):
    """The totals of windows that are over, which come as these are freed."""

    def __init__(self, join: Join, opener: Installed) -> None:
        super().__init__(join, opener)
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: `closes` has seen that
        self._group = output.group
        self._add = _adding(join, output.group)
        self._n_given = 0

    def decide(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left], out: list[Event]) -> None:
        """Let out what the windows come to that one deadline frees."""
        super().decide(time, key, leaving, out)
        copy, name = self._opener.copies[key], self.join.name
        totals: dict[Any, list[Any]] = {}
        for window in self._over(time, key):
            self._n_given += len(copy.contents[window])
            self.join.world.number += len(copy.contents[window])  # before what is pushed; `Met.undo` takes it back
            self._add(self._in_order(copy.contents[window]), window, totals)
        for of, (total, start, end) in totals.items():
            out.append(made(Update(of, self._group.finish(total)), start, end, name, (name, of)))

    def _in_order(self, held: Iterable[Entry]) -> Iterable[Entry]:
        """Return events as batches bring them: results of one step are one, of which the newest comes first."""
        (slot,), rank = self.join.slots, self.join.batch.rank
        if slot.reactive.pattern is None or rank.is_oldest_first:
            return held
        batches = groupby(held, key=lambda entry: entry.noted("step"))
        return [entry for _, batch in batches for entry in reversed([*batch])]

    def done(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left]) -> bool:
        """Count what was in the windows, and forget it."""
        (slot,), world = self.join.slots, self.join.world
        world.candidates += self._n_given
        world.fates[slot.ledger.base + int(Fate.DELIVERED)] += self._n_given
        world.fates[slot.ledger.base + int(Fate.EXPIRED)] += self._n_given
        return super().done(time, key, leaving)

    def undo(self) -> None:
        """Forget what would have been freed."""
        self._n_given = 0
        super().undo()


def _adding(join: Join, group: Any) -> Callable[[Iterable[Entry], Window, dict[Any, list[Any]]], None]:
    """Return what adds events in a window to the totals of their groups, each with the hull of its times."""
    key, (slot,) = totalled_by(join.pattern), join.slots
    assert key is not None  # Invariant: `closes` has seen that
    constants, lines, part = Constants(), Lines(), f"part{slot.index}"
    by = "" if isinstance(key, WindowOf) else Texts({slot.name: slot.index}, constants).of(key)
    lift = group.lift.outer if of_first(group.lift) else group.lift
    with lines.under("def add(events, window, totals):"), lines.under(f"for {part} in events:"):
        lines.add(f"by = {by}\nkey = (by, window)" if by else "by, key = 0, window")
        lines.add(f"""
            if type(by) is not int and type(by) is not str:
                key = total_key((), ({part}.value, key))
            found = totals.get(key)
            if found is None:
                found = totals[key] = [empty, {part}.start, {part}.end]
            found[0] = combine(found[0], lift({f"{part}.value" if of_first(group.lift) else f"({part}.value, key)"}))
            if {part}.start < found[1]:
                found[1] = {part}.start
            if {part}.end > found[2]:
                found[2] = {part}.end
        """)
    scope = {"total_key": join.batch.row_key, "empty": group.empty, "combine": group.combine, "lift": lift}
    return define("add", lines.text, scope | {"Record": Record} | constants.bound)


def of_first(lift: Any) -> bool:
    """Whether a total is of the first of (value, key), as `aggregate` writes it."""
    inner = lift.inner if isinstance(lift, Chained) else None
    return isinstance(inner, itemgetter) and inner.__reduce__()[1] == (0,)


def closes(program: Program, join: Join, opener: Installed) -> str:
    """Say why windows come to more than totals, or are not freed as they are reported; "" if neither."""
    node, batch = opener.node, join.batch
    assert isinstance(node, Regular | Sessions)  # Invariant: who asks has seen that
    if strange := run_as_written(join, _KNOWN):
        return strange
    is_plain = len(join.slots) == 1 and join.slots[0].n is None
    if not is_plain or type(batch.output) is not Totals or not batch.output.is_table:
        return "it is not totals of one stream, event by event"
    if batch.output.is_durable or batch.freed is not None or join.pattern.where is not None:
        return "its totals are kept, or checked"
    if node.displaces or node.content is not None or node.ticks != "tuple":
        return f"{opener.restriction!r} keeps, or lets go of, what is in windows otherwise"
    is_freed = not node.lateness or (isinstance(node, Regular) and "final" in node.reports)
    if not is_freed or "non_empty" in node.reports:
        return f"what {opener.restriction!r} has reported may be corrected"
    if totalled_by(join.pattern) is None:
        return "its totals are not by window, or a key beside it"
    if may_share_rows(join):
        return "under other keys its windows add to the same totals"
    return standing(program, join)
