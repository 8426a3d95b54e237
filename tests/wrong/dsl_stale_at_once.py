"""A row cannot be stale before it has come."""

from dsl import Source
from dsl.units import knots, minutes

wind = Source("wind", key=None, velocity=knots, stale_after=0 * minutes)
