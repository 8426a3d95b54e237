"""The windows of a pack are those of its subject."""

from dsl import RulePack, Source, instant, require
from dsl.units import hours, knots

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
wind = Source("wind", key=None, velocity=knots, forecast=True)
port = RulePack("port", subject=vessel)
with port:
    require(wind.at(vessel.eta).velocity <= 45 * knots)
windows = port.next_window(wind, within=24 * hours)
