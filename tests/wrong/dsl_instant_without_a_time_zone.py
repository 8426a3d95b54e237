from datetime import datetime

from dsl import RulePack, Source, instant, optional, require

vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
port = RulePack("port", subject=vessel)

with port:
    require(vessel.eta >= datetime(2026, 1, 31, 12))
