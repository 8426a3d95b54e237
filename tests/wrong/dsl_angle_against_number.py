from dsl import RulePack, Source, require
from dsl.units import degrees, metres

stream = Source("stream", key=None, direction=degrees)
vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
port = RulePack("port", subject=vessel)

with port:
    require(stream.direction < 180)
