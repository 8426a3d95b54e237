"""Direct clauses: a push into a stack of which something runs as written, as one function that calls those clauses.

What lies around the clauses is text: the door, the keys, the entry, what it is combined with, the body and the events.
The clauses run under the handlers of the correlation, as ever, and change the state as they go; so if something fails
the journal undoes the call, and it is done again as written, which fails as well, and says where. What bands let leave
before the event tells no clause, and goes without them.

Where a push comes to others as well, what calls clauses follows within the function of all (`following`), as far as
that can be undone until each has found out what follows from it.

A batch that is more than one event which came and some which left (a gate has let several go, somebody chooses, an
event has limited uses) ends as every other does.

This module is over 300 lines because what a push computes, changes and undoes is one text.

Invariant: what it computes is what the clauses, the enumeration and the body would have computed.

Source: DESIGN 4; SEMANTICS 1.12.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Self

import attrs

from cartesius.correlations.runners import InPlace
from cartesius.data.entries import FRESH
from cartesius.data.generated import TooDeep, commented
from cartesius.direct.direct_loops import DirectLoops
from cartesius.direct.direct_places import DirectPlaces
from cartesius.direct.direct_shapes import Shape, sets_aside, standing
from cartesius.direct.direct_texts import MORE, DirectText
from cartesius.direct.leaving import Due, found_by
from cartesius.effects.resumptions import running
from cartesius.language.families import completes, push, select
from cartesius.plan import facts
from cartesius.plan.nodes import Until
from cartesius.programs.give_ups import LeftToClauses
from cartesius.results.outputs import Events
from cartesius.rows.deliveries import concerning, entry_of
from cartesius.rows.enumeration import Product
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Time
    from cartesius.direct.direct_texts import Linked, Make
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program


_HANDLERS: Final = """
    here = running().__dict__
    stack, copy, performing = here.get("stack"), here.get("copy"), here.get("performing")
    above = outermost.outer
"""
_PUT_BACK: Final = """
    here["stack"], here["copy"], here["performing"] = stack, copy, performing
    outermost.outer = above
