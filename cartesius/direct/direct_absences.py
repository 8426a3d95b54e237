"""Direct absences: what a push does to the rows of which something must not come after their one part, as text.

An event of that part is not stored: its row waits for the clock. One of what must not come is stored until nothing
that comes can need it. A push first lets the clock decide what is due; nothing has changed until all is found out.

Invariant: what it computes is what the clauses of `without(…, after=…)` and `Absences` would have computed.

Source: DESIGN 4; SEMANTICS 3.3.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.correlations.placements import gates_of
from cartesius.data.events import EARLIEST, Event
from cartesius.direct.direct_loops import table_name
from cartesius.direct.direct_places import DirectPlaces
from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.direct.direct_texts import FAILING, STREAM_SCOPE, DirectText
from cartesius.expressions.value_functions import of_value
from cartesius.plan.nodes import KeyBy, Let, Never
from cartesius.results.outputs import Events
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.batching.deadlines import Deadline
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

_KNOWN: Final = frozenset({KeyBy, Let, Never})
_ASK: Final = """
    under = (KEY)
    if under not in never.copies:
        never.copies[under] = never.spare()
    times = never.due.get(under)
    if times is None:
        times = never.due[under] = {}
    if due not in times:
        deadlines.number = times[due] = asked = deadlines.number + 1
        heappush(deadlines.heap, (due, place, asked, never, under))
