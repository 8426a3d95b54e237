from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, length=metres, beam=metres)
port = RulePack("port", subject=vessel)

with port:
    require(sum([vessel.length, vessel.beam]) <= 150 * metres)
