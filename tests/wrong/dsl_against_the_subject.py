from dsl import RulePack, Source, against, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
port = RulePack("port", subject=vessel)
with port, against(vessel):
    require(vessel.draught <= 15 * metres)
