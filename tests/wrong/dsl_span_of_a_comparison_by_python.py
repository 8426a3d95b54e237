"""A condition that Python has compared already."""

from dsl import Source, instant, throughout
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
high = throughout(vessel.eta, vessel.eta + 2 * hours)(2 >= 1)
