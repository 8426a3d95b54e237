"""Every prediction has an instant of issue."""

from dsl import Source, instant
from dsl.units import knots

wind = Source("wind", key=None, velocity=knots, issued=instant, forecast=True)
