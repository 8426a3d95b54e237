from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, destination=str)
port = RulePack("port", subject=vessel)
with port:
    require(vessel.draught * (1e300 * metres * 1e300 * metres) >= 1 * metres * metres * metres)
