"""The clock in an absolute value: two sides, so that it is written as such."""

from dsl import RulePack, Source, instant, now, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
with RulePack("port", subject=vessel):
    require(abs(vessel.eta - now) <= 1 * hours)