"""


@attrs.frozen(eq=False)
class ClauseShape:
    """A push into a slot that clauses see."""

    join: Join
    slot: Slot
    is_plain: bool  # whether what comes is an event of a stream that has its keys, and is in no windows
    combined: Shape | None  # how it is combined, then; None: the batch ends as every other does
    why: str  # clauses are called


def clauses_of(program: Program, join: Join, index: int, *, why: str) -> Make | str:
    """Return what makes the function of the one slot that a push comes to, which calls clauses; or ``why`` it does."""
    slot = join.slots[index]
    if slot.notes_door or standing(program, join, has_absent=True):
        return why
    return partial(_code_of, join, slot, why)


def _code_of(join: Join, slot: Slot, why: str, **link: Any) -> DirectClauseCode:
    return DirectClauseCode(_shape_of(join, slot, why), **link)


def _shape_of(join: Join, slot: Slot, why: str) -> ClauseShape:
    bindings = join.bindings
    is_plain = not (slot.is_table or slot.has_windows or join.batch.versions or join.pattern.absent.names)
    is_plain = is_plain and all(needed.space is not None for needed in bindings.needed[slot.index])
    combined = _combined(join, slot) if is_plain else None
    return ClauseShape(join, slot, is_plain, combined, why)


def _combined(join: Join, slot: Slot) -> Shape | None:
    product, batch = join.batch.product, join.batch
    if not isinstance(batch.output, Events) or batch.partial is not None or type(product) is not Product:
        return None
    if join.may_complete_early or batch.body.is_relative or batch.is_pure or batch.tells_steps:
        return None
    if any(one.is_table or one.has_windows for one in join.slots):
        return None
    if any(facts.consumes(one) or any(family is select for _, family, _, _ in one.marks) for one in join.installed):
        return None
    if sets_aside(join):
        return None
    steps, walk = product.plans[slot.index]
    if walk or any(step.earlier or step.later for step in steps):
        return None
    return Shape(join, slot, tuple(steps), {}, {}, frozenset(), (), None, (), (), None)


class DirectClauseCode(DirectText):
    """The function of one slot, and its text, which are made when somebody asks for them."""

    def __init__(self, shape: ClauseShape, *, as_written: AsWritten | None = None, **link: Any) -> None:
        join, slot = shape.join, shape.slot
        super().__init__(join, slot, **link)
        self._link = link
        self._as_written = as_written
        self.why = shape.why
        self._shape = shape
        come_to, self._is_counted = join.way_in(slot) if shape.is_plain else (join.come, True)
        self._places = DirectPlaces(slot, join.bindings)
        self._is_stored = come_to == join.batch.store and self._places.is_of_keys and not join.batch.is_pure
        assert isinstance(join.runner, InPlace)  # Invariant: the shape has seen that
        outermost, outside, inside = join.runner.evidence.frames
        frame, _, pushed = inside.find(slot.operations[push])
        self._is_seen = frame is not outside  # by a restriction of memory
        self._is_simple = [True]  # until an event with limited uses is found
        self._come_to, self._frames, self._pushed = come_to, (outermost, outside, inside), (pushed, frame.outer)

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What lets entries leave that the clock has passed."""
        return _dues_of(self.join)

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function."""
        self._scope |= self._called()
        try:
            return super().function
        except TooDeep:
            shallow, mine = attrs.evolve(self._shape, combined=None), self._as_written
            other = DirectClauseCode(shallow, as_written=mine, **self._link)
            function, self._lines, self._constants = other.function, other._lines, other._constants
            return function

    def _called(self) -> dict[str, Any]:
        shape, join, slot = self._shape, self.join, self._slot
        (outermost, outside, inside), (pushed, pushed_under) = self._frames, self._pushed
        bound: dict[str, Any] = {"running": running, "outermost": outermost, "outside": outside, "inside": inside}
        bound |= {"join": join, "batch": join.batch, "admits": join.batch.body.admits, "lets_leave": join.batch.leaving}
        bound |= {"come_to": self._come_to, "slot": slot}
        bound |= {"completes": join.bindings.operations[completes], "arrived": frozenset((slot.index,))}
        if self._as_written is not None:
            bound |= {"as_written": self._as_written.function, "checked": self._as_written.checked}
        bound |= {"LeftToClauses": LeftToClauses}
        bound |= {"is_simple": self._is_simple, "unlimited": self._unlimited}
        bound |= {"pushed": pushed, "pushed_under": pushed_under, "push_of_slot": slot.operations[push]}
        bound |= {"entry_of": entry_of, "kept": self._kept}
        if self._is_stored:
            bound |= {"go": self._places.taking(), "FRESH": FRESH, "partial": partial}
        bound |= {f"released{one.number}": one.released for one in join.installed}
        if shape.is_plain:
            for other in join.slots:
                marked = zip(("fresh", "gone", "taken"), join.batch.marked(other), strict=True)
                bound |= {f"{name}{other.index}": entries for name, entries in marked}
        return bound

    def shown(self) -> str:
        """Return the text, and why it calls clauses."""
        return f"# it calls clauses, as {commented(self.why)}\n{super().shown()}"

    def _unlimited(self, part: Entry) -> bool:
        """Return True; raise `LeftToClauses`, and let every other batch end by itself, if uses are limited."""
        if part.more is not None and "uses" in part.more:
            self._is_simple.clear()
            raise LeftToClauses("an event has limited uses")
        return True

    @property
    def _calls(self) -> bool:
        return not self._follows

    @property
    def _finishes(self) -> bool:
        return not self._follows

    def _write_following(self) -> None:
        add = self._lines.add
        with self._lines.under("def follow(results, number, step, passed):"):
            add("""
                event = results[0]
                if len(results) > 1 or event.weight < 0 or event.span is not None:
                    yield from as_written(results, number, step, passed)
                    return
                value, start, end, identity = event.value, event.start, event.end, event.identity
                world.number, out = number, []
            """)
            add(_HANDLERS)
            self._prepare()
            with self._lines.under("try:"):
                self._find_out()
            with self._lines.under("except BaseException:"):
                add(_PUT_BACK)
                add("raise")
            add("""
                given = checked(out)
                yield given
                world.number = given[1]
            """)

    def _door(self) -> None:
        super()._door()
        self._lines.add(_HANDLERS)

    def _prepare(self) -> None:
        if self._shape.is_plain:
            super()._prepare()

    def _put_back(self) -> None:
        self._lines.add(_PUT_BACK)

    def _find_out(self) -> None:
        """Write what the clauses find out, who change the state as they do."""
        if self._shape.is_plain:
            self._keys()
            self._entry()
            self._lines.add(f"{self._part}.number = -1")
        elif self._follows:
            self._lines.add(f"{self._part} = entry_of(slot, event)")
        else:
            self._lines.add("value = checked_value(reactive, value)" if self._slot.reactive.table else "")
            change = "kept.change(event)" if self._kept is not None else "event"
            self._lines.add(f"""
                event = Event(value, start, end, 1, source, (source, ordinal))
                {self._part} = entry_of(slot, {change})
            """)
        self._call()

    def _change(self) -> None:
        self._lines.add("")  # clauses have

    def _call(self) -> None:
        """Write what the clauses do, and what comes of that."""
        self._lines.add("" if self._is_counted else self._count(Fate.DELIVERED))
        self._lines.add("""
            outermost.outer = stack
            here["stack"], here["copy"], here["performing"] = inside, None, None
            batch.cause = (start, end)
        """)
        self._let_in()
        self._lines.add('here["stack"] = outside')
        for one in self.join.installed:
            self._lines.add(f"released{one.number}.clear()" if one.marks else "")
        if self._shape.combined is None:
            self._commit()
        else:
            self._end(self._shape.combined)
        self._lines.add(_PUT_BACK)

    def _let_in(self) -> None:
        """Write what lets the event come in: to the gates, or else into memory, and to who restricts that."""
        own = self._own
        if not self._is_stored:
            self._lines.add(f"come_to(slot, {self._part})")
            return
        self._places.link(self._lines, (), self._constants)
        self._lines.add(f"""
            part{own}.state = FRESH
            journal.is_open = True
            world.number = part{own}.number = stored = world.number + 1
        """)
        self._places.put(self._lines, {})
        self._lines.add(f"""
            journal.append(partial(go, part{own}))
            journal.is_open = False
            fresh{own}.append(part{own})
        """)
        if self._is_seen:
            self._lines.add(f"""
                here["stack"], here["performing"] = pushed_under, push_of_slot
                pushed(slot, part{own})
                here["performing"] = None
            """)

    def _end(self, shape: Shape) -> None:
        """Write the end of a batch."""
        own = self._own
        empty = [f"taken{own}", "batch.is_reconsidered", "batch.output.events"]
        empty += [f"{name}{other}" for other in self._others for name in ("fresh", "gone", "taken")]
        with self._lines.under(f"if is_simple and len(fresh{own}) == 1 and not ({' or '.join(empty)}):"):
            self._combine(shape)
        with self._lines.under(f"elif fresh{own} or gone{own} or lets_leave or {' or '.join(empty)}:"):
            self._commit()

    def _commit(self) -> None:
        """Write that the batch ends as every other does; what completes a correlation is left to the clauses."""
        self._lines.add("batch.commit()")
        if self.join.may_complete_early:
            self._lines.add('if completes(arrived):\n    raise LeftToClauses("it completes")')
        self._lines.add("out += join.settle()")

    def _combine(self, shape: Shape) -> None:
        own = self._own
        spaces = self.join.bindings.spaces
        self._lines.add(f"(come,) = fresh{own}")
        with self._lines.under(f"if come is not part{own}:"):  # a gate has made another event of it
            self._lines.add(f"part{own}, start, end = come, come.start, come.end")
            for space, by in enumerate(spaces):
                self._lines.add(f"key{space} = come.keys[{space}]" if own in by else "")
        self._lines.add(f"if part{own}.more is not None:\n    unlimited(part{own})")
        self._places.link(self._lines, shape.probed, self._constants)
        self._lines.add("tuples = 0")
        self._begin()
        near = [f"(part{step.slot}.more is None or unlimited(part{step.slot}))" for step in shape.steps]
        if self.join.batch.body.is_filtered:
            row = ", ".join(f"part{slot.index}" for slot in self.join.slots)
            near.append(f"admits([{row}])")
        DirectLoops(shape, self._lines, self._constants, self._texts).write(" and ".join(near))
        self._lines.add("world.candidates += tuples")
        self._count_visits()
        self._lines.add(f"""
            part{own}.state = LIVE
            fresh{own}.clear()
        """)
        with self._lines.under(f"if gone{own}:"):
            self._lines.add(f"go_out = memory{own}.remove")
            if self._is_stored and not self._follows:
                self._lines.add("""
                    if not (lets_leave or deadlines.soon or deadlines.floored or join.has_played):
                        go_out, journal.is_open = go, True  # nothing follows that may fail
                """)
            self._lines.add(f"""
                for entry in gone{own}:
                    go_out(entry)
                gone{own}.clear()
            """)
        self._lines.add("if lets_leave:\n    batch.let_leave()")


def following(
    program: Program, join: Join, taking: Sequence[tuple[int, int]], *, why: str, goes_on: bool, finishes: bool
) -> Callable[..., Linked] | str:
    """Return what makes the function of a correlation that calls clauses, in a push with others; or ``why`` it does.

    Args:
        program: Of which it is one.
        join: The correlation.
        taking: The slots that something comes to, and from which of the sources that it is given.
        why: It calls clauses.
        goes_on: Whether what comes of it goes on to functions, which know nothing that is taken back.
        finishes: Whether further steps may follow, as all others of the push call clauses, too.
    """
    if standing(program, join, is_followed=True, has_absent=True, may_share=True):
        return why
    as_written = AsWritten(join, taking, why, goes_on=goes_on, finishes=finishes)
    slot = join.slots[taking[0][0]]
    if len(taking) > 1 or slot.notes_door or any(one.shared is not None for one in join.slots):
        return as_written.with_steps
    return partial(_code_of, join, slot, why, as_written=as_written)


class AsWritten:
    """A correlation that runs as written after others, in one push: it changes the state, but so that it can be undone.

    So whoever it follows begins a step that the journal undoes, as long as something may still fail.

    Args:
        join: The correlation.
        taking: The slots that something comes to, and from which of the sources that it is given.
        why: It has no function of its own.
        goes_on: Whether what comes of it goes on to functions, which know nothing that is taken back.
        finishes: Whether further steps may follow, as all others of the push call clauses, too.
    """

    def __init__(
        self, join: Join, taking: Sequence[tuple[int, int]], why: str, *, goes_on: bool, finishes: bool
    ) -> None:
        self.join, self.why, self._goes_on, self._finishes = join, why, goes_on, finishes
        self._taking = [(join.slots[index], source) for index, source in taking]
        self._is_of_one = len({source for _, source in taking}) == 1
        self._world = join.world

    def with_steps(self, **_: Any) -> Self:
        """Return this: it needs to know nothing of the engine, nor of what it follows."""
        return self

    @cached_property
    def dues(self) -> Mapping[Installed, Due]:
        """What lets entries leave that the clock has passed."""
        return _dues_of(self.join)

    def shown(self) -> str:
        """Return what stands in the place of a text."""
        return f"# {commented(self.join.name)} runs as written, as {commented(self.why)}\n"

    def function(self, results: Any, number: int, step: int, _passed: Time) -> Iterator[tuple[list[Event], int]]:
        """Give what comes of the results, of each source if there are several, and the last number of an entry."""
        join, world = self.join, self._world
        sources = [results] if self._is_of_one else results
        world.number = number
        events = {slot.reactive: sources[source] for slot, source in self._taking}
        coming = [(slot, concerning(slot, sources[source])) for slot, source in self._taking]
        batches = join.batches_of(coming, events, step)
        given = self.checked(join.deliver(batches) if batches else [])
        yield given
        _, world.number = given
        for slot, _ in self._taking:
            if slot.shared is not None:
                slot.shared.settle()

    def checked(self, out: list[Event]) -> tuple[list[Event], int]:
        """Return what has come out, and the number of the last entry.

        Raises:
            LeftToClauses: More follows from it than those that come after it know of.
        """
        world, join = self._world, self.join
        if join.is_done:
            raise LeftToClauses("it completes")
        asks = not self._finishes and (world.deadlines.soon or join.has_played)
        if asks or (self._goes_on and any(event.weight < 0 or event.span is not None for event in out)):
            raise LeftToClauses(MORE + join.name)
        return out, world.number


def _dues_of(join: Join) -> Mapping[Installed, Due]:
    """Return what lets entries leave that the clock has passed, without clauses, unless somebody is told of it."""
    batch = join.batch
    told = (batch.partial, batch.absences, batch.versions, batch.windows, batch.freed)
    if batch.tells_steps or any(one is not None for one in told) or any(one.is_table for one in join.slots):
        return {}
    bands = [one for one in join.installed if isinstance(one.node, Until) and one.is_settled]
    dues = {slot: {one.dues[slot][-1] for one in bands if slot in one.named} for slot in join.slots}
    places = {slot.index: DirectPlaces(slot, join.bindings, dues[slot]) for slot in join.slots}
    return {one: Due(found_by(one, places)) for one in bands}
