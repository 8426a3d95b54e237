"""Direct event time: what a push does where one gate holds all events until the clock has passed them, as a function.

The function of an input makes an entry, which the gate (`in_event_time`) holds; then those go that may, each in a step
of its own, by the function of their slot. A step meets what the one before has stored, so the state changes before all
is found out: what has been done is logged, and taken back if something fails.

Floors are simple there, as all that comes has gone through the one gate. Nothing that ends before the clock, or before
the latest end seen less the lateness, comes any more to anything that is made of it.

Invariant: what it computes is what the gate, the floors and the steps would have computed.

Source: SEMANTICS 3.5 and 3.12; DESIGN 4.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from cartesius.correlations.placements import gates_of
from cartesius.data.events import EARLIEST
from cartesius.direct.direct_codes import let_go_of
from cartesius.direct.direct_texts import FAILING, PASSED, STANDS, TIMES, After, DirectText
from cartesius.plan.nodes import InTime
from cartesius.programs.give_ups import LeftToClauses
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.batching.deadlines import Deadline

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Time
    from cartesius.direct.direct_texts import Link, Linked, Make
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

_BEGIN: Final = """
    ordinal, out = world.events + 1, []
    steps.is_running = True
    before = gate.before()
"""
_CHECK: Final = """
    if type(end) is not int:
        raise LeftToClauses("its time is no number")
    gate.check(end)
"""
_FAIL: Final = f"""
    except BaseException as error:
        is_torn, journal.is_open, steps.is_running = journal.is_open, True, False
        if not is_torn:
            gate.take_back(before)
        journal.is_open = is_torn
        if isinstance(error, Exception) and not is_torn:
            {FAILING}
        raise
    return out
"""


def holding_of(steps: Steps) -> Holding | None:
    """Return the gate in event time that all events go through, if functions know all that is made of what it holds."""
    program = steps.program
    gates = [one for join in program.joins for one in join.installed if isinstance(one.node, InTime)]
    if len(gates) != 1 or program.may_hold_strands or not _is_passed_by_all(program, gates[0]):
        return None
    (gate,) = gates
    first, *behind = sorted(program.joins, key=lambda join: join is not gate.join)
    makes = {join: [_let_go(program, join, slot) for slot in join.slots] for join in program.joins}
    known = [make for some in makes.values() for make in some if make is not None]
    if len(known) != sum(map(len, makes.values())) or any(len(join.slots) != 1 for join in behind):
        return None
    places = {made: place for place, join in enumerate((first, *behind)) for made in join.reactives}
    after = [After((places[join.slots[0].reactive],), makes[join][0]) for join in behind]
    told = [places[output] for output in program.outputs]
    holding = Holding(gate, steps, makes[first], {"after": after, "told": told} if behind else {})
    return holding if holding.knows_all else None


def _is_passed_by_all(program: Program, gate: Installed) -> bool:
    """Whether each input comes to one slot of the gate's correlation, and to the gate before all others."""
    join, inputs = gate.join, [*program.inputs.values()]
    comes_to = [[other for other, _ in program.bound.get(reactive, ())] for reactive in inputs]
    is_first = all(gates_of(join.installed, slot)[0] is gate for slot in join.slots)
    is_all = bool(inputs) and all(found == [join] for found in comes_to) and len(inputs) == len(join.slots)
    return is_first and is_all and not any(reactive.table for reactive in inputs)


def _let_go(program: Program, join: Join, slot: Slot) -> Make | None:
    make = let_go_of(program, join, slot, is_followed=any(made in program.bound for made in join.reactives))
    return None if isinstance(make, str) else make


