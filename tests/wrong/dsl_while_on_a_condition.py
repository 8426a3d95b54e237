from dsl import RulePack, Source, require
from dsl.units import degrees, knots, metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
wind = Source("wind", key=None, velocity=knots, direction=degrees)
port = RulePack("port", subject=vessel)

with port:
    while vessel.draught > 9 * metres:
        require(wind.velocity <= 30 * knots)
