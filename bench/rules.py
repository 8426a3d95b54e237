"""Rule packs as they grow: what an event costs beside a pack of one rule, and beside judging everything anew.

300 ships, each at one of ten berths, under a pack of 40 rules; an event changes the five fields of one ship that five
of the rules read. The same trace goes through a pack of one rule with the same sources, and through the 40 rules with a
judge that remembers nothing: a judge as it was before it did. The thesis's programs A to D follow, the judge that
remembers beside the one that does not. Repetitions alternate, so that a busy machine slows all of them; times are
of the processor.
"""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any
from unittest import mock

import attrs

from cartesius import Engine
from dsl import RulePack, Source, require, when
from dsl.remembering import Memory
from dsl.units import centimetres, degrees, knots, metres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BOUND = 3.0
"""How many times as much as with one rule an event may cost with forty."""
RULES, SHIPS, BERTHS, TOUCHED = 40, 300, 10, 5
FIELDS = [f"f{number}" for number in range(RULES)]

ship = Source("ship", key="id", id=int, berth=int, fields=dict.fromkeys(FIELDS, metres))
berth = Source("berth", key="id", id=int, depth=metres)
vessel = Source("vessel", key="mmsi", mmsi=int, berth=int, direction=str, length=metres, beam=metres, draught=metres)
tide = Source("tide", key="berth", berth=int, height=metres, low_water=metres)
stream = Source("stream", key="berth", berth=int, rate=knots, direction=degrees)
wind = Source("wind", key=None, velocity=knots, direction=degrees)


@attrs.frozen
class Case:
    """A pack, the rows to begin with, and the events to measure, as (source, row)."""

    pack: RulePack
    rows: list[tuple[str, dict[str, Any]]]
    events: list[tuple[str, dict[str, Any]]]


@attrs.frozen
class Cost:
    """What events cost: microseconds an event, one value a repetition, and requirements evaluated an event."""

    name: str
    micros: list[float]
    evaluated: float

    def ratio(self, other: Cost) -> float:
        """How many times as much as ``other``, by medians."""
        return median(self.micros) / median(other.micros)


def rules(number: int, events: int, seed: int, ships: int = SHIPS) -> Case:
    """Return a pack of ``number`` rules over ships and berths, and events that touch five fields of one ship each."""
    pack = RulePack(f"{number} rules", subject=ship, links=[berth.id == ship.berth])
    with pack:
        for field in FIELDS[:number]:
            require(berth.depth - ship[field] >= 1 * metres, name=field)
    draw = random.Random(seed)
    known = {id_: {"id": id_, "berth": id_ % BERTHS, **dict.fromkeys(FIELDS, 9.0)} for id_ in range(ships)}
    rows = [("berth", {"id": id_, "depth": 15.0}) for id_ in range(BERTHS)]
    rows += [("ship", row) for row in known.values()]
    trace = []
    for _ in range(events):
        id_ = draw.randrange(ships)
        # The first is the field of the pack of one rule, so that it has something to do as well.
        touched = [FIELDS[0], *draw.sample(FIELDS[1:], TOUCHED - 1)]
        known[id_] = {**known[id_], **{field: (known[id_][field] + 4.5) % 19 + 0.5 for field in touched}}
        trace.append(("ship", known[id_]))
    return Case(pack, rows, trace)


def program_a() -> None:
    """Program A: one source."""
    require(vessel.length <= 100 * metres)


def program_b() -> None:
    """Program B: two sources."""
    require(vessel.draught - tide.height <= 10 * metres)


def program_c() -> None:
    """Program C: a real rule, nested."""
    with when(vessel.direction == "inbound"):
        with when(vessel.draught >= 14.3 * metres), when(stream.direction >= 180 * degrees):
            require(stream.rate <= 1 * knots)
        with when(vessel.draught >= 19 * metres):
            require(stream.direction < 180 * degrees)


