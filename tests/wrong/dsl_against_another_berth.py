from dsl import RulePack, Source, against, another, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
berth = Source("berth", key="id", id=str, depth=metres)
other = another(berth, "other")
port = RulePack("port", subject=vessel, links=[berth.id == vessel.basin])
with port, against(other):
    require(other.depth >= vessel.draught)
