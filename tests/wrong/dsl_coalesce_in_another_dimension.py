from dsl import RulePack, Source, coalesce, instant, now, optional, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(coalesce(vessel.eta, 2 * hours) >= now)
