from dsl import Source, count, instant, now
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, basin=str, draught=metres, vessel_type=str)
tug = Source("tug", key="id", id=int, free_from=instant)
free = count(tug, where=tug.free_from <= now)
