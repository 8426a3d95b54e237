"""Direct windows: which windows contain the event of a push, and what it does that only counts in them, as text.

Totals are the state of what is aggregated: an event counts, and is not kept. Where a window opens, is due to close or
has been reported, the clauses do it: that is once for each window.

Invariant: what it computes is what the clauses, the windows and `totals.Totals` would have computed.

Source: DESIGN 4; SEMANTICS 2.7 and 3.2.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Unpack

from cartesius.analysis.windowed_rows import totalled_by
from cartesius.data.events import Window
from cartesius.data.queues import Queue
from cartesius.data.records import path_of
from cartesius.direct.closing import Freed, of_first
from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.direct.direct_texts import DirectText, event_text, filters_of
from cartesius.direct.leaving import Due, found_in
from cartesius.expressions.expressions import Field, Part, WindowOf
from cartesius.expressions.value_functions import Chained
from cartesius.plan.nodes import Aggregate, Let, Now, Regular, Sessions, TakeBack
from cartesius.results.totals import Totals
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_places import DirectPlaces
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.expressions.expressions import Expression
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program

_KNOWN: Final = frozenset({Regular, TakeBack, Aggregate, Now, Let})
IN_WINDOWS: Final = """
    if type(start) is not int or type(end) is not int:
        raise LeftToClauses("its time is no number")
    first, last = (end - size - offset) // period + 1, (start - offset) // period
    known = ahead.known
    if first != known[0] or last != known[1]:
        known = ahead.look(first, last)
    windows = known[2]
"""
_OPEN: Final = """
    copy = opener.copies.get(COPY)
    if copy is None:
        raise LeftToClauses("a window opens")
    contents = copy.contents
    for window in windows:
        held = contents.get(window)
        if held is None or len(held):
            raise LeftToClauses("a window opens, or holds what has come")
"""
_ADD: Final = """
    before = totals.get(key)
    if before is None:
        old, total, n = (), combine(empty, LIFTED), 1
    else:
        total, n = before
        old, total, n = (finish(total),), combine(total, LIFTED), n + 1
    now = finish(total)
    changed.append((window, key, (total, n)))
"""
_ADD_MORE: Final = """
    if key in told:
        _, old, total, n, since, until = told[key]
        since, until = min(since, start), max(until, end)
    else:
        total, n = totals.get(key, (empty, 0))
        old, since, until = (finish(total),) if n else (), start, end
    told[key] = window, old, combine(total, element), n + 1, since, until
"""
_KEEP: Final = """
    world.number += len(windows)
    world.candidates += len(windows)
    totals = kept.totals
    for window, key, total in changed:
        totals[key] = total
        rows = of_windows.of.get((window,))
        if rows is None:
            rows = of_windows.of[window,] = {}
        rows[key] = None
