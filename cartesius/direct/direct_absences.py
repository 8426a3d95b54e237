"""Direct absences: what a push does to the rows of which something must not come after their one part, as text.

An event of that part is not stored: its row waits for the clock. One of what must not come is stored until nothing
that comes can need it. A push first lets the clock decide what is due (`leaving.Undecided`).

Invariant: what it computes is what the clauses of `without(…, after=…)` and `Absences` would have computed.

Source: DESIGN 4; SEMANTICS 3.3.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cartesius.direct.direct_places import DirectPlaces
from cartesius.direct.direct_shapes import run_as_written, sets_aside, standing
from cartesius.direct.direct_texts import DirectText, filters_of
from cartesius.direct.leaving import Leaving, Undecided, due_under
from cartesius.plan.nodes import KeyBy, Let, Never
from cartesius.results.outputs import Events
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_texts import Make
    from cartesius.direct.leaving import Found
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

_KNOWN: Final = frozenset({KeyBy, Let, Never})


def absence_of(program: Program, join: Join, index: int) -> Make | str:
    """Return what makes the function of one of the two slots, or why it needs all of the handlers."""
    batch, slot = join.batch, join.slots[index]
    strange = run_as_written(join, _KNOWN)
    if strange:
        return strange
    nevers = [one for one in join.installed if isinstance(one.node, Never)]
    if len(nevers) != 1 or len(join.slots) != 2 or nevers[0].node.when != "after":  # type: ignore[attr-defined]  # it is one
        return "more than one event must not come, or not after the one part of a row"
    if not isinstance(batch.output, Events) or batch.windows is not None or any(slot.is_table for slot in join.slots):
        return "its results are not single events"
    (never,) = nevers
    if any(len(by) != 2 for by in join.bindings.spaces):
        return f"keys are not those of both slots of {never.restriction!r}"
    if sets_aside(join):
        return "events without a key are looked for, and set aside"
    return standing(program, join, has_absent=True) or partial(DirectAbsenceCode, join, slot, never)


class DirectAbsenceCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, join: Join, slot: Slot, never: Installed, steps: Steps, lateness: int | None) -> None:
        super().__init__(join, slot, steps, lateness, meets=True)
        node: Any = never.node
        absent, due = node.slot, never.dues[node.slot]
        self._never = never
        self._is_anchor = slot is node.anchor
        self._due = self._constants.name(node.duration)
        self._dues = {} if self._is_anchor else {due[-1]: "due"}
        self._places = DirectPlaces(slot, len(join.bindings.spaces), self._dues)
        take = DirectPlaces(absent, len(join.bindings.spaces), due[-1:]).taking()
        found: list[Found] = [(partial(due_under, absent.memory.parts()[1][due]), absent, take)]
        self._scope |= {"absent": absent, "never": never}
        self._scope |= {"leaving": Leaving(join.world, {never: found}, Undecided(join, never))}

    def _prepare(self) -> None:
        self._lines.add("""
            if type(end) is not int:
                return steps.given_up.leave("its time is no number")
        """)
        super()._prepare()
        if self._is_anchor:
            self._lines.add("""
                count = 0
                if absent.forgotten and absent.forgotten.get((), NEVER) > end:
                    return steps.given_up.leave("what may decide about it is forgotten")
            """)

    def _find_out(self) -> None:
        self._keys()
        self._filter(filters_of(self._join, self._slot))
        self._entry()
        self._places.link(self._lines, (), self._constants)
        self._lines.add(f"due = end + {self._due}")
        if self._is_anchor:
            row = ", ".join(self._part if slot is self._slot else "None" for slot in self._join.slots)
            self._lines.add(f"row = [{row}]")
            with self._lines.under("" if self._join.batch.body.where is None else "if where(row):"):
                self._lines.add("count = len(yields(row))")

    def _change(self) -> None:
        self._lines.add(self._count(Fate.DELIVERED))
        self._lines.add(f"world.number = {self._part}.number = stored = world.number + 1")
        if not self._is_anchor:
            self._places.put(self._lines, self._dues)
            self._ask(self._never, "due")
            return
        self._lines.add("world.candidates += 1")
        self._lines.add(self._count(Fate.EXPIRED))
        with self._lines.under("if count:"):
            self._ask(self._never, "due")
            self._lines.add("""
                held = never.copies[under].held
                held[due] = (*held.get(due, ()), (row, count))
            """)
