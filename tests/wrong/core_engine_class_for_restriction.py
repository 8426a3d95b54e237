"""A restriction's class where a restriction is wanted."""

from cartesius import Reactive
from restrictions import cartesian, fifo

cartesian(Reactive("level"), restrict=fifo)
