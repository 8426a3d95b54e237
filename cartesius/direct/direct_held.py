"""Direct windows that wait, and sessions: what a push does that only holds its event until its window closes, as text.

Where windows show what they hold when they close, an event waits in their queues and nothing else sees it, whatever the
correlation does with it later. If that is a total, and a window is freed as it closes, deadlines give it without
handlers (`closing.Closing`); otherwise the clauses do that, once for each window.

Invariant: what it computes is what the clauses and the windows would have computed.

Source: DESIGN 4; SEMANTICS 3.2.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from cartesius.data.events import Window
from cartesius.direct.closing import Closing, closes
from cartesius.direct.direct_texts import DirectText
from cartesius.direct.direct_windows import IN_WINDOWS, DirectWindowed
from cartesius.direct.leaving import Due
from cartesius.language.families import enter
from cartesius.plan.nodes import Regular, Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.generated import Lines
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program

_WAITING: Final = frozenset({"on_close", "final"})
_REPORTED: Final = """
    copy = opener.copies.get(COPY)
    if copy is not None and copy.reported:
        for window in windows:
            if window in copy.reported:
                raise LeftToClauses("a window has been reported")
"""
_TOUCHED: Final = """
    if type(start) is not int or type(end) is not int:
        raise LeftToClauses("its time is no number")
    copy = opener.copies.get(under)
    first, last, touched = start, end + gap, None
    for window in () if copy is None else copy.contents:
        if window.end >= CLOCK and window.start <= last and start <= window.end:
            if touched is not None:
                raise LeftToClauses("two sessions become one")
            touched = window
    if touched is not None:
        if touched.end not in opener.due.get(under, ()):
            raise LeftToClauses("its end is not what has been asked for")
        first, last = min(first, touched.start), max(last, touched.end)
"""
_GROW: Final = """
    contents = opener.copies[under].contents
    queue = Queue() if touched is None else contents.pop(touched)
    contents[Window(first, last)] = queue.append(PART)
    if touched is not None and touched.end != last:
        del opener.due[under][touched.end]
        deadlines.clean()
"""


def held_of(program: Program, join: Join, index: int) -> Make | str:
    """Return what makes the function of a slot whose windows wait, or why it needs all of the handlers."""
    slot, pattern = join.slots[index], join.pattern
    opener = next((one for one in join.installed if isinstance(one.node, Regular | Sessions)), None)
    if opener is None or not slot.has_windows:
        return "it is in no windows of one size"
    if isinstance(opener.node, Sessions):
        return closes(program, join, opener) or partial(DirectSessionCode, join, slot, opener)
    node = opener.node
    assert isinstance(node, Regular)  # Invariant: it has been looked for
    if not node.reports & _WAITING or not node.reports <= _WAITING | {"non_empty"}:
        return f"{opener.restriction!r} shows at once what comes, or from time to time"
    if node.content is not None or node.ticks != "tuple" or node.t0 is not None:
        return f"{opener.restriction!r} says more than how long windows are, and when they are reported"
    entering = (one for one in join.installed for _, family, _, _ in one.marks if family is enter)
    if any(one is not opener for one in entering) or pattern.alternative is not None or pattern.absent.names:
        return "its events concern others, or are seen before they are in windows"
    if slot.shared is not None or slot.notes_door or slot.n is not None:
        return "its events are noted besides"
    return partial(DirectHeldCode, join, slot, opener, closes=not closes(program, join, opener))


def hold(lines: Lines, part: str) -> None:
    """Write that an event is held, and note its step, which comes after those of what is due before."""
    lines.add(f'{part}.number = -1\n{part}.more = {{"step": step}}')


class DirectHeldCode(DirectWindowed):
    """The function of one slot whose windows wait, and its text.

    Args:
        join: The correlation.
        slot: Where an event comes.
        opener: What opens the windows.
        closes: Whether deadlines give their totals as they are freed.
        **link: How it is linked with others.
    """

    def __init__(
        self,
        join: Join,
        slot: Slot,
        opener: Installed,
        *,
        closes: bool = False,
        **link: Unpack[Link],
    ) -> None:
        super().__init__(join, slot, opener, **link)
        self._closes = closes
        self._tells_steps = True

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines of windows do, which give totals."""
        return {self._opener: Due((), Closing(self.join, self._opener))} if self._closes else {}

    def _found_out(self) -> list[str]:
        return ["windows", self._part, *self._known_keys]

    def _find_out(self) -> None:
        self._keys(but=self.join.bindings.window_space)
        self._leave_without_keys("a key is null")
        self._lines.add(IN_WINDOWS)
        self._leave_windowless()
        self._lines.add("" if self._closes else _REPORTED.replace("COPY", self._copy))
        self._entry()

    def _change(self) -> None:
        node = self._opener.node
        assert isinstance(node, Regular)  # Invariant: `held_of` has seen that
        hold(self._lines, self._part)
        with self._lines.under("for window in windows:"):
            if node.lateness and "final" not in node.reports:
                self._lines.add("due = window.end - 1")
                self._ask(self._opener, "due", again=True)
            self._lines.add("due = window.end + delay")
            self._ask(self._opener, "due", again=True)
            self._lines.add(f"""
                contents = opener.copies[under].contents
                contents[window] = contents.get(window, no_events).append({self._part})
            """)


class DirectSessionCode(DirectText):
    """The function of one slot whose events come into sessions, which give their totals once they are over."""

    def __init__(self, join: Join, slot: Slot, opener: Installed, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        self._tells_steps = True
        node: Any = opener.node
        self._opener = opener
        self._scope |= {"opener": opener, "gap": node.gap, "Window": Window}

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines of sessions do, which give totals."""
        return {self._opener: Due((), Closing(self.join, self._opener))}

    def _found_out(self) -> list[str]:
        return ["first", "last", "touched", self._part, *self._known_keys]

    def _find_out(self) -> None:
        self._keys(but=self.join.bindings.window_space)
        self._leave_without_keys("a key is null")
        under = "".join(f"key{space}, " for space in self._opener.prefix)
        self._lines.add(f"under = ({under})")
        self._lines.add(
            _TOUCHED.replace("CLOCK", "clock" if self._lateness is None and not self._follows else "passed")
        )
        self._entry()

    def _change(self) -> None:
        hold(self._lines, self._part)
        self._ask(self._opener, "last", again=True)
        self._lines.add(_GROW.replace("PART", self._part))
