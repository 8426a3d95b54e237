from datetime import timedelta

from dsl import RulePack, Source, instant, now, require

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.eta - now <= timedelta(hours=24))