def program_d() -> None:
    """Program D: many requirements, nearly all of which fail."""
    require(stream.rate <= 1 * knots)
    require(stream.direction < 0 * degrees)
    require(vessel.length <= 10 * centimetres)
    require(vessel.beam < 10 * centimetres)
    require(wind.direction < 180 * degrees)
    require(wind.velocity < 30 * knots)
    require(tide.height < 3 * metres)
    require(tide.low_water > 0 * metres)


def program(write: Callable[[], None], events: int, seed: int, ships: int = SHIPS) -> Case:
    """Return a program of the thesis over 300 ships, and events of which each changes one row of one of its sources."""
    draw = random.Random(seed)
    links = [tide.berth == vessel.berth, stream.berth == vessel.berth]
    pack = RulePack(write.__name__, subject=vessel, links=links)
    with pack:
        write()
    makers = {"vessel": _vessel, "tide": _tide, "stream": _stream, "wind": _wind}
    rows = [(name, makers[name](id_, draw)) for name in pack.sources for id_ in range(1 if name == "wind" else ships)]
    # A wind concerns all ships at once, so it comes rarely.
    names = [name for name in pack.sources if name != "wind"]
    trace = [(name, makers[name](draw.randrange(ships), draw)) for name in draw.choices(names, k=events)]
    return Case(pack, rows, trace)


def measure(events: int, repetitions: int, seed: int, ships: int = SHIPS) -> tuple[list[Cost], list[tuple[Cost, Cost]]]:
    """Return the costs of one rule, of forty, and of forty judged anew; and of each program, remembering and anew."""
    one, forty = rules(1, events, seed, ships), rules(RULES, events, seed, ships)
    growing = _costs(
        [("one rule", one, True), ("40 rules", forty, True), ("40 rules, anew", forty, False)], repetitions
    )
    programs = []
    for write in (program_a, program_b, program_c, program_d):
        case = program(write, events, seed, ships)
        name = f"program {write.__name__[-1].upper()}"
        programs.append(_costs([(name, case, True), (f"{name}, anew", case, False)], repetitions))
    return growing, [(remembering, anew) for remembering, anew in programs]


def _costs(cases: list[tuple[str, Case, bool]], repetitions: int) -> list[Cost]:
    costs = [Cost(name, [], 0.0) for name, _, _ in cases]
    for _ in range(repetitions):
        for number, (_, case, is_remembering) in enumerate(cases):
            with _judging(is_remembering):
                micros, evaluated = _run(case)
            costs[number] = Cost(costs[number].name, [*costs[number].micros, micros], evaluated)
    return costs


def _run(case: Case) -> tuple[float, float]:
    engine, sources = Engine(case.pack.table()), case.pack.sources
    for name, row in case.rows:
        engine.push(sources[name], row)
    before, begin = case.pack.stats.requirements, time.process_time()
    for name, row in case.events:
        engine.push(sources[name], row)
    spent = time.process_time() - begin
    n_events = len(case.events)
    return spent / n_events * 1e6, (case.pack.stats.requirements - before) / n_events


@contextmanager
def _judging(is_remembering: bool) -> Iterator[None]:
    """Judge with a memory, or, for comparison, with one that finds nothing."""
    if is_remembering:
        yield
        return
    with (
        mock.patch.object(Memory, "of", return_value=()),
        mock.patch.object(Memory, "references", return_value=None),
    ):
        yield


def _vessel(id_: int, draw: random.Random) -> dict[str, Any]:
    sizes = {"length": draw.uniform(20, 300), "beam": draw.uniform(5, 50), "draught": draw.uniform(3, 22)}
    return {"mmsi": id_, "berth": id_, "direction": draw.choice(["inbound", "outbound"]), **sizes}


def _tide(id_: int, draw: random.Random) -> dict[str, Any]:
    return {"berth": id_, "height": draw.uniform(-1, 4), "low_water": draw.uniform(-1, 1)}


def _stream(id_: int, draw: random.Random) -> dict[str, Any]:
    return {"berth": id_, "rate": draw.uniform(0, 3), "direction": draw.uniform(0, 360)}


def _wind(_: int, draw: random.Random) -> dict[str, Any]:
    return {"velocity": draw.uniform(0, 50), "direction": draw.uniform(0, 360)}
