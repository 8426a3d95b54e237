"""A condition that nothing changes in the span."""

from dsl import Source, instant, throughout
from dsl.units import hours, metres

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant, draught=metres)
shallow = throughout(vessel.eta, vessel.eta + 2 * hours)(vessel.draught <= 10 * metres)
