from dsl import RulePack, Source, location, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
port = RulePack("port", subject=vessel)

with port:
    with location("berth A"):
        require(vessel.draught <= 15 * metres)
