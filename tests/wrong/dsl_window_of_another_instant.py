"""Two planned instants: which one is meant?"""

from dsl import RulePack, Source, instant, require
from dsl.units import hours, knots

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant, etd=instant)
wind = Source("wind", key=None, velocity=knots, forecast=True)
port = RulePack("port", subject=vessel)
with port:
    require(wind.at(vessel.eta).velocity <= 45 * knots)
    require(wind.at(vessel.etd).velocity <= 45 * knots)
windows = port.next_window(vessel, within=24 * hours)
