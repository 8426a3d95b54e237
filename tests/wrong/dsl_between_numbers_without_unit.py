from dsl import RulePack, Source, between, require
from dsl.units import degrees, knots

vessel = Source("vessel", key="mmsi", mmsi=int)
wind = Source("wind", key=None, velocity=knots, direction=degrees)
port = RulePack("port", subject=vessel)

with port:
    require(between(wind.direction, 340, 20))
