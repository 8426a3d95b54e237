from dsl import RulePack, Source, require, when
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
port = RulePack("port", subject=vessel)

with port:
    with when(vessel.draught != None):
        require(vessel.length <= 100 * metres)
