from dsl import RulePack, Source
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
port = RulePack("port", subject=vessel)

with port:
    assert vessel.draught <= 15 * metres
