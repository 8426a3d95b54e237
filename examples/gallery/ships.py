"""Ships: who has less than a metre of water under the keel, from three tables: ships, berths and tides."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from cartesius import Reactive, correlate
from examples.gallery.exhibits import Exhibit, on
from restrictions import as_table, retracting, versioned

ships, berths, tides = (Reactive(name, table=True, key="name") for name in ("ship", "berth", "tide"))
corrected = retracting() | versioned("ship", "berth", "tide", retention=timedelta(hours=1)) | as_table("ship")


def under_keel(ship: Any, berth: Any, tide: Any) -> Any:
    """Return how much water there is under the keel, in centimetres."""
    return berth.depth + tide.height - ship.draught


def is_shallow(ship: Any, berth: Any, tide: Any, key_berth: str, key_tide: str) -> Any:
    """Return whether they belong together, and there is too little."""
    return (ship.berth == key_berth) & (berth.gauge == key_tide) & (under_keel(ship, berth, tide) < 100)


shallow = correlate(
    ship=ships, berth=berths, tide=tides, where=is_shallow, yields=under_keel, restrict=corrected, name="shallow"
)

EXHIBIT = Exhibit(
    task="Keep a table of the ships that have less than a metre of water under the keel, by the depth of their berth"
    " and the height of the tide at its gauge; what comes late, within an hour, corrects it.",
    outputs=(shallow,),
    lateness=timedelta(minutes=10),
    arrivals=on(
        "2026-03-02",
        ("06:00", berths, {"name": "A", "gauge": "north", "depth": 1400}),
        ("06:00", berths, {"name": "B", "gauge": "north", "depth": 1200}),
        ("06:00", tides, {"name": "north", "height": 150}),
        ("06:10", ships, {"name": "EVA", "berth": "A", "draught": 1420}),  # 130 cm under the keel
        ("06:12", ships, {"name": "ORCA", "berth": "B", "draught": 1280}),  # 70 cm
        ("06:30", tides, {"name": "north", "height": 110}),  # EVA 90 cm, ORCA 30 cm
        ("06:40", ships, {"name": "ORCA", "berth": "A", "draught": 1280}),  # moves to where it is deep
        ("06:20", tides, {"name": "north", "height": 115}),  # comes late: EVA had 95 cm at 06:20 already
        ("06:50", tides, {"name": "north", "height": 160}),
    ),
)
