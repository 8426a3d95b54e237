from dsl import RulePack, Source, require
from dsl.units import degrees, knots

vessel = Source("vessel", key="mmsi", mmsi=int)
wind = Source("wind", key=None, velocity=knots, direction=degrees)
port = RulePack("port", subject=vessel)

with port:
    require(wind.velocity <= 45 * knots)

port.check({"wind": {"velocity": 50 * knots}})
