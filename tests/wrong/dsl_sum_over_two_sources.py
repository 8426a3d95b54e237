from dsl import Source, sum_of
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
berth = Source("berth", key="id", id=str, depth=metres)
room = sum_of(berth.depth - vessel.draught)
