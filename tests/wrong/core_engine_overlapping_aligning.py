"""Two sets of aligned slots with one in common."""

from cartesius import Reactive
from restrictions import aligning, cartesian

tide, wind, ship = Reactive("tide"), Reactive("wind"), Reactive("ship")
cartesian(tide, wind, ship, restrict=aligning("tide", "wind") | aligning("wind", "ship"))
