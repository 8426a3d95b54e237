from dsl import RulePack, Source, number_of, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
port = RulePack("port", subject=vessel)
with port:
    require(number_of(Source("vessel", key="mmsi", mmsi=int)) <= 5)
