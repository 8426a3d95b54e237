from dsl import Source, count
from dsl.units import knots

wind = Source("wind", key="station", station=str, forecast=True, velocity=knots)
number = count(wind)
