"""Skipping to a variable that is not in the sequence."""

from cartesius import Reactive
from restrictions import cartesian, in_sequence

gate, quay, tide = Reactive("gate"), Reactive("quay"), Reactive("tide")
cartesian(gate, quay, tide, restrict=in_sequence("gate", "quay", after_match=("to_first", "tide")))
