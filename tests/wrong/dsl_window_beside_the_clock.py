"""By this rule the windows would change at every instant."""

from dsl import RulePack, Source, instant, now, require
from dsl.units import hours, knots

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
wind = Source("wind", key=None, velocity=knots, forecast=True)
port = RulePack("port", subject=vessel)
with port:
    require(wind.at(vessel.eta).velocity <= 45 * knots)
    require(vessel.eta - now >= 2 * hours)
windows = port.next_window(vessel, within=24 * hours)