class Holding:
    """A gate in event time at work: what it holds, what goes on, and what leaves by that.

    Args:
        gate: The gate.
        steps: What runs the steps as written.
        makes: What makes the functions of what is let go, by slot.
        link: How what follows is linked with them.
    """

    def __init__(self, gate: Installed, steps: Steps, makes: Sequence[Make], link: Any) -> None:
        join = gate.join
        self._gate, self._steps, self._world = gate, steps, join.world
        self._deadlines, self._lateness = join.world.deadlines, gate.stateless.lateness
        self._log: list[tuple[Any, ...]] = []  # how to take back what has been done, the last one last
        link = {**link, "steps": steps, "lateness": None, "log": self._log}
        self.codes: list[DirectText] = [make(**link) for make in makes]
        self._indexes = {slot.name: slot.index for slot in join.slots}
        self._counts = [(slot.ledger.base + Fate.DELIVERED, slot.ledger.hands[0]) for slot in join.slots]
        self._memories = [slot.memory for one in steps.program.joins for slot in one.slots]
        self._dues = {one: due for link in self.codes[0].links for one, due in link.dues.items()}
        self._held: tuple[Entry, ...] = ()
        self._seen: Time = EARLIEST
        self._gone: Time = EARLIEST
        self._ends: list[int] = []  # of what has been let go

    @property
    def knows_all(self) -> bool:
        """Whether all that waits for floors is known to let entries leave, and to do nothing else."""
        return all(one in self._dues and self._dues[one].deciding is None for one in self._deadlines.floored)

    def make(self, slot: Slot) -> Make:
        """Return what makes the function of an input that comes to a slot."""
        return partial(DirectEventTime, self, self._gate.join, slot)

    # -- a push, in the order in which it calls these ------------------------------------------------------------------

    def before(self) -> tuple[Any, ...]:
        """Begin; return what `take_back` needs."""
        for one in self._deadlines.floored:
            if len(one.floored.items) > one.floored.most:
                self._deadlines.clean()
        world, copy = self._world, self._gate.copies.get((), self._gate.stateless)
        self._log.clear()
        self._held, self._seen, self._gone, self._ends = copy.held, copy.seen, copy.gone, []
        counts = world.number, world.steps, world.candidates, self._deadlines.number, world.events
        return *counts, world.clock, world.latest, world.fates.copy(), [memory.visited for memory in self._memories]

    def check(self, end: int) -> None:
        """Leave an event to the clauses that is late."""
        if end < self._gone or end < self._seen - self._lateness:
            raise LeftToClauses("the event is late")

    def pass_clock(self, clock: Time, out: list[Event]) -> None:
        """Let all go, and leave, that the clock passes, one time after the other."""
        world = self._world
        while True:
            item = self._first_due()
            if self._held and self._held[0].end < clock and (item is None or self._held[0].end <= item[0]):
                world.clock = max(world.clock, self._held[0].end + 1)
                self._let_go(out)
            elif item is not None and item[0] < clock:
                world.clock = max(world.clock, item[0] + 1)
                self._let_leave(item)
            else:
                world.clock = max(world.clock, clock)
                return

    def hold(self, part: Entry, out: list[Event]) -> None:
        """Hold an event, and let go what may go by its time; then nothing can fail any more."""
        delivered, hand = self._counts[self._indexes[part.slot]]
        self._world.fates[delivered] += 1
        self._world.fates[hand] += 1
        end: Any = part.end
        if not self._held or self._turn(self._held[-1]) <= self._turn(part):
            self._held += (part,)
        else:
            place = bisect_right(self._held, self._turn(part), key=self._turn)
            self._held = (*self._held[:place], part, *self._held[place:])
        self._seen = max(self._seen, end)
        asked = None
        if end not in self._gate.due.get((), ()):
            self._deadlines.number = asked = self._deadlines.number + 1
        floor = self._seen - self._lateness
        while self._held[0].end < floor:  # the event itself is not
            self._let_go(out)
        floor = max(floor, self._world.clock)
        while (item := self._first_due()) is not None and item[0] < floor:
            self._let_leave(item)
        self._world.journal.is_open = True
        self._keep(end, asked)

    def _turn(self, entry: Entry) -> tuple[Time, int]:
        return entry.end, self._indexes[entry.slot]

    def _keep(self, end: int, asked: int | None) -> None:
        """Keep what is held, and what it waits for: its deadlines are the ends of that."""
        gate, deadlines = self._gate, self._deadlines
        copy = gate.copies[()] if gate.copies else gate.make(())
        copy.__dict__.update(held=self._held, seen=self._seen, gone=self._gone)
        if asked is not None:
            deadlines.enter((end, gate.place, asked, gate, ()))
        due = gate.due[()]
        for left in self._ends:
            if left != self._held[0].end:
                due.pop(left, None)
        while deadlines.entered[0][0] not in due:  # the event waits for its own
            heapq.heappop(deadlines.entered)

    def _let_go(self, out: list[Event]) -> None:
        """Let the first go, in a step of its own."""
        world, part = self._world, self._held[0]
        self._held, self._gone = self._held[1:], max(self._gone, part.end)
        self._ends.append(int(part.end))
        world.steps += 2  # one for what lets it go, one for what follows
        index = self._indexes[part.slot]
        for place in self._counts[index]:
            world.fates[place] -= 1  # it is delivered anew
        out += self.codes[index].function(part, world.steps, world.clock)

    def _first_due(self) -> Deadline[Any] | None:
        """Return what is the first to be due of all that waits for floors."""
        found = [(one.floored.items[0], one) for one in self._deadlines.floored if one.floored.items]
        if not found:
            return None
        items = [(time, one.place, number, one, key) for (time, number, key), one in found]
        return items[0] if len(items) == 1 else min(items, key=lambda item: item[:3])

    def _let_leave(self, item: Deadline[Any]) -> None:
        """Let leave what floors have passed."""
        time, _, number, one, key = item
        under, world, log = (*key, time) if key else time, self._world, self._log
        leaving = []
        for find, place in self._dues[one].found:
            found = find(under)
            if found is not None:
                leaving += [(entry, place) for entry in (found.values() if type(found) is dict else (found,))]
        world.journal.is_open = True
        one.floored.discard((time, number, key))
        log.append((self._deadlines.await_floors, item))
        del one.due[key][time]
        if not one.due[key]:
            del one.due[key]
            one.copies.pop(key, None)
        world.steps += 2 * (bool(leaving) or not one.lets_go_alone)
        for entry, (slot, take, expired) in leaving:
            try:
                take(entry, under)
            except LookupError:
                world.journal.is_open = False  # it has done nothing
                raise
            log.append((slot.memory.put_back, entry))
            world.fates[expired] += 1
        world.journal.is_open = False

    def take_back(self, before: tuple[Any, ...]) -> None:
        """Undo what a push has done, which has failed; the journal is open."""
        for function, *arguments in reversed(self._log):
            function(*arguments)
        world, deadlines = self._world, self._deadlines
        world.number, world.steps, world.candidates, deadlines.number, world.events, *rest = before
        world.clock, world.latest, world.fates[:], visited = rest
        for memory, n in zip(self._memories, visited, strict=True):
            memory.restore_order()
            memory.visited = n


