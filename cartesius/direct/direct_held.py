"""Direct holding: what a push does to windows that show what they hold when they close, as the text of one function.

An event comes into the windows that contain it, and waits there: nothing else sees it. So a push whose windows are all
open is a place in their queues, whatever the correlation does with it later; where a window opens, or has been
reported, the clauses do it.

Invariant: what it holds is what the clause for `enter` would have held.

Source: DESIGN 4; SEMANTICS 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.data.null_values import is_null
from cartesius.direct.direct_texts import STREAM_SCOPE, DirectText
from cartesius.direct.direct_totals import IN_WINDOWS, Ahead
from cartesius.language.families import enter
from cartesius.plan.nodes import Regular

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.programs.steps import Steps

WAITING: Final = frozenset({"on_close", "final"})
_ARE_OPEN: Final = """
    reported = copy.reported
    for window in windows:
        if window not in contents or window in reported:
            return steps.given_up.leave("a window opens, or has been reported")
"""


@attrs.frozen(eq=False)
class HeldShape:
    """A push into a slot whose windows wait."""

    join: Join
    slot: Slot
    opener: Installed
    node: Regular  # of the opener


def held_shape_of(join: Join, index: int) -> HeldShape | str:
    """Return what a push into a slot does, or why it needs all of the handlers."""
    slot, pattern = join.slots[index], join.pattern
    opener = next((one for one in join.installed if isinstance(one.node, Regular)), None)
    if opener is None or not slot.has_windows:
        return "it is in no windows of one size"
    node = opener.node
    assert isinstance(node, Regular)  # Invariant: it has been looked for
    if not node.reports & WAITING or not node.reports <= WAITING | {"non_empty"}:
        return f"{opener.restriction!r} shows at once what comes, or from time to time"
    if node.content is not None or node.ticks != "tuple" or node.t0 is not None:
        return f"{opener.restriction!r} says more than how long windows are, and when they are reported"
    entering = (one for one in join.installed for _, family, _, _ in one.marks if family is enter)
    if any(one is not opener for one in entering) or pattern.alternative is not None or pattern.absent.names:
        return "its events concern others, or are seen before they are in windows"
    if slot.shared is not None or slot.notes_door or slot.n is not None:
        return "its events are noted besides"
    return HeldShape(join, slot, opener, node)


class DirectHeldCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, shape: HeldShape, steps: Steps, lateness: int | None) -> None:
        join, slot, node = shape.join, shape.slot, shape.node
        super().__init__(join, slot, steps, lateness, STREAM_SCOPE)
        self._opener = shape.opener
        self._write()
        bound = {"opener": shape.opener, "ahead": Ahead(node), "is_null": is_null, f"slot{slot.index}": slot.name}
        bound |= {"size": node.size, "period": node.period, "offset": node.offset}
        self.function: Callable[..., Any] = self._define(bound)

    def _prepare(self) -> None:
        self._lines.add("if type(value) not in plain:\n    value = wrap(value)")

    def _find_out(self) -> None:
        own, bindings = self._slot.index, self._join.bindings
        self._keys(but=bindings.window_space)
        for needed in bindings.needed[own]:
            self._lines.add(f"""
                if is_null({self._constants.name(needed.compute)}(value)):
                    return steps.given_up.leave("a key is null")
            """)
        prefix = "".join(f"key{space}, " for space in self._opener.prefixes[own])
        self._lines.add(IN_WINDOWS.replace("COPY", f"({prefix})"))
        self._lines.add(_ARE_OPEN)
        self._entry()

    def _change(self) -> None:
        part = f"part{self._slot.index}"
        self._lines.add(f"""
            {part}.number = -1
            {part}.more = {{"step": world.steps}}
            for window in windows:
                contents[window] = contents[window].append({part})
        """)
