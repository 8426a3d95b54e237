from dsl import RulePack, Source
from dsl.units import metres

vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
port = RulePack("port", subject=vessel)

with port:
    limits = [limit for limit in (30, 40) if vessel.length > limit * metres]
