from dsl import RulePack, Source, against, another, number_of, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
other = another(vessel, "other")
port = RulePack("port", subject=vessel)
with port, against(other):
    require((number_of(other) <= 2) | (other.draught <= 15 * metres))
