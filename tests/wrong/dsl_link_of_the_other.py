from dsl import RulePack, Source, another
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
other = another(vessel, "other")
berth = Source("berth", key="id", id=str, depth=metres)
port = RulePack("port", subject=vessel, links=[berth.id == other.basin])
