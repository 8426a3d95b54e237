from dsl import RulePack, Source, require
from dsl.units import knots, metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
wind = Source("wind", key=None, velocity=knots)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.draught + wind.velocity <= 15 * metres)
