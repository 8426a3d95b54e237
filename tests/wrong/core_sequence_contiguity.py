"""A contiguity that there is not."""

from restrictions import in_sequence

in_sequence("gate", "quay", contiguity="relaxd")
