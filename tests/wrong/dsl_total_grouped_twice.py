from dsl import RulePack, Source, another, number_of, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
other = another(vessel, "other")
port = RulePack("port", subject=vessel)
with port:
    require(number_of(other, where=(other.basin == vessel.basin) & (other.vessel_type == vessel.vessel_type)) <= 2)
