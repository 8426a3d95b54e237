from dsl import RulePack, Source, between, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
port = RulePack("port", subject=vessel)

with port:
    require(between(vessel.draught, 15 * metres, 3 * metres))
