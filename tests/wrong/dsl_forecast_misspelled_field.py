"""A predicted field that is not declared."""

from dsl import Source, instant
from dsl.units import knots

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
wind = Source("wind", key=None, velocity=knots, forecast=True)
calm = wind.at(vessel.eta).velocty <= 45 * knots
