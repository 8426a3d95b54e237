"""Direct event time: what a push does where one gate holds all events until the clock has passed them, as a function.

The function of an input makes an entry, which the gate (`in_event_time`) holds; then those go that may, each in a step
of its own, by the function of their slot. A step meets what the one before has stored, so the state changes before all
is found out: what has been done is logged, and taken back if something fails.

Floors are simple there, as all that comes has gone through the one gate. Nothing that ends before the clock, or before
the latest end seen less the lateness, comes any more to anything that is made of it.

This module is over 300 lines because what is held, what goes on, and how both are taken back are of one state.

Invariant: what it computes is what the gate, the floors and the steps would have computed.

Source: SEMANTICS 3.5 and 3.12; DESIGN 4.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from cartesius.batching.deadlines import turn_of
from cartesius.correlations.placements import gates_of
from cartesius.data.events import EARLIEST
from cartesius.data.generated import TooDeep
from cartesius.direct.direct_codes import let_go_of
from cartesius.direct.direct_texts import FAILING, After, DirectText, filters_of
from cartesius.plan.nodes import InTime, Let
from cartesius.programs.give_ups import LeftToClauses
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.batching.deadlines import Deadline
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Time
    from cartesius.direct.direct_texts import Filters, Link, Linked, Make
    from cartesius.direct.leaving import Due, Left
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
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


def holdings_of(steps: Steps, lateness: int | None) -> list[Holding]:
    """Return the gates in event time of which functions know all that is made of what they hold.

    Where the engine has a ``lateness`` a push moves the clock, which concerns all, so one gate must hold all there is.
    """
    program = steps.program
    gates = [one for join in program.joins for one in join.installed if isinstance(one.node, InTime)]
    if program.may_hold_strands:
        return []
    found = [_holding_of(steps, gate) for gate in gates]
    holdings = [one for one in found if one is not None]
    is_all = len(gates) == 1 and all(len(one.joins) == len(program.joins) for one in holdings)
    return holdings if lateness is None or is_all else []


def _holding_of(steps: Steps, gate: Installed) -> Holding | None:
    program, first = steps.program, gate.join
    if not _comes_alone(program, gate):
        return None
    made, behind = [*first.reactives], []
    for join in program.joins:
        if any(slot.reactive in made for slot in join.slots):
            made += join.reactives
            behind.append(join)
    if any(len(join.slots) != 1 for join in behind) or (behind and first.batch.partial is not None):
        return None  # rows of which parts are missing may be old, so what follows them waits longer
    makes = [_let_go(program, join, slot) for join in (first, *behind) for slot in join.slots]
    known = [make for make in makes if not isinstance(make, str)]
    if len(known) != len(makes):
        return None
    places = {made: place for place, join in enumerate((first, *behind)) for made in join.reactives}
    sources = [(places[join.slots[0].reactive],) for join in behind]
    after = [*map(After, sources, known[len(first.slots) :])]
    told = [places[output] for output in program.outputs if output in places]
    link = {"after": after, "told": told} if behind else {}
    holding = Holding(gate, steps, (first, *behind), known[: len(first.slots)], link)
    return holding if holding.knows_all else None


def _comes_alone(program: Program, gate: Installed) -> bool:
    """Whether what comes to a gate comes to nothing else, and what drops it before the gate knows no more of it."""
    join = gate.join
    bound = [program.bound.get(slot.reactive, ()) for slot in join.slots]
    is_alone = all(some and all(other is join for other, _ in some) for some in bound)
    are_inputs = all(slot.reactive.pattern is None and not slot.reactive.table for slot in join.slots)
    before = [filters_before(gate, slot) for slot in join.slots]
    are_known = all(some is not None and all(isinstance(one.node, Let) for _, one in some) for some in before)
    return is_alone and are_inputs and are_known and not (any(before) and max(map(len, bound)) > 1)


def _let_go(program: Program, join: Join, slot: Slot) -> Make | str:
    return let_go_of(program, join, slot, is_followed=any(made in program.bound for made in join.reactives))


def filters_before(gate: Installed, slot: Slot) -> Filters | None:
    """Return what drops events of a slot before a gate; None: something else is there."""
    gates = gates_of(gate.join.installed, slot)
    filters = [(place, one) for place, one in filters_of(gate.join, slot) if place < gates.index(gate)]
    return filters if len(filters) == gates.index(gate) else None


class Holding:
    """A gate in event time at work: what it holds, what goes on, and what leaves by that.

    Args:
        gate: The gate.
        steps: What runs the steps as written.
        joins: Its correlation, and those that are made of it, in order.
        makes: What makes the functions of what is let go, by slot.
        link: How what follows is linked with them.
    """

    def __init__(
        self, gate: Installed, steps: Steps, joins: Sequence[Join], makes: Sequence[Make], link: Mapping[str, Any]
    ) -> None:
        join = gate.join
        self._gate, self._world = gate, join.world
        self._deadlines, self._lateness = join.world.deadlines, gate.stateless.lateness
        self._log: list[tuple[Any, ...]] = []  # how to take back what has been done, the last one last
        known: Any = {**link, "steps": steps, "lateness": None, "log": self._log}
        self.codes: list[DirectText] = [make(**known) for make in makes]
        self.joins = joins
        self._is_too_deep = False
        self._floored = [one for one in self._deadlines.floored if one.join in joins]
        self._waiting = [one.floored for one in self._floored]
        self._indexes = {slot.name: slot.index for slot in join.slots}
        places = [gates_of(join.installed, slot).index(gate) for slot in join.slots]
        hands = [slot.ledger.hands[place] for slot, place in zip(join.slots, places, strict=True)]
        self._counts = [(slot.ledger.base + Fate.DELIVERED, hands[slot.index]) for slot in join.slots]
        self._memories = [slot.memory for one in joins for slot in one.slots]
        self._dues = {one: due for link in self.codes[0].links for one, due in link.dues.items()}
        self._held: tuple[Entry, ...] = ()
        self._seen: Time = EARLIEST
        self._gone: Time = EARLIEST
        self._ends: list[int] = []  # of what has been let go
        self._decided: list[tuple[Due, int, tuple[Any, ...], list[Left]]] = []  # which rows have come by what leaves

    @property
    def knows_all(self) -> bool:
        """Whether it is known of all that waits for floors what that does."""
        return all(one in self._dues for one in self._floored)

    def write(self) -> None:
        """Write the functions of what is let go.

        Raises:
            TooDeep: Python takes one of them not; that is found out once.
        """
        if self._is_too_deep:
            raise TooDeep
        self._is_too_deep = True
        for code in self.codes:
            assert code.function is not None  # Invariant: it is made, or that fails
        self._is_too_deep = False

    def make(self, reactive: Reactive) -> Make | None:
        """Return what makes the function of an input; None: it does not come to the gate."""
        slots = [slot for slot in self.joins[0].slots if slot.reactive is reactive]
        return partial(DirectEventTime, self, self._gate, slots) if slots else None

    # -- a push, in the order in which it calls these ------------------------------------------------------------------

    def before(self) -> tuple[Any, ...]:
        """Begin; return what `take_back` needs."""
        deadlines = self._deadlines
        if len(deadlines.entered) > deadlines.most or any(len(one.items) > one.most for one in self._waiting):
            deadlines.clean()
        world, copy = self._world, self._gate.copies.get((), self._gate.stateless)
        self._log.clear()
        self._held, self._seen, self._gone = copy.held, copy.seen, copy.gone
        self._ends.clear()
        counts = world.number, world.steps, world.candidates, deadlines.number, world.events
        return *counts, world.clock, world.latest, world.fates.copy(), [memory.visited for memory in self._memories]

    def check(self, end: int) -> None:
        """Leave an event to the clauses that is late."""
        if end < self._gone or end < self._seen - self._lateness:
            reason = "the event is late"
            raise LeftToClauses(reason)

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
                self._let_leave(item, out)
            else:
                world.clock = max(world.clock, clock)
                return

    def hold(self, parts: Sequence[Entry], out: list[Event]) -> None:
        """Hold an event, which is some parts, and let go what may go by its time; then nothing can fail any more."""
        for part in parts:
            for count in self._counts[self._indexes[part.slot]]:
                self._world.fates[count] += 1
            if not self._held or self._turn(self._held[-1]) <= self._turn(part):
                self._held += (part,)
            else:
                place = bisect_right(self._held, self._turn(part), key=self._turn)
                self._held = (*self._held[:place], part, *self._held[place:])
        end: Any = parts[0].end
        self._seen = max(self._seen, end)
        asked = None
        if end not in self._gate.due.get((), ()):
            self._deadlines.number = asked = self._deadlines.number + 1
        floor = self._seen - self._lateness
        while self._held[0].end < floor:  # the event itself is not
            self._let_go(out)
        floor = max(floor, self._world.clock)
        while (item := self._first_due()) is not None and item[0] < floor:
            self._let_leave(item, out)
        self._world.journal.is_open = True
        if asked is not None:
            self._deadlines.enter((end, self._gate.place, asked, self._gate, ()))
        self.keep()

    def _turn(self, entry: Entry) -> tuple[Time, int]:
        return entry.end, self._indexes[entry.slot]

    def keep(self) -> None:
        """Keep what is held, and what it waits for: its deadlines are the ends of that. The journal is open."""
        gate, entered, held = self._gate, self._deadlines.entered, self._held
        for due, time, key, leaving in self._decided:
            assert due.deciding is not None  # Invariant: it has decided
            due.deciding.done(time, key, leaving)
        self._decided.clear()
        if gate.copies or held:
            copy = gate.copies[()] if gate.copies else gate.make(())
            copy.__dict__.update(held=held, seen=self._seen, gone=self._gone)
        due_at = gate.due.get((), {})
        for end in self._ends:
            due_at.pop(end, None)  # all of one end go in one push
        while entered and entered[0][3] is gate and entered[0][0] not in due_at:
            heapq.heappop(entered)
        if not due_at:
            gate.due.pop((), None)

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
        found = [(one.floored.items[0], one) for one in self._floored if one.floored.items]
        if not found:
            return None
        items = [(time, one.place, number, one, key) for (time, number, key), one in found]
        return items[0] if len(items) == 1 else min(items, key=lambda item: item[:3])

    def _let_leave(self, item: Deadline[Any], out: list[Event]) -> None:
        """Let leave what floors have passed."""
        time, _, _, one, key = item
        under, world, log, due = (*key, time) if key else time, self._world, self._log, self._dues[one]
        leaving = due.leaves(under)
        if one.gives_rows and (turn := turn_of(item)) != item[:3]:  # what asked first has left
            self._turn_to(item, (*turn, one, key))
            return
        if leaving and due.deciding is not None:
            due.deciding.decide(time, key, leaving, out)
            self._decided.append((due, time, key, leaving))
        self._turn_to(item, None)
        world.journal.is_open = True
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

    def _turn_to(self, item: Deadline[Any], later: Deadline[Any] | None) -> None:
        """Forget a deadline, or let a later one take its place."""
        self._world.journal.is_open = True
        self._deadlines.forget_floored(item)
        self._log.append((self._deadlines.enter, item))
        if later is not None:
            self._deadlines.enter(later)
            self._log.append((self._deadlines.forget_floored, later))
        self._world.journal.is_open = False

    def take_back(self, before: tuple[Any, ...]) -> None:
        """Undo what a push has done, which has failed; the journal is open."""
        for due in self._dues.values():
            if due.deciding is not None:
                due.deciding.undo()
        self._decided.clear()
        for function, *arguments in reversed(self._log):
            function(*arguments)
        world, deadlines = self._world, self._deadlines
        world.number, world.steps, world.candidates, deadlines.number, world.events, *rest = before
        world.clock, world.latest, world.fates[:], visited = rest
        for memory, n in zip(self._memories, visited, strict=True):
            memory.restore_order()
            memory.visited = n


class DirectEventTime(DirectText):
    """The function of an input whose events are held, and its text.

    Args:
        holding: The gate at work.
        gate: The same as a restriction.
        slots: Those that the event comes to.
        **link: How it is linked with others.
    """

    def __init__(self, holding: Holding, gate: Installed, slots: Sequence[Slot], **link: Unpack[Link]) -> None:
        self._holding = holding
        super().__init__(gate.join, slots[0], **link)
        within: Link = {**link, "part_of": self}
        self._parts = [self, *[DirectEventTime(holding, gate, [slot], **within) for slot in slots[1:]]]
        self._before = filters_before(gate, slots[0]) or ()
        self._scope["gate"] = holding

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function; those of what is let go are written as well, as that may fail."""
        self._holding.write()
        return super().function

    @property
    def links(self) -> list[Linked]:
        """This, and what follows what is let go."""
        return [self, *self._holding.codes[0].links[1:]]

    def shown(self) -> str:
        """Return the text, and those of what is let go."""
        return "\n".join([super().shown(), *[code.shown() for code in self._holding.codes]])

    def _write(self) -> None:
        with self._lines.under("def push(value, at):"):
            self._door()
            self._lines.add(_BEGIN)
            with self._lines.under("try:"):
                self._lines.add(_CHECK)
                self._find_out()
            self._lines.add(_FAIL)

    def _find_out(self) -> None:
        self._prepare()
        for one in self._parts:
            one._keys()
            one._filter(one._before)  # of one alone
            one._entry()
            self._lines.add(f"{one._part}.number = -1")
        self._let_come()
        self._lines.add(f"gate.hold(({''.join(f'{one._part}, ' for one in self._parts)}), out)")
        self._lines.add("steps.is_running = False")

    def _let_come(self) -> None:
        """Write that the clock moves, and the step of the event begins."""
        self._lines.add("" if self._lateness is None else "gate.pass_clock(passed, out)")
        self._lines.add("world.events, world.latest, world.steps = ordinal, latest, world.steps + 1")

    def _leave_if(self, condition: str, *also: str) -> None:
        with self._lines.under(f"if {condition}:"):
            self._let_come()
            self._lines.add("journal.is_open = True")
            for text in also:
                self._lines.add(text)
            self._lines.add("gate.keep()\nsteps.is_running = False\nreturn out")

    def _change(self) -> None:
        raise NotImplementedError  # what it holds and lets go is changed on the way
