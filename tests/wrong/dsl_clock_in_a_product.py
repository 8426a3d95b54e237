"""An interval with the clock in it is doubled: when that changes next is not foreseen."""

from dsl import RulePack, Source, instant, now, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
with RulePack("port", subject=vessel):
    require(2 * (vessel.eta - now) >= 24 * hours)
