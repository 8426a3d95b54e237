"""A restriction on a slot that there is not."""

from cartesius import Reactive
from restrictions import cartesian, most_recently

tide, ship = Reactive("tide"), Reactive("ship")
cartesian(tide, ship, restrict=most_recently("tied"))
