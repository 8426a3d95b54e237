"""A rule pack in a module of its own, which a cluster gets shipped: cloudpickle sends it by reference."""

from __future__ import annotations

from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, destination=str)
berth = Source("berth", key="id", id=str, depth=metres)


def pack(name: str, clearance: float) -> RulePack:
    """Return a pack that wants so many metres below each keel."""
    made = RulePack(name, subject=vessel, location=vessel.destination, links=[berth.id == vessel.destination])
    with made:
        require(berth.depth - vessel.draught >= clearance * metres, name="clearance", because="she would touch ground")
    return made


shipped = pack("shipped", 0.5)
