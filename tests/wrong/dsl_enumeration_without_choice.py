from enum import Enum

from dsl import Source

class Cargo(Enum):
    """What a ship carries."""

    OIL = "oil"


ship = Source("ship", key="mmsi", mmsi=int, cargo=Cargo)
