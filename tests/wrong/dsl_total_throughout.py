from dsl import RulePack, Source, number_of, instant, require, throughout
from dsl.units import hours, metres

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
tug = Source("tug", key="id", id=int)
tide = Source("tide", key=None, forecast=True, height=metres)
port = RulePack("port", subject=vessel)
with port:
    require(throughout(vessel.eta, vessel.eta + 2 * hours)((tide.height >= 1 * metres) & (number_of(tug) >= 2)))
