from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.draught <= 15 * metres, severity="criticl")
