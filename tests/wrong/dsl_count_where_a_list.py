from dsl import Source, number_of
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
tug = Source("tug", key="id", id=int, available=bool)
free = number_of(tug, where=[True])
