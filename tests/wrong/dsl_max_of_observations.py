from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, beam=metres)
port = RulePack("port", subject=vessel)

with port:
    require(max(vessel.draught, vessel.beam) <= 15 * metres)
