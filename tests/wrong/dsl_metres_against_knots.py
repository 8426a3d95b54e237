from dsl import RulePack, Source, require
from dsl.units import knots, metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.draught <= 15 * knots)
