from dsl import RulePack, Source
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
berth = Source("berth", key="id", id=str, depth=metres)

port = RulePack("port", subject=vessel, links=[berth.depth == vessel.draught])
