from dsl import RulePack, Source, require
from dsl.units import knots

vessel = Source("vessel", key="mmsi", mmsi=int)
gusts = Source("gusts", key=None, velocity=knots)
port = RulePack("port", subject=vessel)

with port:
    require(gusts.velocity <= 45 * knots)

port.check({"vessel": {"mmsi": 1}, "gusts": 50 * knots})
