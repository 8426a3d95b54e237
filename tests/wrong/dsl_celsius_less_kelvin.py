from dsl import RulePack, Source, require
from dsl.units import celsius, kelvin

vessel = Source("vessel", key="mmsi", mmsi=int)
sea = Source("sea", key=None, temperature=celsius)
store = Source("store", key=None, temperature=kelvin)
port = RulePack("port", subject=vessel)

with port:
    require(sea.temperature - store.temperature <= 5 * kelvin)
