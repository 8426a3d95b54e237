"""A strategy after a match that there is not."""

from restrictions import in_sequence

in_sequence("gate", "quay", after_match="skip_to_next")
