"""An absence within a negative duration."""

from restrictions import without

without("payment", after="order", within=-30)
