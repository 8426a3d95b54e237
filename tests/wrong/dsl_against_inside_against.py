from dsl import RulePack, Source, against, another, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
other, third = another(vessel, "other"), another(vessel, "third")
port = RulePack("port", subject=vessel)
with port, against(other, where=other.basin == vessel.basin):
    with against(third):
        require(third.draught <= 15 * metres)
