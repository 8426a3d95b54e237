from dsl import Source, another, number_of
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
other = another(vessel, "other")
tug = Source("tug", key="id", id=int, strength=int)
strong = number_of(tug, where=tug.strength >= number_of(other))
