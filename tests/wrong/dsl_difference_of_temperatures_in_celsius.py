from dsl import RulePack, Source, require
from dsl.units import celsius

vessel = Source("vessel", key="mmsi", mmsi=int)
sea = Source("sea", key=None, temperature=celsius)
air = Source("air", key=None, temperature=celsius)
port = RulePack("port", subject=vessel)

with port:
    require(sea.temperature - air.temperature <= 5 * celsius)
