"""Direct absences: what a push does to the rows of which something must not come after their one part, as text.

An event of that part is not stored: its row waits for the clock. One of what must not come is stored until nothing
that comes can need it. A push first lets the clock decide what is due (`Undecided`).

Invariant: what it computes is what the clauses of `without(…, after=…)` and `Absences` would have computed.

Source: DESIGN 4; SEMANTICS 3.3.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from cartesius.data.events import EARLIEST
from cartesius.direct.direct_places import DirectPlaces
from cartesius.direct.direct_shapes import run_as_written, sets_aside, standing
from cartesius.direct.direct_texts import DirectText, filters_of
from cartesius.direct.leaving import Ascent, Due, found_in, given
from cartesius.plan.nodes import KeyBy, Let, Never
from cartesius.results.outputs import Events
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event, Time
    from cartesius.direct.direct_texts import Link, Make
    from cartesius.direct.leaving import Left
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program

_KNOWN: Final = frozenset({KeyBy, Let, Never})


def absence_of(program: Program, join: Join, index: int, *, is_followed: bool) -> Make | str:
    """Return what makes the function of one of the two slots, or why it needs all of the handlers."""
    batch, slot = join.batch, join.slots[index]
    if strange := run_as_written(join, _KNOWN):
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
    return standing(program, join, is_followed=is_followed, has_absent=True) or partial(
        DirectAbsenceCode, join, slot, never
    )


class DirectAbsenceCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, join: Join, slot: Slot, never: Installed, **link: Unpack[Link]) -> None:
        super().__init__(join, slot, **link)
        node: Any = never.node
        absent, due = node.slot, never.dues[node.slot]
        self._never = never
        self._is_anchor = slot is node.anchor
        self._due = self._constants.name(node.duration)
        self._dues = {} if self._is_anchor else {due[-1]: "due"}
        self._places = DirectPlaces(slot, join.bindings, self._dues)
        self._scope |= {"absent": absent, "never": never}

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What the deadlines do that decide whether something has come."""
        join, never = self.join, self._never
        node: Any = never.node
        absent, due = node.slot, never.dues[node.slot]
        found = [found_in(absent, DirectPlaces(absent, join.bindings, due[-1:]), due)]
        return {never: Due(found, Undecided(join, never))}

    def _prepare(self) -> None:
        self._lines.add("""
            if type(end) is not int:
                raise LeftToClauses("its time is no number")
        """)
        super()._prepare()
        if self._is_anchor:
            self._lines.add("""
                count = 0
                if absent.forgotten and absent.forgotten.get((), NEVER) > end:
                    raise LeftToClauses("what may decide about it is forgotten")
            """)

    def _found_out(self) -> list[str]:
        names = [self._part, "due", *self._known_keys, *self._places.names(is_put=not self._is_anchor)]
        return [*names, "row", "count"] if self._is_anchor else names

    def _find_out(self) -> None:
        self._keys()
        self._filter(filters_of(self.join, self._slot))
        self._entry()
        self._places.link(self._lines, (), self._constants)
        if not self._is_anchor:
            self._places.find(self._lines)
        self._lines.add(f"due = end + {self._due}")
        if self._is_anchor:
            row = ", ".join(self._part if slot is self._slot else "None" for slot in self.join.slots)
            self._lines.add(f"row = [{row}]")
            with self._lines.under("" if self.join.batch.body.where is None else "if where(row):"):
                self._lines.add("count = len(yields(row))")
        self._lines.add("number += 1" if self._is_numbered else "")

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
                copy = never.copies.get(under)
                if copy is None:
                    copy = never.copies[under] = never.spare()
                held = copy.held
                rows = held.get(due)
                held[due] = Queue(((row, count), )) if rows is None else rows.append((row, count))
            """)


class Undecided:
    """The rows of which something must not come, and which the deadlines of one restriction decide."""

    def __init__(self, join: Join, never: Installed) -> None:
        assert isinstance(never.node, Never)  # Invariant: it says what must not come
        self.join = join
        self._never = never
        self._absent: Slot = never.node.slot
        self._anchor: int = never.node.anchor.index
        self._ascent = Ascent(self._absent)

    def undo(self) -> None:
        """Nothing: it changes nothing until all is done."""

    def decide(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left], out: list[Event]) -> None:
        """Let out the rows whose time this is, if they are not forbidden; they wait until all is done."""
        copy = self._never.copies.get(key)
        rows = () if copy is None else copy.held.get(time, ())
        batch, forbids = self.join.batch, self._never.stateless.forbids
        absences: Any = batch.absences
        for parts, count in rows if len(rows) < 2 else sorted(rows, key=lambda row: batch.rank(row[0])):
            if absences.has(self._absent, parts, partial(forbids, parts), partial(self._last, time)):
                continue
            out += given(self.join, parts, parts[self._anchor], batch.body.yields(parts)[:count])

    def _last(self, time: int) -> Time:
        """Return after which end no event is followed by one that bears on rows of that time."""
        self._ascent.look()
        return time + self._ascent.end

    def done(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left]) -> bool:
        """Forget the rows that are decided, and take note of which events are forgotten."""
        if leaving:  # all of which have one end, as they are due at one time
            end, before = leaving[0][0].end, self._absent.forgotten.get((), EARLIEST)
            self._absent.forgotten = {(): max(before, end)}
        copy = self._never.copies.get(key)
        if copy is None:  # it waits for nothing
            return False
        copy.held.pop(time, None)
        return bool(copy.held)
