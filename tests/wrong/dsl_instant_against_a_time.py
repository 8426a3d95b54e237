from dsl import RulePack, Source, instant, optional, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(vessel.eta <= 24 * hours)
