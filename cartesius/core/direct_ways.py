"""Direct ways: of what the function of an input is made, with all that follows, and what of that calls clauses.

Source: DESIGN 4.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cartesius.direct.direct_absences import absence_of
from cartesius.direct.direct_changes import announcing_of, mapping_of, optional_slots, outer_of, rows_of
from cartesius.direct.direct_clauses import clauses_of, following
from cartesius.direct.direct_codes import product_of, self_join_of
from cartesius.direct.direct_held import held_of
from cartesius.direct.direct_texts import MORE, SEVERAL, After, DirectFork
from cartesius.direct.direct_trees import tree_of
from cartesius.direct.direct_windows import totals_of
from cartesius.results.outputs import Events
from cartesius.results.totals import Totals
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cartesius.correlations.join_shape import Join
    from cartesius.direct.direct_texts import Make
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.programs.programs import Program
    from cartesius.storage.shared_memories import SharedMemory

Cone: TypeAlias = "Sequence[tuple[Join, Sequence[tuple[int, Reactive]]]]"
"""The correlations that an event comes to, or its results, in order: the slots of each, and what is bound to them."""


class Way(NamedTuple):
    """What makes the function of an input, and whether that calls clauses: then it is made after some pushes."""

    make: Make
    calls: bool


def way_of(program: Program, reactive: Reactive, often: Collection[str]) -> Way | str:
    """Return what makes the function of an input, with all that follows, or why it needs all of the handlers.

    A correlation that has no function of its own calls its clauses within that of the others, if there are some; so
    does one for which pushes were left to the clauses ``often``, by reason.
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
    found |= {join: why for join, _ in cone if (why := f"{SEVERAL}{join.name}") in often}
    _share_alike(found)
    _follow_what_is_taken_back(cone, found)
    kept = program.kept.get(reactive)
    is_called = any(isinstance(make, str) for make in found.values())
    has_more = any(f"{MORE}{join.name}" in often for join, _ in cone)
    if has_more or (kept is not None and is_called) or any(_waits_for_gates(join) for join, _ in cone):
        why = "others call clauses, and more follows from that" if is_called else "others wait for what gates hold"
        found |= {join: why for join, make in found.items() if not isinstance(make, str)}
    finishes = all(isinstance(make, str) for make in found.values())
    leading, *_ = found.values()
    if isinstance(leading, str) and len(program.bound[reactive]) == len(cone) == 1:
        through = clauses_of(program, *program.bound[reactive][0], why=leading)
        return through if isinstance(through, str) else Way(partial(through, kept=kept), calls=True)
    comes_to = {join for join, _ in program.bound[reactive]}
    is_forked = len(comes_to) > 1 or any(isinstance(make, str) for make in found.values())
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
    slots, source = [join.slots[index] for index, _ in coming], coming[0][1]
    shared = {slot.shared for slot in slots if slot.shared is not None}
    is_followed = any(made in program.bound for made in join.reactives)
    if len(slots) == 1:
        make = _of_slot(program, join, slots[0], is_followed=is_followed)
    elif source.table or any(other is not source for _, other in coming) or not shared.isdisjoint(stored):
        return f"{reactive.name} comes to several slots of {join.name}"
    else:
        make = self_join_of(program, join, slots, is_followed=is_followed)
    if isinstance(make, str):
        return make
    make = make if shared.isdisjoint(stored) else partial(make, reads=True)
    stored += shared
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
