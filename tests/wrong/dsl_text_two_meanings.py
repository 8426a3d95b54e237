from dsl import RulePack, Source, named, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres)
port = RulePack("port", subject=vessel)
with port:
    require(named("size", vessel.draught) <= 9 * metres)
    require(named("size", vessel.length) <= 90 * metres)

port.to_text()
