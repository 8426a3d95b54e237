from dsl import RulePack, Source
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, beam=metres)
port = RulePack("port", subject=vessel)

with port:
    deepest = sorted([vessel.draught, vessel.beam])[-1]
