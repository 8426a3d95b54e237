"""A span that ends before it begins, whatever the rows say."""

from dsl import Source, instant, throughout
from dsl.units import hours, metres

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
tide = Source("tide", key=None, height=metres, forecast=True)
high = throughout(vessel.eta, vessel.eta - 2 * hours)(tide.height >= 1 * metres)
