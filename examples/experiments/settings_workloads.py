"""Readings that need the setting in force: late, in bursts, on skewed keys, with known truth; made up, and real ships.

A reading belongs to the newest setting of its key at its own time. Nothing arrives in order: each event comes some time
after it happened, most of them soon, one in eight much later, and in bursts, as from a ship that comes into range.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cartesius import Reactive, correlate
from examples.experiments.workloads import Arrival, Workload
from examples.port.geography import distance_km
from examples.port.inputs import read_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cartesius import Restriction
    from cartesius.language.restriction_base import Composition

reading: Final = Reactive("reading")
setting: Final = Reactive("setting")
LATEST: Final = 60
"""The longest delay, in time units: seconds."""
KEYS: Final = 12
DATA: Final = Path(__file__).parent.parent / "port" / "data"
_SETTINGS: Final = 0.25  # of the events


def pairing(restrict: Composition | Restriction | None) -> Callable[[Reactive, Reactive], Reactive]:
    """Return the strategy that pairs readings with settings of the same key, under ``restrict``."""
    return lambda readings, settings: correlate(
        setting=settings,  # first: of one time it goes before the readings
        reading=readings,
        where=lambda reading, setting: reading.key == setting.key,
        yields=lambda reading, setting: (reading.n, setting.n),
        restrict=restrict,
        name="pairs",
    )


def made_up(size: int, seed: int) -> list[Arrival]:
    """Return arrivals of made-up readings and settings: keys by Zipf's law, a second or so apart."""
    draw = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(KEYS)]
    happened = []
    for n, key in enumerate(draw.choices(range(KEYS), weights, k=size)):
        source = setting if draw.random() < _SETTINGS else reading
        happened.append((source, {"n": n, "key": key}, n))
    return delayed(happened, draw)


def delayed(happened: Iterable[tuple[Reactive, Any, int]], draw: random.Random) -> list[Arrival]:
    """Return events in the order in which they arrive: late by chance, and in bursts."""
    arriving, held_until = [], 0
    for place, (source, value, at) in enumerate(happened):
        if draw.random() < 0.01:  # out of range for a while, then all at once
            held_until = at + draw.randint(LATEST // 4, LATEST)
        late = draw.randint(LATEST // 2, LATEST) if draw.random() < 0.125 else draw.randint(0, LATEST // 20)
        arrival = min(max(at + late, held_until), at + LATEST)
        arriving.append((arrival, place, Arrival(source, value, at)))
    return [arrival for _, _, arrival in sorted(arriving, key=lambda each: each[:2])]


def in_force(trace: Sequence[Arrival]) -> list[tuple[int, int]]:
    """Return the pairs that are true: each reading with the newest setting of its key at its time, if there is one."""
    settings: dict[Any, list[tuple[int, int]]] = {}
    for reactive, value, at in trace:
        if reactive is setting:
            settings.setdefault(value["key"], []).append((at, value["n"]))
    for each in settings.values():
        each.sort()
    pairs = []
    for reactive, value, at in trace:
        if reactive is reading and value["key"] in settings:
            mine = settings[value["key"]]
            place = bisect_right(mine, at, key=lambda one: one[0])
            if place:
                pairs.append((value["n"], mine[place - 1][1]))
    return pairs


OPTIONS: Final = {"lateness": LATEST}
"""Nothing is later than that: so no strategy loses what another one has."""
late_settings: Final = Workload("late settings", (reading, setting), made_up, in_force, OPTIONS)


@cache
def _harbour() -> tuple[tuple[Reactive, str, int], ...]:
    """Return what happened in New York harbour in the first hour: which input, the gauge, and the second."""
    day = read_day(DATA)
    found = []
    for one in day.readings:
        second = ((one.time or 0) - day.start) // 1_000_000
        if second >= 3600:
            break
        if one.source == "tide":
            found.append((setting, one.values["sensor"], second))
        elif one.source == "vessel":
            place = one.values["position"]
            found.append((reading, min(day.gauges, key=lambda id_: distance_km(place, day.gauges[id_])), second))
    return tuple(found)


def ships(size: int, seed: int) -> list[Arrival]:
    """Return position reports of ships and predictions at the gauge nearest to each, of New York harbour, delayed."""
    happened = [(source, {"n": n, "key": gauge}, at) for n, (source, gauge, at) in enumerate(_harbour()[:size])]
    return delayed(happened, random.Random(seed))


ships_and_tides: Final = Workload("ships and tides", (reading, setting), ships, in_force, OPTIONS)
