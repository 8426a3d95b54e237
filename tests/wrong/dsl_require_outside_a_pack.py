from dsl import Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)

require(vessel.draught <= 15 * metres)
