from dsl import RulePack, Source, instant, now, optional, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(2 * hours - vessel.eta <= now)
