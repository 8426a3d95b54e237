"""A span without what must hold in it."""

from dsl import RulePack, Source, instant, require, throughout
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
with RulePack("port", subject=vessel):
    require(throughout(vessel.eta, vessel.eta + 2 * hours))
