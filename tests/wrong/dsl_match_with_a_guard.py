from dsl import RulePack, Source, require
from dsl.units import degrees, knots, metres

vessel = Source("vessel", key="mmsi", mmsi=int, length=metres)
wind = Source("wind", key=None, velocity=knots, direction=degrees)
port = RulePack("port", subject=vessel)

with port:
    for limit in (30, 40):
        match limit:
            case 40 if vessel.length > 200 * metres:
                require(wind.velocity <= limit * knots)
