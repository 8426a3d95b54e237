"""Only predictions are kept for a while after they ended."""

from dsl import Source
from dsl.units import hours, knots

wind = Source("wind", key=None, velocity=knots, retention=6 * hours)
