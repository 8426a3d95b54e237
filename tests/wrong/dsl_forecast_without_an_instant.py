"""A predicted value without saying for when."""

from dsl import RulePack, Source, instant, require
from dsl.units import knots

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
wind = Source("wind", key=None, velocity=knots, forecast=True)
with RulePack("port", subject=vessel):
    require(wind.velocity <= 45 * knots)
