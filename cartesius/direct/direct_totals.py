"""Direct totals: what a push does to the totals of windows, as the text of one function.

Each event counts in the windows that contain it, and is not kept: the totals are the state. A push whose windows are
all there adds to them; where one opens, or is due to close, the clauses do it: that is once for each window.

Invariant: what it computes is what the clauses, the windows and `totals.Totals` would have computed.

Source: DESIGN 4; SEMANTICS 2.7 and 3.2.
"""

from __future__ import annotations

from contextlib import ExitStack
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.analysis.windowed_rows import totalled_by
from cartesius.data.events import Update, Window
from cartesius.data.null_values import is_null
from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.direct.direct_texts import STREAM_SCOPE, DirectText, event_text
from cartesius.expressions.expressions import Field, Part, WindowOf
from cartesius.expressions.value_functions import Chained, of_value
from cartesius.plan.nodes import Aggregate, Let, Now, Regular, TakeBack
from cartesius.results.outputs import is_unchanged
from cartesius.results.totals import Totals
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

_KNOWN: Final = frozenset({Regular, TakeBack, Aggregate, Now, Let})
IN_WINDOWS: Final = """
    if type(start) is not int or type(end) is not int:
        return steps.given_up.leave("its time is no number")
    first, last = (end - size - offset) // period + 1, (start - offset) // period
    known = ahead.known
    if first != known[0] or last != known[1]:
        known = ahead.look(first, last)
    windows = known[2]
    copy = opener.copies.get(COPY)
    if copy is None or not windows:
        return steps.given_up.leave("a window opens, or there is none")
    contents = copy.contents
"""
_HOLD_NOTHING: Final = """
    for window in windows:
        held = contents.get(window)
        if held is None or len(held):
            return steps.given_up.leave("a window opens, or holds what has come")
"""
_ADD: Final = """
    found = new_totals.get(key)
    if found is None:
        before = totals.get(key)
        found = new_totals[key] = [before, *(before or (empty, 0))]
    found[1] = combine(found[1], LIFTED)
    found[2] += 1
    keys.append(key)
"""
_KEEP: Final = """
    world.number += len(windows)
    world.candidates += len(windows)
    for key, (_, total, n) in new_totals.items():
        totals[key] = (total, n)
    for window, key in zip(windows, keys):
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


@attrs.frozen(eq=False)
class TotalsShape:
    """A push into the one slot of totals in windows."""

    join: Join
    opener: Installed
    node: Regular  # of the opener
    filters: tuple[Callable[[Any], Any], ...]  # in the order in which they see an event
    key: Expression  # by what it is totalled: beside the window, or the window itself


def totals_shape_of(program: Program, join: Join) -> TotalsShape | str:
    """Return what a push into the one slot of totals does, or why it needs all of the handlers."""
    output, pattern = join.batch.output, join.pattern
    strange = run_as_written(join, _KNOWN)
    if strange:
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
    filters = [of_value(one.node.predicate) for one in reversed(join.installed) if isinstance(one.node, Let)]
    return standing(program, join) or TotalsShape(join, opener, node, tuple(filters), key)


class DirectTotalsCode(DirectText):
    """The function of the one slot, and its text."""

    def __init__(self, shape: TotalsShape, steps: Steps, lateness: int | None) -> None:
        join, node, output = shape.join, shape.node, shape.join.batch.output
        super().__init__(join, join.slots[0], steps, lateness, STREAM_SCOPE)
        assert isinstance(output, Totals)  # Invariant: `totals_shape_of` has seen that
        assert join.batch.windows is not None  # Invariant: likewise
        self._shape = shape
        self._group = group = output.group
        self._write()
        lift = getattr(group.lift, "outer", None) if _of_first(group.lift) else group.lift
        bound = {"opener": shape.opener, "ahead": Ahead(node), "kept": output, "of_windows": join.batch.windows.rows}
        bound |= {"size": node.size, "period": node.period, "offset": node.offset, "total_key": join.batch.row_key}
        bound |= {"empty": group.empty, "combine": group.combine, "lift": lift, "finish": group.finish}
        bound |= {"is_null": is_null, "is_unchanged": is_unchanged, "Update": Update}
        self.function: Callable[..., Any] = self._define(bound)

    def _prepare(self) -> None:
        self._lines.add(IN_WINDOWS.replace("COPY", "()"))
        self._lines.add(_HOLD_NOTHING)
        self._lines.add("""
            if type(value) not in plain:
                value = wrap(value)
            totals = kept.totals
            new_totals = {}
            keys = []
            dropped = -1
        """)

    def _find_out(self) -> None:
        shape = self._shape
        lines, key = self._lines, shape.key
        of_window = isinstance(key, WindowOf)
        name = key.name if isinstance(key, Field) and isinstance(key.target, Part) else ""
        if name:
            lines.add(f"by = {self._texts.field('value', name)}")
        elif not of_window:
            lines.add("part0 = Entry(value, start, end, (source, ordinal))")
            lines.add(f"by = {self._texts.of(key)}")
        for needed in shape.join.bindings.needed[0]:
            is_the_same = isinstance(needed.compute, attrgetter) and needed.compute.__reduce__()[1] == (name,)
            found = "by" if is_the_same else f"{self._constants.name(needed.compute)}(value)"
            lines.add(f"""
                if is_null({found}):
                    return steps.given_up.leave("a key is null")
            """)
        for gate, predicate in enumerate(shape.filters):
            lines.add(f"if dropped < 0 and not {self._constants.name(predicate)}(value):\n    dropped = {gate}")
        with lines.under("if dropped < 0:"), ExitStack() as loop:
            lines.add("element = lift(value)" if _of_first(self._group.lift) else "")
            loop.enter_context(lines.under("for window in windows:"))
            lines.add(f"key = {'window' if of_window else '(by, window)'}")
            if not of_window:
                lines.add("if type(by) is not int and type(by) is not str:\n    key = total_key((), (value, key))")
            lines.add(_ADD.replace("LIFTED", "element" if _of_first(self._group.lift) else "lift((value, key))"))
            loop.close()
            loop.enter_context(lines.under("for key, (before, total, _) in new_totals.items():"))
            lines.add("""
                old = () if before is None else (finish(before[0]),)
                now = finish(total)
            """)
            loop.enter_context(lines.under("if before is None or not is_unchanged(old[0], now):"))
            lines.add(event_text("Update(key, now)", ("start", "end"), "(output, key)", "old"))

    def _change(self) -> None:
        count = self._slot.ledger.text
        self._lines.add(count(Fate.DELIVERED, "len(windows)"))
        for gate in range(len(self._shape.filters)):
            self._lines.add(f"if dropped == {gate}:\n    {count(None, 'len(windows)', gate=gate)}\n    return out")
        self._lines.add(count(Fate.EXPIRED, "len(windows)"))
        self._lines.add(_KEEP)


def _of_first(lift: Any) -> bool:
    """Whether a total is of the first of (value, key), as `aggregate` writes it."""
    inner = lift.inner if isinstance(lift, Chained) else None
    return isinstance(inner, itemgetter) and inner.__reduce__()[1] == (0,)
