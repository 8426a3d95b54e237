"""Direct windows that wait, and sessions: what a push does that only holds its event until its window closes, as text.

Where windows show what they hold when they close, an event waits in their queues and nothing else sees it, whatever the
correlation does with it later. If a window is freed as it closes, and that is a total (`closing.Closing`) or a join
(`Joining`), deadlines give it without handlers; otherwise the clauses do that, once for each window.

This module is over 300 lines because what windows hold, and what becomes of it as they close, is of one state.

Invariant: what it computes is what the clauses and the windows would have computed.

Source: DESIGN 4; SEMANTICS 3.2.
"""

from __future__ import annotations

from functools import cached_property, partial
from operator import add
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Unpack

from cartesius.data.generated import TooDeep
from cartesius.direct.closing import Closing, Freed, closes
from cartesius.direct.direct_codes import DirectCode
from cartesius.direct.direct_places import names_of
from cartesius.direct.direct_shapes import Shape, shape_of, standing
from cartesius.direct.direct_texts import DirectText
from cartesius.direct.direct_windows import IN_WINDOWS, DirectWindowed
from cartesius.direct.leaving import Due
from cartesius.language.families import enter
from cartesius.plan.nodes import Regular, Sessions
from cartesius.programs.give_ups import LeftToClauses
from cartesius.storage.conservation import Fate
from cartesius.storage.memories import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.data.generated import Lines
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.direct.leaving import Left
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

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
    contents = () if copy is None else copy.contents
    GROWING
    first, last, touched = start, end + gap, None
    for window in SESSIONS:
        if window.end >= CLOCK and window.start <= last and start <= window.end:
            if touched is not None:
                raise LeftToClauses("two sessions become one")
            touched = window
    if touched is not None:
        if touched.end not in opener.due.get(under, ()) and touched in contents:
            raise LeftToClauses("its end is not what has been asked for")
        first, last = min(first, touched.start), max(last, touched.end)
"""
_GROWING: Final = "sessions = grown.setdefault(under, [*contents])"
_GROWN: Final = """
    if touched is not None:
        sessions.remove(touched)
    sessions.append(Window(first, last))
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
    node = opener.node
    assert isinstance(node, Regular | Sessions)  # Invariant: it has been looked for
    if isinstance(node, Sessions):
        closing = _closing_of(program, join, opener)
        if closing is None:
            return f"sessions of {opener.restriction!r} are merged, or come to more than a total or a join"
        return partial(DirectSessionCode, join, slot, opener, closing)
    if not node.reports & _WAITING or not node.reports <= _WAITING | {"non_empty"}:
        return f"{opener.restriction!r} shows at once what comes, or from time to time"
    if node.content is not None or node.ticks != "tuple" or node.t0 is not None:
        return f"{opener.restriction!r} says more than how long windows are, and when they are reported"
    entering = (one for one in join.installed for _, family, _, _ in one.marks if family is enter)
    if any(one is not opener for one in entering) or pattern.alternative is not None or pattern.absent.names:
        return "its events concern others, or are seen before they are in windows"
    if slot.shared is not None or slot.notes_door or slot.n is not None:
        return "its events are noted besides"
    return partial(DirectHeldCode, join, slot, opener, _closing_of(program, join, opener))


def _closing_of(program: Program, join: Join, opener: Installed) -> Callable[[Steps], Freed] | None:
    """Return what makes that of what windows give as they are freed; None: the clauses do that."""
    if not closes(program, join, opener):
        return lambda _: Closing(join, opener)
    node = opener.node
    assert isinstance(node, Regular | Sessions)  # Invariant: it has been looked for
    is_freed = not node.lateness or (isinstance(node, Regular) and "final" in node.reports)
    if (
        node.displaces
        or "non_empty" in node.reports
        or not is_freed
        or standing(program, join)
        or join.batch.tells_steps
    ):
        return None
    shapes = [shape_of(program, join, slot, is_followed=False, is_held=True) for slot in join.slots]
    known = [shape for shape in shapes if isinstance(shape, Shape) and len(program.bound[shape.slot.reactive]) == 1]
    return partial(Joining, known, opener) if len(known) == len(shapes) else None


def hold(lines: Lines, part: str) -> None:
    """Write that an event is held, and note its step, which comes after those of what is due before."""
    lines.add(f'{part}.number = -1\n{part}.more = {{"step": step}}')


