"""A prediction is valid until its end, however old it is."""

from dsl import Source
from dsl.units import hours, knots

wind = Source("wind", key=None, velocity=knots, forecast=True, stale_after=6 * hours)
