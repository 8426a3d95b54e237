"""An absence that says neither after what, nor before what, nor between what."""

from restrictions import without

without("payment")
