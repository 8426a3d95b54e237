from dsl import RulePack, Source, known_or, instant, now, optional, require
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(known_or(vessel.eta, 2 * hours) >= now)