"""


@attrs.frozen(eq=False)
class AbsenceShape:
    """A push into the part of a row, or into what must not come after it."""

    join: Join
    slot: Slot
    never: Installed


def absence_shape_of(program: Program, join: Join, index: int) -> AbsenceShape | str:
    """Return what a push into one of the two slots does, or why it needs all of the handlers."""
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
    if any(len(by) != 2 for by in join.bindings.spaces) or any(slot.shared is not None for slot in join.slots):
        return f"keys are not those of both slots of {never.restriction!r}, or a memory is shared"
    if any(needed.space is None for of_slot in join.bindings.needed for needed in of_slot):
        return "events without a key are looked for, and set aside"
    return standing(program, join, has_absent=True) or AbsenceShape(join, slot, never)


class Decisions:
    """The rows that the clock decides before a push, and the events that it lets go: found out, and then done."""

    def __init__(self, join: Join, never: Installed) -> None:
        self._join = join
        self._never = never
        self._world = join.world
        assert isinstance(never.node, Never)  # Invariant: it is one
        self._absent: Slot = never.node.slot
        self._anchor: int = never.node.anchor.index
        absences: Any = join.batch.absences
        self._has = absences.has
        due = never.dues[self._absent]
        self._leaving = self._absent.memory.parts()[1][due]
        places = DirectPlaces(self._absent, len(join.bindings.spaces), frozenset(due[-1:]))
        self._is_of_keys, self._take = places.is_of_keys, places.taking()
        self._met: list[tuple[Deadline[Any], tuple[Entry, ...]]] = []

    def find(self, before: Time, out: list[Event]) -> bool:
        """Take the deadlines below a time, and add what is decided to ``out``; or return False, as another is due.

        The journal is open from then on, as who is interrupted here does not know what has been taken.
        """
        heap = self._world.deadlines.heap
        if self._world.deadlines.cancelled:
            return False
        self._world.journal.is_open = True
        try:
            while heap and heap[0][0] < before:
                if heap[0][3] is not self._never:
                    self.put_back()
                    return False
                item = heap[0]
                time, _, _, never, key = item
                leaving = self._leaving.get((*key, time) if key else time, ())
                leaving = tuple(leaving.values()) if type(leaving) is dict else leaving and (leaving,)
                self._met.append((item, leaving))  # `put_back` knows it then, wherever somebody interrupts
                heapq.heappop(heap)
                rows = never.copies[key].held.get(time)
                if rows:
                    self._decide(rows, out)
                if not self._is_of_keys:
                    for entry in leaving:
                        self._absent.memory.places_of(entry)  # its payload has not changed, then
        except Exception:
            if self._met and heap and heap[0] is self._met[-1][0]:
                self._met.pop()
            self.put_back()
            raise
        return True

    def _decide(self, rows: Sequence[tuple[list[Any], int]], out: list[Event]) -> None:
        body, rank = self._join.batch.body, self._join.batch.rank
        for parts, count in rows if len(rows) < 2 else sorted(rows, key=lambda row: rank(row[0])):
            if self._has(self._absent, parts, partial(self._never.stateless.forbids, parts)):
                continue
            part = parts[self._anchor]
            identities = tuple([one and one.identity for one in parts])
            for number, value in enumerate(body.yields(parts)[:count]):
                identity = (self._join.number, identities, number)
                out.append(Event(value, part.start, part.end, 1, self._join.name, identity))

    def put_back(self) -> None:
        """Take all back that was found, and close the journal."""
        for item, _ in self._met:
            heapq.heappush(self._world.deadlines.heap, item)
        self._met.clear()
        self._world.journal.is_open = False

    def do(self) -> None:
        """Forget the rows that are decided, and the events that nothing needs."""
        never, absent, forgotten = self._never, self._absent, EARLIEST
        for (time, _, _, _, key), leaving in self._met:
            times = never.due[key]
            if len(times) == 1:
                del never.due[key]
            else:
                del times[time]
            never.copies[key].held.pop(time, None)
            for entry in leaving:
                self._take(entry)
                absent.ledger.count(Fate.EXPIRED)
                forgotten = max(forgotten, entry.end)
        if forgotten != EARLIEST:
            absent.forgotten = {(): max(absent.forgotten.get((), EARLIEST), forgotten)}
        self._world.steps += 2 * len(self._met)

    def finish(self) -> None:
        """Forget the copies that wait for nothing, now that the push has asked for its own."""
        never = self._never
        for (_, _, _, _, key), _ in self._met:
            if key not in never.due and key in never.copies:
                never.forget(key, never.copies[key])
        self._met.clear()


class DirectAbsenceCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, shape: AbsenceShape, steps: Steps, lateness: int | None) -> None:
        join, never, slot = shape.join, shape.never, shape.slot
        super().__init__(join, slot, steps, lateness, STREAM_SCOPE, meets=True)
        node: Any = never.node
        self._never = never
        self._own = slot.index
        self._is_anchor = slot is node.anchor
        self._body = body = join.batch.body
        due = never.dues[node.slot][-1]
        self._due = self._constants.name(node.duration)
        self._places = DirectPlaces(slot, len(join.bindings.spaces), frozenset(() if self._is_anchor else (due,)))
        self._filters = [(gates_of(join.installed, slot).index(one), one) for one in self._of_filters()]
        self._dues = {due: "due"}
        entries, indexes = slot.memory.parts()
        bound: dict[str, Any] = {f"slot{self._own}": slot.name, f"entries{self._own}": entries}
        bound |= {table_name(self._own, positions): table for positions, table in indexes.items()}
        bound |= {"where": body.where, "yields": body.yields, "never": never, "absent": node.slot, "NEVER": EARLIEST}
        bound |= {"deadlines": join.world.deadlines, "heappush": heapq.heappush, "place": never.place}
        self._write()
        self.function: Callable[..., Any] = self._define({**bound, "decisions": Decisions(join, never)})

    def _of_filters(self) -> list[Installed]:
        """Return what sees an event before it is stored, the right-most first."""
        return [one for one in reversed(self._join.installed) if isinstance(one.node, Let) and self._slot in one.named]

    def _prepare(self) -> None:
        self._lines.add("""
            if type(end) is not int:
                return steps.given_up.leave("its time is no number")
            if type(value) not in plain:
                value = wrap(value)
            dropped = -1
            is_found = False
        """)
        if self._is_anchor:
            self._lines.add("""
                count = 0
                if absent.forgotten and absent.forgotten.get((), NEVER) > end:
                    return steps.given_up.leave("what may decide about it is forgotten")
            """)

    def _find_out(self) -> None:
        if self._lateness is not None:
            self._lines.add("""
                if heap and heap[0][0] < passed:
                    is_found = decisions.find(passed, out)
                    if not is_found:
                        return steps.given_up.leave("something is due before")
            """)
        self._keys()
        for gate, one in self._filters:
            node: Any = one.node
            self._lines.add(f"""
                if dropped < 0 and not {self._constants.name(of_value(node.predicate))}(value):
                    dropped = {gate}
            """)
        with self._lines.under("if dropped < 0:"):
            self._entry()
            self._places.link(self._lines, (), self._constants)
            self._lines.add(f"due = end + {self._due}")
            if self._is_anchor:
                row = ", ".join(f"part{self._own}" if slot is self._slot else "None" for slot in self._join.slots)
                self._lines.add(f"row = [{row}]")
                with self._lines.under("" if self._body.where is None else "if where(row):"):
                    self._lines.add("count = len(yields(row))")

    def _fail(self) -> None:
        self._lines.add(f"""
            except BaseException as error:
                if is_found:
                    decisions.put_back()
                if isinstance(error, Exception):
                    {FAILING}
                raise
        """)

    def _change(self) -> None:
        count, key = self._slot.ledger.text, "".join(f"key{space}, " for space in self._never.prefix)
        self._lines.add("if is_found:\n    decisions.do()")
        self._lines.add(count(Fate.DELIVERED))
        for gate, _ in self._filters:
            self._lines.add(f"if dropped == {gate}:\n    {count(None, gate=gate)}")
        with self._lines.under("if dropped < 0:"):
            self._lines.add(f"world.number = part{self._own}.number = stored = world.number + 1")
            if self._is_anchor:
                self._lines.add("world.candidates += 1")
                self._lines.add(count(Fate.EXPIRED))
                with self._lines.under("if count:"):
                    self._lines.add(_ASK.replace("KEY", key))
                    self._lines.add("""
                        held = never.copies[under].held
                        held[due] = (*held.get(due, ()), (row, count))
                    """)
            else:
                self._places.put(self._lines, self._dues)
                self._lines.add(_ASK.replace("KEY", key))
        self._lines.add("if is_found:\n    decisions.finish()")
