"""A sequence of one slot."""

from cartesius import Reactive
from restrictions import cartesian, in_sequence

gate, quay = Reactive("gate"), Reactive("quay")
cartesian(gate, quay, restrict=in_sequence("gate"))
