from dsl import RulePack, Source, require
from dsl.units import celsius, knots

vessel = Source("vessel", key="mmsi", mmsi=int)
sea = Source("sea", key=None, temperature=celsius)
port = RulePack("port", subject=vessel)

with port:
    require(sea.temperature >= 5 * knots)
