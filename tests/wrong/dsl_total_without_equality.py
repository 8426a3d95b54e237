from dsl import RulePack, Source, number_of, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
berth = Source("berth", key="id", id=str, depth=metres)
port = RulePack("port", subject=vessel)
with port:
    require(number_of(berth, where=berth.depth >= vessel.draught) >= 1)
