from dsl import RulePack, Source, location, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
berth = Source("berth", key="id", id=str, depth=metres)
tide = Source("tide", key="sensor", sensor=str, height=metres)
port = RulePack("port", subject=vessel, location=vessel.destination, links=[berth.id == vessel.destination])

with port:
    require(
        berth.depth + tide.height >= vessel.draught,
        name="clearance",
    )
