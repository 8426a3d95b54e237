"""A lookup at what is no instant."""

from dsl import Source
from dsl.units import knots, metres

vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
wind = Source("wind", key=None, velocity=knots, forecast=True)
calm = wind.at(vessel.draught).velocity <= 45 * knots
