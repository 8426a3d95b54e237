from dsl import RulePack, Source, choice, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, length=metres, vessel_type=choice("tanker", "container", "barge"))
port = RulePack("port", subject=vessel)

with port:
    require(vessel.vessel_type == vessel.length)
