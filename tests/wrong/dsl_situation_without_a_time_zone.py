from datetime import datetime

from dsl import RulePack, Source, instant, now, require

vessel = Source("vessel", key="mmsi", mmsi=int, etd=instant)
port = RulePack("port", subject=vessel)

with port:
    require(vessel.etd >= now)

port.check({"vessel": {"mmsi": 1}}, now=datetime(2026, 1, 31, 12))
