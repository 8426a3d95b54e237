"""The planned instant in a product: when that changes next is not foreseen."""

from dsl import RulePack, Source, instant, require
from dsl.units import hours, knots

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant, etd=instant)
wind = Source("wind", key=None, velocity=knots, forecast=True)
port = RulePack("port", subject=vessel)
with port:
    require(wind.at(vessel.eta).velocity <= 45 * knots)
    require(2 * (vessel.etd - vessel.eta) <= 24 * hours)
print(port.passages({"vessel": {"mmsi": 1}}, within=24 * hours))
