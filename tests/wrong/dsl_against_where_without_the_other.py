from dsl import RulePack, Source, against, another, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
other = another(vessel, "other")
port = RulePack("port", subject=vessel)
with port, against(other, where=vessel.vessel_type == "tanker"):
    require(other.vessel_type != "tanker")
