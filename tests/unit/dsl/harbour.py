"""The sources that the tests of the rule language share, and short ways to write and judge a pack."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dsl import RulePack, Source, position
from dsl.units import degrees, knots, metres

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dsl import Verdict

vessel = Source(
    "vessel",
    key="mmsi",
    mmsi=int,
    length=metres,
    beam=metres,
    draught=metres,
    vessel_type=str,
    direction=str,
    destination=str,
    has_pilot=bool,
    fields={"name": str},
)
berth = Source("berth", key="id", id=str, depth=metres, position=position)
tide = Source("tide", key="sensor", sensor=str, height=metres, low_water=metres)
tidal_stream = Source("tidal_stream", key="sensor", sensor=str, rate=knots, direction=degrees)
wind = Source("wind", key=None, velocity=knots, direction=degrees)
tugs = Source("tugs", key=None, available=int)


def pack(*rules: Callable[[], None], name: str = "port") -> RulePack:
    """A pack with every source linked; each rule is a function that writes statements."""
    links = [berth.id == vessel.destination, tide.sensor == berth.id, tidal_stream.sensor == berth.id]
    made = RulePack(name, subject=vessel, location=vessel.destination, links=links)
    with made:
        for rule in rules:
            rule()
    return made


def judged(rule: Callable[[], None], **rows: dict[str, Any] | None) -> Verdict:
    """The verdict of one rule on a ship 1, of which only the fields given are known."""
    rows["vessel"] = {"mmsi": 1, **(rows.get("vessel") or {})}
    return pack(rule).check(rows)


def status(rule: Callable[[], None], **rows: dict[str, Any] | None) -> str:
    """The status of that verdict."""
    return judged(rule, **rows).status


def save(file: Path, text: str) -> None:
    """Write a file of rules, as if that had been a while ago: who follows it need not wait until it is left alone."""
    file.write_text(text, encoding="utf-8")
    os.utime(file, (0, 0))
