"""Units cost nothing at run time: no function of pint is called while events flow."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pint

from cartesius import Engine
from dsl import RulePack, location, require, when
from dsl.units import centimetres, feet, kilometres_per_hour, knots, metres, unit
from tests.unit.dsl.harbour import berth, tidal_stream, tide, vessel, wind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PINT = str(Path(pint.__file__).parent)


@contextmanager
def pint_calls() -> Iterator[list[str]]:
    """The functions of pint that are called meanwhile, whoever calls them: its registry, quantities, parser, …"""
    called: list[str] = []

    def see(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PINT):
            called.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield called
    finally:
        sys.setprofile(before)


def port() -> RulePack:
    links = [berth.id == vessel.destination, tide.sensor == berth.id, tidal_stream.sensor == berth.id]
    made = RulePack("port", subject=vessel, location=vessel.destination, links=links)
    with made:
        require(wind.velocity <= 45 * kilometres_per_hour)
        with location("A"), when(vessel.draught >= 30 * feet):
            require(berth.depth + tide.height - vessel.draught >= 50 * centimetres)
            require(tidal_stream.rate - 1 * kilometres_per_hour <= 1 * knots)
            require(vessel.length * vessel.beam <= 20_000 * (metres * metres))
    return made


def test_no_function_of_pint_is_called_while_events_flow():
    made = port()
    engine = Engine(made.table(), made.warnings())
    ship = dict.fromkeys(name for name, _ in made._judgement().sources[0].fields)
    with pint_calls() as called:
        for step in range(20):
            row = {**ship, "mmsi": step % 3, "draught": 5.0 + step, "length": 200.0, "beam": 30.0, "destination": "A"}
            engine.push(made.sources["vessel"], row)
            engine.push(made.sources["berth"], {"id": "A", "depth": 15.0, "position": (51.9, 4.1)})
            engine.push(made.sources["wind"], {"velocity": 3.0 * step, "direction": 0.0})
            engine.push(made.sources["tide"], {"sensor": "A", "height": 0.1 * step, "low_water": 0.0})
            engine.push(made.sources["tidal_stream"], {"sensor": "A", "rate": 0.1 * step, "direction": 0.0})
        restored = Engine.restore(engine.snapshot(), made.table(), made.warnings())
        statuses = {verdict.status for verdict in restored.query(made.table()).values()}
        made.check({"vessel": row})
    assert statuses == {"restricted"}
    assert made.stats.requirements > 50
    assert called == []


def test_the_count_sees_pint_where_it_is_asked():
    with pint_calls() as called:
        unit("furlong")
    assert "UnitRegistry.Quantity" in called or len(called) > 10