class DirectHeldCode(DirectWindowed):
    """The function of one slot whose windows wait, and its text.

    Args:
        join: The correlation.
        slot: Where an event comes.
        opener: What opens the windows.
        closing: Makes what deadlines give as they free them; None: only the clauses know.
        **link: How it is linked with others.
    """

    def __init__(
        self,
        join: Join,
        slot: Slot,
        opener: Installed,
        closing: Callable[[Steps], Freed] | None,
        **link: Unpack[Link],
    ) -> None:
        super().__init__(join, slot, opener, **link)
        self._closes = None if closing is None else partial(closing, link["steps"])
        self._tells_steps = True

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines of windows do, which give totals, or what is joined, if the text of that can be had."""
        try:
            return {} if self._closes is None else {self._opener: Due((), self._closes())}
        except (TooDeep, RecursionError):  # compiled, or written
            return {}

    def shown(self) -> str:
        """Return the text, and that of what is joined."""
        joining = [due.deciding for due in self.dues.values() if isinstance(due.deciding, Joining)]
        return "\n".join([super().shown(), *[one.code.shown() for one in joining]])

    def _found_out(self) -> list[str]:
        return ["windows", self._part, *self._known_keys]

    def _before_all(self) -> None:
        self._lines.add("")  # those of one step are held one after the other

    def _find_out(self) -> None:
        self._keys(but=self.join.bindings.window_space)
        self._leave_without_keys("a key is null")
        self._lines.add(IN_WINDOWS)
        if self._follows and self._opener.prefixes[self._own]:  # a copy is known by the first key of its step
            self._lines.add('if not windows and len(results) > 1:\n    raise LeftToClauses("it is in no window")')
        self._leave_windowless()
        self._lines.add("" if self._closes is not None else _REPORTED.replace("COPY", self._copy))
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


class Joining(Freed):
    """What windows give that are joined as they are freed.

    All that is in one has come, so it is met in memories that are forgotten once it is done, event by event.

    Args:
        shapes: What an event of each slot does.
        opener: What opens the windows.
        steps: What runs the steps as written.
    """

    def __init__(self, shapes: Sequence[Shape], opener: Installed, steps: Steps) -> None:
        super().__init__(shapes[0].join, opener)
        self._slots: list[Any] = [
            SimpleNamespace(index=s.index, name=s.name, memory=_alike(s.memory)) for s in self.join.slots
        ]
        self._of_results = any(slot.reactive.pattern is not None for slot in self.join.slots)
        self._world = SimpleNamespace(number=0, candidates=0)
        self._fates: list[int] = [0] * len(self.join.world.fates)
        bound = {**names_of(self._slots), "world": self._world, "fates": self._fates}
        self.code = DirectJoining(shapes, bound, steps=steps, lateness=None, follows=True)
        self._join = self.code.function

    def decide(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left], out: list[Event]) -> None:
        """Let out what the windows give that one deadline frees."""
        super().decide(time, key, leaving, out)
        world, scratch = self.join.world, self._world
        for window in self._over(time, key):
            held = self._opener.copies[key].contents[window]
            steps = {one.noted("step") for one in held if not one.withdrawn} if self._of_results else held
            if len(steps) < len(held):
                message = "several results came into a window in one step, or were taken back"
                raise LeftToClauses(message)
            scratch.number = world.number  # before what is pushed; `Met.undo` takes it back
            self._join(held, window, out)
            world.number = scratch.number
            for slot, one in zip(self._slots, self.join.slots, strict=True):
                self._fates[one.ledger.base + int(Fate.EXPIRED)] += len(slot.memory)
            self._forget()

    def _forget(self) -> None:
        for slot in self._slots:
            entries, indexes = slot.memory.parts()
            for table in (entries, *indexes.values()):
                table.clear()

    def done(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left]) -> bool:
        """Count what was in the windows, and forget it."""
        world = self.join.world
        world.candidates += self._world.candidates
        world.fates[:] = map(add, world.fates, self._fates)
        for slot, one in zip(self._slots, self.join.slots, strict=True):
            one.memory.visited += slot.memory.visited
        return super().done(time, key, leaving)

    def undo(self) -> None:
        """Forget what would have been freed."""
        self._forget()  # who was interrupted, or has failed, has left something
        self._world.candidates, self._fates[:] = 0, [0] * len(self._fates)
        for slot in self._slots:
            slot.memory.visited = 0
        super().undo()


def _alike(memory: Memory) -> Memory:
    """Return a memory that has the same indexes, and nothing in it."""
    made = Memory(memory.journal)
    made.probes = memory.probes
    for positions in memory.parts()[1]:
        made.index(positions)
    return made


class DirectJoining(DirectText):
    """The function of what one window holds, which is joined, and its text: event by event, by slot."""

    def __init__(self, shapes: Sequence[Shape], bound: Mapping[str, Any], **link: Unpack[Link]) -> None:
        super().__init__(shapes[0].join, shapes[0].slot, **link)
        within: Link = {**link, "part_of": self}
        self._codes = [DirectCode(shape, **within) for shape in shapes]
        self._scope |= bound

    def _head(self) -> list[str]:
        return [f"{self.join.name}, when a window closes: what comes of what it holds"]

    def _write(self) -> None:
        with self._lines.under("def follow(held, window, out):"):
            self._lines.add("number = 0")
            with self._lines.under("for come in held:"):
                self._find_out()

    def _find_out(self) -> None:
        self._lines.add("value, start, end, identity = come.value, come.start, come.end, come._identity")
        for slot, code in zip(self.join.slots, self._codes, strict=True):
            with self._lines.under(f"{'elif' if slot.index else 'if'} come.slot == slot{slot.index}:"):
                code.write_released()

    def _change(self) -> None:
        raise NotImplementedError  # what it keeps is changed on the way


class DirectSessionCode(DirectHeldCode):
    """The function of one slot whose events come into sessions, which give what they come to once they are over."""

    def _found_out(self) -> list[str]:
        return ["first", "last", "touched", self._part, *self._known_keys]

    def _before_all(self) -> None:
        self._lines.add("grown = {}")  # what those of one step make of the windows of a copy, one after the other

    def _find_out(self) -> None:
        self._keys(but=self.join.bindings.window_space)
        self._leave_without_keys("a key is null")
        under = "".join(f"key{space}, " for space in self._opener.prefix)
        self._lines.add(f"under = ({under})")
        clock = "clock" if self._lateness is None and not self._follows else "passed"
        growing, sessions = (_GROWING, "sessions") if self._follows else ("", "contents")
        text = _TOUCHED.replace("CLOCK", clock).replace("SESSIONS", sessions).replace("GROWING", growing)
        self._lines.add(text)
        self._lines.add(_GROWN if self._follows else "")
        self._entry()

    def _change(self) -> None:
        hold(self._lines, self._part)
        self._ask(self._opener, "last", again=True)
        self._lines.add(_GROW.replace("PART", self._part))
