from dsl import RulePack, Source, require, when
from dsl.units import degrees, knots, metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, beam=metres)
wind = Source("wind", key=None, velocity=knots, direction=degrees)
port = RulePack("port", subject=vessel)

with port:
    with when(vessel.draught > 9 * metres or vessel.beam > 30 * metres):
        require(wind.velocity <= 30 * knots)