"""


class Ahead:
    """The windows of the last event, which are mostly those of the next one."""

    def __init__(self, node: Regular) -> None:
        self._node = node
        self.known: tuple[int, int, tuple[Window, ...]] = (0, -1, ())  # at once, as who looks may be interrupted

    def look(self, first: int, last: int) -> tuple[int, int, tuple[Window, ...]]:
        """Return the windows from one number to another, behind these."""
        size, period, offset = self._node.size, self._node.period, self._node.offset
        starts = (offset + number * period for number in range(first, last + 1))
        self.known = first, last, tuple(Window(start, start + size) for start in starts)
        return self.known


def in_windows(opener: Installed) -> dict[str, Any]:
    """Return what the names mean of what finds the windows of an event."""
    node = opener.node
    if isinstance(node, Sessions):
        return {"opener": opener, "gap": node.gap, "Window": Window}
    assert isinstance(node, Regular)  # Invariant: who asks has seen that
    found = {"opener": opener, "ahead": Ahead(node), "delay": node.lateness - 1, "no_events": Queue()}
    return found | {"size": node.size, "period": node.period, "offset": node.offset}


def freeing(join: Join, opener: Installed, places: Mapping[int, DirectPlaces]) -> Due:
    """Return what lets windows go, and what is in them, given where entries are in each slot."""
    freed = Freed(join, opener)
    return Due([found_in(slot, places[slot.index], partial(freed.entries, slot)) for slot in join.slots], freed)


class DirectWindowed(DirectText):
    """The function of one slot whose events come into windows of one size, or sessions."""

    def __init__(self, join: Join, slot: Slot, opener: Installed, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._opener = opener
        self._scope |= in_windows(opener)

    @property
    def _copy(self) -> str:
        """The text of the key of the copy that has its windows."""
        return f"({''.join(f'key{space}, ' for space in self._opener.prefixes[self._own])})"


def totals_of(program: Program, join: Join, *, is_followed: bool) -> Make | str:
    """Return what makes the function of the one slot of totals, or why it needs all of the handlers."""
    output, pattern = join.batch.output, join.pattern
    if strange := run_as_written(join, _KNOWN):
        return strange
    of_kind = {type(one.node): one for one in join.installed}
    opener, totals = of_kind.get(Regular), of_kind.get(Aggregate)
    is_known = opener is not None and totals is not None and Now in of_kind and TakeBack in of_kind
    if not is_known or len(join.slots) != 1 or type(output) is not Totals or not output.is_table:
        return "its totals are not those of one stream in windows"
    assert opener is not None  # Invariant: it is known
    assert isinstance(opener.node, Regular)
    node = opener.node
    if node.content is not None or node.ticks != "tuple" or node.displaces or node.t0 is not None:
        return f"{opener.restriction!r} says more than how long windows are"
    if node.reports != {"on_content_change"} or join.batch.freed is not None or output.keeps_elements:
        return f"results of {opener.restriction!r} wait, or are kept"
    key = totalled_by(pattern)
    if key is None or pattern.where is not None or join.bindings.window_space != 0 or len(join.bindings.spaces) != 1:
        return "its totals are not by window, and one key"
    return standing(program, join, is_followed=is_followed) or partial(DirectTotalsCode, join, opener, key)


class DirectTotalsCode(DirectWindowed):
    """The function of the one slot of totals, and its text.

    They are by a ``key`` beside the window, or by the window itself.
    """

    def __init__(self, join: Join, opener: Installed, key: Expression, **link: Unpack[Link]) -> None:
        super().__init__(join, join.slots[0], opener, **link)
        batch, output = join.batch, join.batch.output
        assert isinstance(output, Totals)  # Invariant: `totals_of` has seen that
        assert batch.windows is not None  # Invariant: likewise
        self._key = key
        self._group = group = output.group
        lift = getattr(group.lift, "outer", None) if of_first(group.lift) else group.lift
        self._scope |= {"kept": output, "of_windows": batch.windows.rows, "total_key": batch.row_key, "lift": lift}
        self._scope |= {
            "window_of": itemgetter(0),
            "empty": group.empty,
            "combine": group.combine,
            "finish": group.finish,
        }

    def _foresee(self) -> None:  # one opens mostly as another one closes
        self._lines.add(IN_WINDOWS)
        self._lines.add(_OPEN.replace("COPY", self._copy))

    def _found_out(self) -> list[str]:
        return ["windows", "changed"]

    def _find_out(self) -> None:
        self._lines.add(IN_WINDOWS)
        self._lines.add(_OPEN.replace("COPY", self._copy))
        lines, key = self._lines, self._key
        of_window = isinstance(key, WindowOf)
        name = key.name if isinstance(key, Field) and isinstance(key.target, Part) else ""
        if name:
            lines.add(f"by = {self._texts.field('value', name)}")
        elif not of_window:
            lines.add(f"part0 = Entry(value, start, end, {self.identity})")
            lines.add(f"by = {self._texts.of(key)}")
        self._leave_without_keys("a key is null", lambda one: "by" if path_of(one) == [name] else None)
        self._leave_windowless()
        self._filter(filters_of(self.join, self._slot), "len(windows)")
        lines.add(f"element = {self._lifted()}" if of_first(self._group.lift) else "")
        lines.add("totals, changed = kept.totals, []")
        with lines.under("for window in windows:"):  # whose keys are others, as each has its window
            lines.add(f"key = {'window' if of_window else '(by, window)'}")
            if not of_window:
                lines.add("if type(by) is not int and type(by) is not str:\n    key = total_key((), (value, key))")
            lifted = "element" if of_first(self._group.lift) else "lift((value, key))"
            if self._follows:
                lines.add(f"adding.append((window, key, {lifted}, start, end, changed))")
            else:
                lines.add(_ADD.replace("LIFTED", lifted))
                self._tell("start", "end")
        lines.add("number += len(windows)" if self._is_numbered else "")

    def _tell(self, start: str, end: str) -> None:
        with self._lines.under("if not old or not is_unchanged(old[0], now):"):
            self._lines.add(event_text("Update(key, now)", (start, end), "(output, key)", "old"))

    def _before_all(self) -> None:
        if filters_of(self.join, self._slot):  # what they drop is counted by the windows of the one result
            super()._before_all()
        self._lines.add("adding = []")

    def _after_all(self) -> None:
        """Write what adds all that has come in one step: each window takes it in the order of batches."""
        order = "" if self.join.batch.rank.is_oldest_first else "    adding.reverse()\n"
        self._lines.add("totals, told, changed = kept.totals, {}, adding[0][-1] if adding else []")
        self._lines.add(f"if len(adding) > 1:\n{order}    adding.sort(key=window_of)")
        with self._lines.under("for window, key, element, start, end, _ in adding:"):
            self._lines.add(_ADD_MORE)
        with self._lines.under("for key, (window, old, total, n, since, until) in told.items():"):
            self._lines.add("now = finish(total)\nchanged.append((window, key, (total, n)))")
            self._tell("since", "until")

    def _lifted(self) -> str:
        """Return the text of what is added: mostly what a function makes of a field."""
        lift = self._scope["lift"]
        if isinstance(lift, Chained) and len(path_of(lift.inner) or ()) == 1:
            return f"{self._constants.name(lift.outer)}({self._read(lift.inner)})"
        return "lift(value)"

    def _change(self) -> None:
        for fate in (Fate.DELIVERED, Fate.EXPIRED):
            self._lines.add(self._count(fate, "len(windows)"))
        self._lines.add(_KEEP)
