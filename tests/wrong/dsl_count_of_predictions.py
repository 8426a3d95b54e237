from dsl import Source, number_of
from dsl.units import knots

wind = Source("wind", key="station", station=str, forecast=True, velocity=knots)
number = number_of(wind)
