from dsl import Source, number_of, instant, now
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
tug = Source("tug", key="id", id=int, free_from=instant)
free = number_of(tug, where=tug.free_from <= now)
