"""A duration without its unit."""

from dsl import Source
from dsl.units import knots

wind = Source("wind", key=None, velocity=knots, stale_after=30)
