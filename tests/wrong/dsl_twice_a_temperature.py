from dsl import RulePack, Source, require
from dsl.units import celsius

vessel = Source("vessel", key="mmsi", mmsi=int)
sea = Source("sea", key=None, temperature=celsius)
port = RulePack("port", subject=vessel)

with port:
    require(2 * sea.temperature <= 40 * celsius)
