"""Two instants have a difference, but no sum."""

from dsl import RulePack, Source, instant, now, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
with RulePack("port", subject=vessel):
    require(vessel.eta + now >= 24 * hours)
