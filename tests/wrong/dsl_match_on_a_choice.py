from dsl import RulePack, Source, choice, require
from dsl.units import degrees, knots

vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=choice("tanker", "container", "barge"))
wind = Source("wind", key=None, velocity=knots, direction=degrees)
port = RulePack("port", subject=vessel)

with port:
    match vessel.vessel_type:
        case "tanker" | "barge":
            require(wind.velocity <= 30 * knots)
