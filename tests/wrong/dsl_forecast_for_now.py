"""The clock moves on without an event; a forecast is looked up at an instant that stands in a row."""

from dsl import Source, now
from dsl.units import knots

wind = Source("wind", key=None, velocity=knots, forecast=True)
calm = wind.at(now).velocity <= 45 * knots
