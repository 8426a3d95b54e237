"""Direct pushes: for each input, where that is possible, one function that does all that a push does.

They are used as long as nothing stands in the way: nobody is told what is emitted, no input has ended, what was there
is eaten, and nothing must be recorded or checked besides. The engine asks after each call what is ready, and forgets it
before it does anything else; so a call made in the middle of another finds none.

Invariant: what a function does is what a push through all handlers would do.

Source: DESIGN 4.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import attrs

from cartesius.data.events import EARLIEST
from cartesius.data.generated import TooDeep
from cartesius.direct.direct_absences import absence_of
from cartesius.direct.direct_changes import announcing_of, mapping_of, optional_slots, outer_of, rows_of
from cartesius.direct.direct_clauses import clauses_of, following
from cartesius.direct.direct_codes import product_of
from cartesius.direct.direct_held import held_of
from cartesius.direct.direct_texts import MORE, SEVERAL, After, DirectFork
from cartesius.direct.direct_trees import tree_of
from cartesius.direct.direct_windows import totals_of
from cartesius.direct.leaving import Leaving
from cartesius.results.outputs import Events
from cartesius.results.totals import Totals
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event, Time
    from cartesius.direct.direct_texts import DirectText, Make
    from cartesius.direct.leaving import Due
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps
    from cartesius.storage.shared_memories import SharedMemory

PUSHES_BEFORE: int = 100
"""After how many pushes a function is made that calls clauses: by then it has cost as much as they had to gain."""
LEFT_BEFORE: int = 8
"""After how many pushes that were left to the clauses for what one correlation gives, or gets, it calls them."""
Cone: TypeAlias = "Sequence[tuple[Join, Sequence[tuple[int, Reactive]]]]"
"""The correlations that an event comes to, or its results, in order: the slots of each, and what is bound to them."""
Direct: TypeAlias = "dict[Reactive, Callable[[Any, Any], list[Event] | None]]"


class Way(NamedTuple):
    """What makes the function of an input, and whether that calls clauses: then it is made after some pushes."""

    make: Make
    calls: bool


class DirectPushes:
    """The functions of one program; each is made when its input is pushed into for the first time."""

    def __init__(self, program: Program, steps: Steps, objection: str, lateness: int | None) -> None:
        self._program = program
        self._steps = steps
        self._lateness = lateness  # that of the engine
        self._objection = objection  # why no input of the engine can have one
        self._leaving = Leaving(steps.world, self._due_of)
        self._functions: Direct = {}
        self._ways: dict[Reactive, Way | str] = {}
        self._known: dict[Reactive, DirectText | str] = {}
        self._left: Counter[str] = Counter()  # pushes that were left for what one correlation gives or gets, by reason
        self._pushed: Counter[Reactive] = Counter()  # into inputs whose function calls clauses, before there is one

    def of(self, reactive: Reactive) -> DirectText | str:
        """Return the code of an input, or why there is none."""
        if reactive not in self._known:
            way = self._way_of(reactive)
            self._known[reactive] = way if isinstance(way, str) else self._made(way)
        return self._known[reactive]

    def _way_of(self, reactive: Reactive) -> Way | str:
        if reactive not in self._ways:
            is_output = f"{reactive.name} is an output itself" if reactive in self._program.outputs else ""
            way = self._objection or is_output or _of_input(self._program, reactive, self._left)
            self._ways[reactive] = way
        return self._ways[reactive]

    def _made(self, way: Way) -> DirectText | str:
        code = way.make(self._steps, self._lateness).meet_by(self._leaving)
        return code if way.calls else self._written(code)

    def _written(self, code: DirectText) -> DirectText | str:
        try:
            assert code.function is not None  # Invariant: it is made, or that fails
        except (TooDeep, RecursionError):  # compiled, or written
            return "its text would be nested too deep for Python"
        return code

    def _due_of(self, installed: Installed) -> Due | None:
        """Return what the deadlines of a restriction do, as the function of some input of its correlation knows it."""
        made = {*installed.join.reactives}
        codes = (self.of(reactive) for reactive in self._program.inputs.values() if self._leads_to(reactive, made))
        links = (link for code in codes if not isinstance(code, str) for link in code.links)
        dues = (link.dues for link in links if link.join is installed.join)
        due = next((found[installed] for found in dues if installed in found), None)
        goes_on = any(one in self._program.bound for one in installed.join.reactives)
        return attrs.evolve(due, goes_on=goes_on) if due is not None else None

    def learn(self, reactive: Reactive, left_by: str = "") -> None:
        """Make the function of an input, if there can be one; or another, if it leaves too much to the clauses."""
        if left_by.startswith((SEVERAL, MORE)):
            self._left[left_by] += 1
            if self._left[left_by] >= LEFT_BEFORE:
                for known in (self._ways, self._known, self._functions):
                    known.pop(reactive, None)
        way = self._way_of(reactive)
        if isinstance(way, Way) and way.calls:
            self._pushed[reactive] += 1
            if self._pushed[reactive] <= PUSHES_BEFORE:
                return
            made = self._known.pop(reactive, None) or self._made(way)  # who is interrupted writes it anew
            self._known[reactive] = made if isinstance(made, str) else self._written(made)
        code = self.of(reactive)
        if not isinstance(code, str):
            self._functions[reactive] = code.function

    def why_not(self, reactive: Reactive) -> str:
        """Say why an event is not done by the function of its input, if that has not said so itself."""
        way = self._way_of(reactive)
        if isinstance(way, str):
            return way
        if way.calls and reactive not in self._functions:
            return f"of those that call clauses the first {PUSHES_BEFORE} are done as written"
        return "it was the first, somebody is told of results, or an input has ended"

    def ready(self, is_watched: Callable[[], bool], latest: Time) -> Direct:
        """Return the functions, if nothing stands in the way of using them; none knows what is over."""
        if not self._functions or latest == EARLIEST or is_watched():
            return {}
        over = {reactive for join in self._program.joins if join.is_done for reactive in join.reactives}
        return {one: function for one, function in self._functions.items() if not over or not self._leads_to(one, over)}

    def _leads_to(self, reactive: Reactive, wanted: set[Reactive]) -> bool:
        """Whether what comes to an input comes to some correlation, by whatever way."""
        return any(
            made in wanted or self._leads_to(made, wanted)
            for join, _ in self._program.bound.get(reactive, ())
            for made in join.reactives
        )


def _of_input(program: Program, reactive: Reactive, left: Mapping[str, int]) -> Way | str:
    """Return what makes the function of an input, with all that follows, or why it needs all of the handlers.

    A correlation that has no function of its own calls its clauses within that of the others, if there are some; so
    does one for which several pushes were ``left`` to the clauses.
    """
    cone = _cone(program, reactive)
    if not cone:
        return f"{reactive.name} is bound to no slot"
    stored: list[SharedMemory] = []
    found = {join: _of_join(program, reactive, join, coming, stored) for join, coming in cone}
    if program.may_hold_strands:
        reasons = [make for make in found.values() if isinstance(make, str)]
        gated = ["what leaves, or is decided, waits for what gates hold"] if cone[0][0].world.deadlines.floored else []
        if reasons or gated:
            return (reasons or gated)[0]
    found |= {join: why for join, _ in cone if left.get(why := f"{SEVERAL}{join.name}", 0) >= LEFT_BEFORE}
    _share_alike(found)
    _follow_what_is_taken_back(cone, found)
    kept = program.kept.get(reactive)
    is_called = any(isinstance(make, str) for make in found.values())
    has_more = any(left.get(f"{MORE}{join.name}", 0) >= LEFT_BEFORE for join, _ in cone)
    if has_more or (kept is not None and is_called) or any(_waits_for_gates(join) for join, _ in cone):
        why = "others call clauses, and more follows from that" if is_called else "others wait for what gates hold"
        found |= {join: why for join, make in found.items() if not isinstance(make, str)}
    finishes = all(isinstance(make, str) for make in found.values())
    leading, *_ = found.values()
    if isinstance(leading, str) and len(program.bound[reactive]) == len(cone) == 1:
        through = clauses_of(program, *program.bound[reactive][0], why=leading)
        return through if isinstance(through, str) else Way(through, calls=True)
    is_forked = len(program.bound[reactive]) > 1 or any(isinstance(make, str) for make in found.values())
    places = {reactive: 0} | {made: place for place, (join, _) in enumerate(cone, is_forked) for made in join.reactives}
    makes: list[After] = []
    for join, coming in cone:
        make, sources = found[join], tuple(dict.fromkeys([places[source] for _, source in coming]))
        if not isinstance(make, str):
            makes.append(After(sources, make))
            continue
        taking = [(index, sources.index(places[one])) for index, one in coming]
        goes_on = any(
            source in join.reactives and not isinstance(found[of], str) for of, some in cone for _, source in some
        )
        as_written = following(program, join, taking, why=make, goes_on=goes_on, finishes=finishes)
        if isinstance(as_written, str):
            return as_written
        makes.append(After(sources, as_written))
    told = [places[output] for output in program.outputs if output in places]
    if is_forked:
        first, coming = cone[0]
        index = next(index for index, source in coming if source is reactive)
        fork = partial(DirectFork, first, first.slots[index], kept=kept, after=makes, told=told)
        return Way(fork, calls=any(isinstance(make, str) for make in found.values()))
    assert not isinstance(leading, str)  # Invariant: else it is forked
    return Way(partial(leading, after=makes[1:], told=told) if len(makes) > 1 else leading, calls=False)


def _cone(program: Program, reactive: Reactive) -> Cone:
    """Return the slots that an event comes to, or its results, by correlation, in order, with what is bound to each."""
    found: dict[Join, list[tuple[int, Reactive]]] = {}
    coming = [reactive]
    while coming:
        source = coming.pop()
        for join, index in program.bound.get(source, ()):
            if join not in found:
                coming += join.reactives
            found.setdefault(join, []).append((index, source))
    return [(join, sorted(found[join], key=itemgetter(0))) for join in program.joins if join in found]


def _of_join(
    program: Program,
    reactive: Reactive,
    join: Join,
    coming: Sequence[tuple[int, Reactive]],
    stored: list[SharedMemory],
) -> Make | str:
    """Return it for one correlation; what several share is stored by the first of them, which is noted."""
    if _waits_for_gates(join):
        return "what leaves, or is decided, waits for what gates hold"
    if len(coming) > 1:
        return f"{reactive.name} comes to several slots of {join.name}"
    ((index, source),) = coming
    slot, is_followed = join.slots[index], any(made in program.bound for made in join.reactives)
    make = _of_slot(program, join, slot, is_followed=is_followed)
    if isinstance(make, str):
        return make
    if slot.shared is not None:
        make = partial(make, reads=True) if slot.shared in stored else make
        stored.append(slot.shared)
    return make if source is reactive else partial(make, of_results=True)


def _waits_for_gates(join: Join) -> bool:
    return any(one in join.world.deadlines.floored for one in join.installed)


def _follow_what_is_taken_back(cone: Cone, found: dict[Join, Make | str]) -> None:
    """Let those call clauses that are made of results which may be taken back: functions know none."""
    taken_back: set[Reactive] = set()
    for join, coming in cone:
        is_behind = any(source in taken_back for _, source in coming)
        if is_behind and not isinstance(found[join], str):
            found[join] = "what it is made of may be taken back"
        if (is_behind or join.batch.is_pure) and isinstance(join.batch.output, Events):
            taken_back.update(join.reactives)


def _share_alike(found: dict[Join, Make | str]) -> None:
    """Let all that share a memory call clauses, if one of them does."""
    calling = [join for join, make in found.items() if isinstance(make, str)]
    shared: set[SharedMemory] = set()
    while calling:
        shared.update(slot.shared for join in calling for slot in join.slots if slot.shared is not None)
        calling = [
            join
            for join, make in found.items()
            if not isinstance(make, str) and any(slot.shared in shared for slot in join.slots)
        ]
        found.update(dict.fromkeys(calling, "it shares a memory with what runs as written"))


def _of_slot(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    make = _of_one(program, join, slot, is_followed=is_followed)
    return make or (_of_table if slot.reactive.table else _of_stream)(program, join, slot, is_followed=is_followed)


def _of_one(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str | None:
    """Return it for a slot of a stream whose windows wait, or are totalled, or where something must not come."""
    if slot.reactive.table:
        return None
    held = held_of(program, join, slot.index)
    if not isinstance(held, str):
        return held
    if isinstance(join.batch.output, Totals):
        return totals_of(program, join, is_followed=is_followed)
    return absence_of(program, join, slot.index, is_followed=is_followed) if join.pattern.absent.names else None


def _of_stream(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    if isinstance(join.batch.output, View) and len(join.slots) == 1:
        return rows_of(program, join, slot, is_followed=is_followed)
    return product_of(program, join, slot, is_followed=is_followed)


def _of_table(program: Program, join: Join, slot: Slot, *, is_followed: bool) -> Make | str:
    if len(join.slots) == 1:
        is_told = isinstance(join.batch.output, Events)
        return (announcing_of if is_told else mapping_of)(program, join, is_followed=is_followed)
    is_outer = len(optional_slots(join)) == len(join.slots)
    return (outer_of if is_outer else tree_of)(program, join, slot, is_followed=is_followed)
