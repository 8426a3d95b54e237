"""The traffic at one time: every ship's last report judged against those of the others, and the tugs that lie free.

Source: RULES.md, "Traffic".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.table import Table

from cartesius import Engine, Update
from examples.port.cells import moment
from examples.port.marks import because, marked, unknown_by_reason
from examples.port.traffic_rules import SHIP_M, traffic_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from dsl import Reason, Verdict
    from examples.port.input_files import Values
    from examples.port.inputs import Day

_STILL_KN: Final = 0.5
SHOWN: Final = 12


def last_reports(day: Day) -> tuple[int, dict[int, Values]]:
    """Return the time of the last report of ``day``, and the last one of each ship."""
    reports = [each for each in day.readings if each.source == "vessel" and each.time is not None]
    return max((each.time or 0 for each in reports), default=day.start), {r.values["mmsi"]: r.values for r in reports}


def traffic_verdicts(day: Day) -> tuple[int, dict[int, Values], dict[int, Verdict]]:
    """Return the time that is judged, the ships by MMSI, and the verdicts about them."""
    now, ships = last_reports(day)
    pack = traffic_rules()
    engine, inputs = Engine(pack.table()), pack.sources
    for each in day.readings:
        if each.source == "wind" and each.time is not None and each.time <= now:
            engine.push(inputs["wind"], each.values, at=now)
    for row in tug_rows(ships.values()):
        engine.push(inputs["tug"], row, at=now)
    verdicts: dict[int, Verdict] = {}
    for row in ships.values():
        for event in engine.push(inputs["vessel"], row, at=now):
            assert isinstance(event.value, Update)
            verdicts[event.value.key] = event.value.value
    return now, ships, verdicts


def tug_rows(ships: Iterable[Values]) -> list[Values]:
    """Return the tugs among ships; one is available that lies still. What states no kind counts as no tug.

    >>> tug_rows([{"mmsi": 1, "vessel_type": "tug", "speed": 0.1}, {"mmsi": 2, "vessel_type": None, "speed": 0.0}])
    [{'mmsi': 1, 'available': True}]
    """
    tugs = (ship for ship in ships if ship["vessel_type"] == "tug")
    return [{"mmsi": ship["mmsi"], "available": (ship["speed"] or 0.0) < _STILL_KN} for ship in tugs]


def show_traffic(console: Console, now: int, ships: dict[int, Values], verdicts: dict[int, Verdict]) -> None:
    """Print the ships that are restricted, with whom they are too near, and how many are not, the unknown by reason."""
    number: Counter[str] = Counter(verdict.status for verdict in verdicts.values())
    free = sum(row["available"] for row in tug_rows(ships.values()))
    table = Table(title=f"Traffic at {moment(now):%H:%M}", title_justify="left", title_style="bold")
    table.add_column("ship", no_wrap=True)
    table.add_column("verdict, because of (with whom)")
    restricted = [verdict for verdict in verdicts.values() if verdict.status == "restricted"]
    restricted.sort(key=lambda verdict: verdict.subject)
    for verdict in restricted[:SHOWN]:
        reasons = "; ".join(_reason(ships, reason) for reason in verdict.because)
        table.add_row(ships[int(verdict.subject)]["name"], marked("restricted", reasons))
    if restricted:
        console.print(table)
    unknown = unknown_by_reason(
        [name for reason in verdict.undecided for name in reason.missing]
        for verdict in verdicts.values()
        if verdict.status == "unknown"
    )
    console.print(
        f"Traffic at {moment(now):%H:%M}, ships of {SHIP_M} m and more, or of unknown length:"
        f" {number['allowed']} allowed, {len(restricted)} restricted, {unknown}."
    )
    console.print(
        f"Which tugs are on duty is not in the data: the {free} that lie still are taken to be available.", style="dim"
    )


def _reason(ships: dict[int, Values], reason: Reason) -> str:
    near = ", ".join(str(ships[int(each)]["name"]) for each in reason.others)
    lacks = because((), reason.missing)
    return reason.name + (f" ({near})" if near else "") + (f": {lacks}" if lacks else "")
