from dsl import RulePack, Source, known, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
port = RulePack("port", subject=vessel)

with port:
    require(known(vessel.draught))
