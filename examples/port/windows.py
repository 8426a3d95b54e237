"""The next window of each deep ship: when she may next pass between sea and berth, and what forbids it before.

The rules of passage are asked at every step of the predictions, a step in force from its time until the next. A ship
may start at a step if she is allowed at it and at all that follow within the hour that the passage takes; where the
predictions end before that, she may not.

Source: RULES.md, "Arrivals".
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import attrs

from examples.port.arrival_rules import arrival_rules
from examples.port.geography import distance_km
from examples.port.places import AIRPORTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsl import RulePack
    from examples.port.arrivals import Call
    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.places import Position

PASSAGE: Final = 3_600_000_000
"""How long a passage takes, in microseconds."""
_KEYS: Final = {"tide": "sensor", "stream": "station", "wind": "station"}


@attrs.frozen
class Outlook:
    """What is ahead of a ship.

    Args:
        call: What she is about to do.
        points: (microseconds since the epoch, metres of under-keel clearance) for each step; each holds until the next.
        limit: The least clearance she must have, in metres.
        windows: When she may start: (from, to) in microseconds since the epoch, in order.
        blocked: What forbids it until the first window opens: the names of rules, or what is not known.
    """

    call: Call
    points: tuple[tuple[int, float], ...]
    limit: float
    windows: tuple[tuple[int, int], ...]
    blocked: tuple[str, ...]


def outlooks(day: Day, calls: Sequence[Call]) -> list[Outlook]:
    """Return what is ahead of each ship until the predictions of ``day`` end."""
    pack = arrival_rules(day.gauges, day.stations)
    rows: defaultdict[tuple[str, str], list[tuple[int, Values]]] = defaultdict(list)
    berths = {}
    for each in day.readings:
        if each.source in _KEYS and each.time is not None:
            rows[each.source, each.values[_KEYS[each.source]]].append((each.time, each.values))
        elif each.source == "berth":
            berths[each.values["id"]] = each.values
    return [_outlook(day, call, pack, berths[call.berth], rows) for call in calls]


def _outlook(
    day: Day,
    call: Call,
    pack: RulePack,
    berth: Values,
    rows: Mapping[tuple[str, str], list[tuple[int, Values]]],
) -> Outlook:
    tide = rows["tide", _closest(call.position, day.gauges)]
    stream = rows["stream", _closest(call.position, day.stations)]
    wind = rows["wind", _closest(call.position, AIRPORTS)]
    steps = [time for time, _ in tide if time >= call.eta] if tide else []
    ship = {
        "mmsi": call.mmsi, "name": call.name, "vessel_type": call.vessel_type, "length": call.length,
        "draught": call.draught, "destination": call.berth, "direction": call.direction,
    }  # fmt: skip
    refused: list[tuple[str, ...]] = []
    for time in steps:
        verdict = pack.check(
            {
                "vessel": {**ship, "eta": time},
                "berth": berth,
                "tide": _in_force(tide, time),
                "stream": _in_force(stream, time),
                "wind": _in_force(wind, time),
            }
        )
        refused.append(tuple(reason.name for reason in verdict.because))
    starts = [
        time + PASSAGE <= steps[-1] and not any(refused[number : bisect_right(steps, time + PASSAGE)])
        for number, time in enumerate(steps)
    ]
    windows = _spans(steps, starts)
    until = windows[0][0] if windows else (steps[-1] + 1 if steps else 0)
    blocked = dict.fromkeys(name for number, time in enumerate(steps) if time < until for name in refused[number])
    points = tuple((time, berth["depth"] + row["height"] - call.draught) for time, row in tide)
    return Outlook(call, points, 1.0 if call.vessel_type == "tanker" else 0.5, tuple(windows), tuple(blocked))


def _spans(steps: Sequence[int], starts: Sequence[bool]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for number, time in enumerate(steps):
        if not starts[number]:
            continue
        if spans and number and starts[number - 1]:
            spans[-1] = (spans[-1][0], time)
        else:
            spans.append((time, time))
    return spans


def _in_force(rows: Sequence[tuple[int, Values]], time: int) -> Values | None:
    number = bisect_right(rows, time, key=lambda row: row[0])
    return rows[number - 1][1] if number else None


def _closest(position: Position, places: Mapping[str, Position]) -> str:
    return min(places, key=lambda id_: (distance_km(position, places[id_]), id_))