class DirectEventTime(DirectText):
    """The function of an input whose events are held, and its text."""

    def __init__(self, holding: Holding, join: Join, slot: Slot, **link: Unpack[Link]) -> None:
        self._holding = holding
        super().__init__(join, slot, **link)
        self._scope["gate"] = holding

    @property
    def links(self) -> list[Linked]:
        """This, and what follows what is let go."""
        return [self, *self._holding.codes[0].links[1:]]

    def shown(self) -> str:
        """Return the text, and those of what is let go."""
        return "\n".join([super().shown(), *[code.shown() for code in self._holding.codes]])

    def _write(self) -> None:
        add = self._lines.add
        with self._lines.under("def push(value, at):"):
            add(TIMES)
            add(STANDS if self._lateness is None else PASSED)
            add(_BEGIN)
            with self._lines.under("try:"):
                add(_CHECK)
                self._find_out()
            add(_FAIL)

    def _find_out(self) -> None:
        add = self._lines.add
        self._prepare()
        self._keys()
        self._entry()
        add(f"{self._part}.number = -1")
        add("" if self._lateness is None else "gate.pass_clock(passed, out)")
        add("world.events, world.latest, world.steps = ordinal, latest, world.steps + 1")
        add(f"gate.hold({self._part}, out)\nsteps.is_running = False")

    def _change(self) -> None:
        raise NotImplementedError  # what it holds and lets go is changed on the way
