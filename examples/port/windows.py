"""The next windows of each deep ship: when she may pass between sea and berth, and what forbids it before and after.

Tide, stream and wind of the day are predictions to the pack of `arrival_rules`: from the time of each until the next
the less favourable of the two counts. Where the predictions end within a ship's passage, it is unknown whether she may
start, and so no window.

Source: RULES.md, "Arrivals".
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from dsl.units import hours
from examples.port.arrival_rules import arrival_rules
from examples.port.clearances import LIMIT_M, TANKER_LIMIT_M
from examples.port.geography import distance_km
from examples.port.marks import in_words
from examples.port.places import AIRPORTS
from examples.port.samples import until_next

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsl import Verdict
    from examples.port.arrivals import Call
    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.places import Position

    _Rows: TypeAlias = list[tuple[int, Values]]

AHEAD_H: Final = 24
"""How far ahead windows are looked for, in hours."""
_HOUR: Final = 3_600_000_000
_FIELDS: Final = {
    "tide": ("sensor", "height"),
    "stream": ("station", "rate", "direction", "next_direction"),
    "wind": ("station", "velocity", "gust", "visibility"),
}


@attrs.frozen
class Window:
    """A time at which a ship may start.

    Args:
        start: The first instant, in microseconds since the epoch.
        end: The instant after the last.
        before: What forbids it just before: the names of rules, or what is not known; empty if she is not ready before.
        after: What forbids it from ``end`` on; empty if no further is looked.
    """

    start: int
    end: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@attrs.frozen
class Outlook:
    """What is ahead of a ship.

    Args:
        call: What she is about to do.
        points: (microseconds since the epoch, metres of under-keel clearance) for each step; each holds until the next.
        limit: The least clearance she must have, in metres.
        windows: When she may start, in order.
        blocked: What forbids it at her own time: the names of rules, or what is not known.
    """

    call: Call
    points: tuple[tuple[int, float], ...]
    limit: float
    windows: tuple[Window, ...]
    blocked: tuple[str, ...]


def outlooks(day: Day, now: int, calls: Sequence[Call]) -> list[Outlook]:
    """Return what is ahead of each ship until the predictions of ``day`` end.

    Args:
        day: The readings of berths, tide, stream and wind.
        now: From when on windows are looked for, in microseconds since the epoch.
        calls: What the ships are about to do.
    """
    pack = arrival_rules(day.gauges, day.stations)
    berths = {each.values["id"]: each.values for each in day.readings if each.source == "berth"}
    rows = _rows(day)
    found = []
    for call in calls:
        near = _near(day, call.position)
        predicted = {
            source: [each for each in _predictions(source, rows[source, key], day.start) if each["end"] > now]
            for source, key in near.items()
        }
        situation: dict[str, Any] = {"vessel": _row(call), "berth": berths[call.berth], **predicted}

        def refused(time: int, situation: dict[str, Any] = situation) -> tuple[str, ...]:
            return _refusal(pack.check({**situation, "vessel": {**situation["vessel"], "eta": time}}))

        windows = tuple(
            Window(each.start, each.end, refused(each.start - 1) if each.start > call.eta else (), refused(each.end))
            for each in pack.passages(situation, within=AHEAD_H * hours)
        )
        blocked = () if windows and windows[0].start == call.eta else refused(call.eta)
        found.append(_outlook(call, berths[call.berth]["depth"], rows["tide", near["tide"]], windows, blocked))
    return found


def _outlook(
    call: Call, depth: float | None, heights: _Rows, windows: tuple[Window, ...], blocked: tuple[str, ...]
) -> Outlook:
    points = [
        (time, depth + row["height"] - call.draught)
        for time, row in heights
        if depth is not None and row["height"] is not None
    ]
    limit = TANKER_LIMIT_M if call.vessel_type == "tanker" else LIMIT_M
    return Outlook(call, tuple(points), limit, windows, blocked)


def _refusal(verdict: Verdict) -> tuple[str, ...]:
    """What fails, what is not known, and what is not predicted for all of the passage: `tide from … to …`."""
    names = {name for reason in verdict.undecided for name in reason.missing}
    predicted = {name for name in names if " " in name and name.partition(" ")[0] in _FIELDS}
    lacking = {
        "not known": sorted(map(in_words, names - predicted)),
        "not predicted": sorted({name.partition(" ")[0] for name in predicted}),
    }
    failed = tuple(reason.name for reason in verdict.failed)
    return (*failed, *(f"{how}: {', '.join(what)}" for how, what in lacking.items() if what))


def _near(day: Day, position: Position) -> dict[str, str]:
    """The gauge, the station and the airport whose predictions count at a berth."""
    places = {"tide": day.gauges, "stream": day.stations, "wind": AIRPORTS}
    return {
        source: min(where, key=lambda id_: (distance_km(position, where[id_]), id_)) for source, where in places.items()
    }


def _rows(day: Day) -> defaultdict[tuple[str, str], _Rows]:
    """The readings of tide, stream and wind, by source and key, in order."""
    rows: defaultdict[tuple[str, str], _Rows] = defaultdict(list)
    for each in day.readings:
        if each.source in _FIELDS and each.time is not None:
            key, *_ = fields = _FIELDS[each.source]
            values = {field: each.values[field] for field in fields}
            rows[each.source, each.values[key]].append((each.time, values))
    return rows


def _predictions(source: str, rows: _Rows, issued: int) -> Iterator[Values]:
    """Rows of one key as predictions, each valid until the next, the last as long as the one before.

    Those of tide and stream say already what counts until the next; winds are reports, and foreseen here alone.
    """
    if not rows:
        return
    rows = list(dict(rows).items())  # of several of one time the last counts, also as the next of what is before
    for (start, values), (end, following) in pairwise([*rows, (rows[-1][0] + _length(rows), rows[-1][1])]):
        counting = until_next(source, values, following) if source == "wind" else values
        yield {**counting, "issued": issued, "start": start, "end": end}


def _length(rows: _Rows) -> int:
    return rows[-1][0] - rows[-2][0] if len(rows) > 1 else _HOUR


def _row(call: Call) -> Values:
    return {
        "mmsi": call.mmsi, "name": call.name, "vessel_type": call.vessel_type, "length": call.length,
        "draught": call.draught, "destination": call.berth, "direction": call.direction, "eta": call.eta,
    }  # fmt: skip
