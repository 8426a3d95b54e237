from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, vessel_type=str, destination=str)
port = RulePack("port", subject=vessel)
other = RulePack("other", subject=vessel)

with port:
    with other:
        require(vessel.draught <= 15 * metres)
