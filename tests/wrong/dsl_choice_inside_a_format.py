from dsl import RulePack, Source, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
port = RulePack("port", subject=vessel)

with port:
    deep = vessel.draught > 9 * metres
    require(deep, because=f"she is {'deep' if deep else 'shallow'}")
