from dsl import RulePack, Source, between, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres)
port = RulePack("port", subject=vessel)

with port:
    require(between(vessel.draught, 3 * metres, 9 * metres) and vessel.length < 90 * metres)
