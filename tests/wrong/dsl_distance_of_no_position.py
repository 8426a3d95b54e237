from dsl import RulePack, Source, distance, position, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, length=metres, position=position)
port = RulePack("port", subject=vessel)

with port:
    require(distance(vessel.position, vessel.length) <= 5 * metres)
