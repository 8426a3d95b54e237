from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, destination=str)
port = RulePack("port", subject=vessel)
with port:
    require(vessel.destination == "A\ud800")
