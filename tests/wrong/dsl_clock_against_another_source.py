"""The clock is compared with what is not the ship's own."""

from dsl import RulePack, Source, instant, now, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, berth=str)
berth = Source("berth", key="id", id=str, closed_until=instant)
with RulePack("port", subject=vessel, links=[berth.id == vessel.berth]):
    require(now - berth.closed_until >= 1 * hours)
