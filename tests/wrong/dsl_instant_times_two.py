from dsl import RulePack, Source, instant, now, optional, require

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(2 * vessel.eta >= now)
