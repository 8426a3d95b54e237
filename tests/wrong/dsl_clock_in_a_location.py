"""Where a ship is does not follow from the time of day."""

from dsl import RulePack, Source, instant, now
from dsl.units import hours

vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
port = RulePack("port", subject=vessel, location=(vessel.eta - now) / (1 * hours))
