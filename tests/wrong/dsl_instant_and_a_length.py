from dsl import RulePack, Source, instant, now, optional, require
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(vessel.eta + 2 * metres >= now)
