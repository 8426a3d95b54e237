"""Snapshots: the state of an engine between pushes, as plain data.

Never a continuation: entries with identity, uses, keys and arrival number; the fields of every copy of a
restriction; table rows; the clock, deadlines and counters. `restore` builds the coroutines around it. The program's
fingerprint goes along.

This module is over 300 lines because what is saved stands beside how it is loaded.

Source: DESIGN 3, SEMANTICS 1.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.correlations.continuations import holders
from cartesius.data.codec import Written, text_of
from cartesius.errors import NotStorable
from cartesius.plan.nodes import Never, Until
from cartesius.results.outputs import Rows
from cartesius.results.relations import Relations
from cartesius.results.totals import Totals
from cartesius.results.version_outputs import VersionTotals, VersionView
from cartesius.storage.stored import check_storable, load_entry, load_fields, save_entry, save_fields
from cartesius.storage.version_memories import Kind, Version, VersionMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cartesius.batching.world import World
    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot
    from cartesius.storage.pauses import Door
    from cartesius.storage.stored import Stored

    SaveMemory: TypeAlias = "Callable[[Join, Slot, dict[int, int]], Any]"
    LoadMemory: TypeAlias = "Callable[[Join, Slot, Any], Iterable[tuple[int, Entry]]]"


def save_entries(join: Join, slot: Slot, places: dict[int, int]) -> list[Stored]:
    """Return the entries of a slot; ``places`` numbers those that have been met."""
    for entry in slot.memory.all():
        check_storable(entry, f"in the memory of slot {slot.name!r} ({slot.reactive.name}) of {join.name}")
    return [save_entry(entry, places) for entry in slot.memory.all()]


def written_entries(join: Join, slot: Slot, places: dict[int, int]) -> list[Written]:
    """Return the same as texts: of many entries nothing is made that the collector would follow."""
    try:
        return [Written(text_of(save_entry(entry, places))) for entry in slot.memory.all()]
    except NotStorable:
        save_entries(join, slot, places)  # says which one it is
        raise


def load_entries(join: Join, slot: Slot, stored: Any) -> list[tuple[int, Entry]]:
    """Return what `save_entries` has saved: places and entries."""
    return [(one.place, load_entry(one)) for one in stored]


def save_engine(engine: EngineCore, memory: SaveMemory = save_entries) -> dict[str, Any]:
    """Return the state of an engine, apart from its program's fingerprint.

    Args:
        engine: One whose objects are up to date.
        memory: Returns what is saved of a slot's memory: plain data, but no tuple.
    """
    joins = engine._program.joins
    for join in joins:
        _check_quiescent(join)
    homes: dict[int, tuple[int, int]] = {}
    return {
        "events": engine._world.events,
        "latest": engine._world.latest,
        "touched": engine._is_touched,
        "ended": sorted(engine._program.names[reactive] for reactive in engine._world.ended),
        "eaten": {name: prefix.eaten for name, prefix in engine._prefixes.of.items()},
        "kept": {
            name: list(engine._program.kept[table].rows().items())
            for name, table in sorted(engine.inputs.items())
            if table in engine._program.kept
        },
        "layout": engine._program.layout(),
        "world": save_world(engine._world, joins),
        "joins": [save_join(join, place, homes, memory) for place, join in enumerate(joins)],
    }


def _check_quiescent(join: Join) -> None:
    found = holders(join)
    if not found:
        return
    message = (
        f"snapshot: expected strands that wait for events but {' and '.join(found)} holds a continuation in"
        f" {join.name}; it cannot be saved: resume it before the snapshot, or write a handles clause that holds the"
        " event itself in a state"
    )
    raise NotStorable(message)


def load_engine(engine: EngineCore, state: Mapping[str, Any], memory: LoadMemory = load_entries) -> None:
    """Bring the state of an engine back; ``memory`` brings back what the one given to `save_engine` has saved."""
    joins = engine._program.joins
    engine._world.events, engine._world.latest, engine._is_touched = state["events"], state["latest"], state["touched"]
    engine._world.ended = frozenset(engine.inputs[name] for name in state["ended"])
    for name, eaten in state["eaten"].items():
        engine._prefixes.of[name].eaten = eaten
    for name, rows in state["kept"].items():
        engine._program.keeper(engine.inputs[name]).present.update(rows)
    loaded: set[int] = set()
    for join, saved in zip(joins, state["joins"], strict=True):
        load_join(join, saved, state["joins"], loaded, memory)
    load_world(engine._world, joins, state["world"])
    engine._world.finish()
    for join in joins:
        join.rebuild()


def save_join(
    join: Join, place: int, homes: dict[int, tuple[int, int]], memory: SaveMemory = save_entries
) -> dict[str, Any]:
    """Return the state of a correlation.

    Args:
        join: The correlation.
        place: Its place in the program.
        homes: Where each memory is saved (place of the correlation, index of the slot); those of this one are added.
        memory: See `save_engine`.
    """
    places: dict[int, int] = {}
    state: dict[str, Any] = {
        "memories": [
            memory(join, slot, places) if home == (place, slot.index) else home  # if it is shared, where it is saved
            for slot in join.slots
            for home in [homes.setdefault(id(slot.memory), (place, slot.index))]
        ],
        "deletions": [[save_entry(entry, places) for entry in _not_in_memory(slot)] for slot in join.slots],
        "ended": [slot.ended for slot in join.slots],
        "forgotten": [list(slot.forgotten.items()) for slot in join.slots],
        "fates": [slot.ledger.saved() for slot in join.slots],
        "begun": join.is_begun,
        "done": join.is_done,
        "doors": [_save_door(slot.door, places) for slot in join.slots],
        "copies": [_save_copies(installed, places) for installed in join.installed],
    }
    if isinstance(join.batch.output, Totals | VersionTotals):
        state["totals"] = list(join.batch.output.totals.items())
    if isinstance(join.batch.output, Totals):
        state["elements"] = [(key, list(elements.items())) for key, elements in join.batch.output.elements.items()]
    if join.batch.windows is not None:
        state["windows"] = [(window, list(rows)) for window, rows in join.batch.windows.rows.of.items()]
        state["lost"] = list(join.batch.windows.lost)
    if join.batch.freed is not None:
        state["freed"] = [(time, list(results)) for (time,), results in join.batch.freed.rows.of.items()]
    if isinstance(join.batch.output, Relations):
        state["relations"] = join.batch.output.save()
    if isinstance(join.batch.output, VersionView | VersionTotals):
        state["announced"] = list(join.batch.output.announced.times.items())
    if isinstance(join.batch.output, Rows):
        state["live"] = [(key, list(results.items())) for key, results in join.batch.output.live.items()]
        state["shown"] = list(join.batch.output.shown.items())
    return state


def _load_memory(
    join: Join,
    slot: Slot,
    stored: Any,
    states: Sequence[Mapping[str, Any]],
    known: dict[int, Entry],
    memory: LoadMemory,
) -> None:
    if isinstance(stored, tuple):  # it was shared, but is not here, where functions that were one are two
        place, index = stored
        stored, known = states[place]["memories"][index], {}
    for place, entry in memory(join, slot, stored):
        known[place] = entry
        slot.memory.store(entry)
    slot.memory.settle(slot.memory.all())


def load_join(
    join: Join,
    state: dict[str, Any],
    states: Sequence[Mapping[str, Any]],
    loaded: set[int],
    memory: LoadMemory = load_entries,
) -> None:
    """Bring the state of a correlation back.

    Args:
        join: The correlation.
        state: What was saved of it.
        states: What was saved of all.
        loaded: The memories that are back already, which may be shared; those of this one are added.
        memory: See `load_engine`.
    """
    known: dict[int, Entry] = {}
    saved = zip(*[state[name] for name in ("memories", "ended", "forgotten", "fates")], strict=True)
    for slot, (stored, ended, forgotten, fates) in zip(join.slots, saved, strict=True):
        if id(slot.memory) not in loaded:
            loaded.add(id(slot.memory))
            _load_memory(join, slot, stored, states, known, memory)
        slot.ended = ended
        slot.forgotten = dict(forgotten)
        slot.ledger.load(fates)
    _load_histories(join, state["deletions"])
    join.is_begun, join.is_done = state["begun"], state["done"]
    for installed, copies in zip(join.installed, state["copies"], strict=True):
        _load_copies(installed, copies, known)
    for slot, (paused, queue) in zip(join.slots, state["doors"], strict=True):
        slot.door.paused = {positions: set(keys) for positions, keys in paused}
        slot.door.queue = load_fields(queue, known)
    if isinstance(join.batch.output, Totals | VersionTotals):
        join.batch.output.totals = dict(state["totals"])
    if isinstance(join.batch.output, Totals):
        join.batch.output.elements = {key: dict(elements) for key, elements in state["elements"]}
    if join.batch.windows is not None:
        join.batch.windows.rows.of = {window: dict.fromkeys(rows) for window, rows in state["windows"]}
        join.batch.windows.lost = dict.fromkeys(state["lost"])
    if join.batch.freed is not None:
        join.batch.freed.rows.of = {(time,): dict.fromkeys(results) for time, results in state["freed"]}
    if isinstance(join.batch.output, Relations):
        join.batch.output.load(state["relations"])
    if isinstance(join.batch.output, VersionView | VersionTotals):
        join.batch.output.announced.load(dict(state["announced"]))
    if isinstance(join.batch.output, VersionTotals):
        join.batch.output.watch_all()
    if isinstance(join.batch.output, Rows):
        join.batch.output.live = {key: dict(results) for key, results in state["live"]}
        join.batch.output.shown = dict(state["shown"])


def _not_in_memory(slot: Slot) -> list[Version]:
    """Return the deletions, and what has been used up: those that came before it held until then, and still do."""
    memory = slot.memory
    histories = (
        memory.histories.values() if isinstance(memory, VersionMemory) and memory.kind is not Kind.POINTS else ()
    )
    found = [version for history in histories for version in history if not memory.holds(version)]
    return sorted(found, key=lambda version: version.number)


def _load_histories(join: Join, others: list[list[Stored]]) -> None:
    if join.batch.versions is None:
        return
    for slot, stored in zip(join.slots, others, strict=True):
        assert isinstance(slot.memory, VersionMemory)
        slot.memory.load_histories([load_entry(one) for one in stored])
    join.batch.versions.watch_all()


def _save_door(door: Door, places: dict[int, int]) -> tuple[list[Any], Any]:
    paused = sorted(((positions, sorted(keys, key=repr)) for positions, keys in door.paused.items()), key=repr)
    return paused, save_fields(door.queue, places)


def _save_copies(installed: Installed, places: dict[int, int]) -> list[Any]:
    names, copies = installed.restriction._states, list(installed.copies.items())
    if isinstance(installed.node, Until | Never):  # pushes make them late, so by the order of requests
        wanted = [key for *_, one, key in installed.join.world.deadlines.wanted() if one is installed]
        others = () if installed.lets_go_alone else installed.copies  # which wait for nothing, and remember nothing
        keys = [key for key in dict.fromkeys((*wanted, *others)) if key in installed.copies]
        copies = [(key, installed.copies[key]) for key in keys]
    return [(key, {name: save_fields(getattr(copy, name), places) for name in names}) for key, copy in copies]


def _load_copies(installed: Installed, copies: list[Any], known: dict[int, Entry]) -> None:
    installed.copies.clear()
    for key, fields in copies:
        copy = installed.make(key)
        for name, value in fields.items():
            setattr(copy, name, load_fields(value, known))


def save_world(world: World, joins: list[Join]) -> dict[str, Any]:
    """Return the shared state."""
    places = {one: (place, one.number) for place, join in enumerate(joins) for one in join.installed}
    wanted = world.deadlines.wanted()
    return {
        "clock": world.clock,
        "dated": bool(world.calendar.is_dated),  # of ints a generated function takes no note
        "number": world.number,
        "steps": world.steps,
        "candidates": world.candidates,
        "deadlines": [  # by rank: which correlation of a step was the first to ask says nothing
            (time, rank, *places[installed], key) for rank, (time, _, _, installed, key) in enumerate(wanted, 1)
        ],
        "deadline_number": len(wanted),
        "late": world.late,
    }


def load_world(world: World, joins: list[Join], state: dict[str, Any]) -> None:
    """Bring the shared state back."""
    world.clock = state["clock"]
    world.calendar.is_dated = state["dated"] or None
    world.number = state["number"]
    world.steps = state["steps"]
    world.candidates = state["candidates"]
    world.deadlines.heap.clear()
    for join in joins:
        for installed in join.installed:
            installed.due.clear()
            installed.floored.clear()
    for time, number, place, which, key in state["deadlines"]:
        world.deadlines.number = number - 1
        world.deadlines.add(time, joins[place].installed[which], key)
    world.deadlines.number = state["deadline_number"]
    world.late.extend(state["late"])
