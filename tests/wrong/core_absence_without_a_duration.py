"""An absence after an event, for ever: it would never be decided."""

from restrictions import without

without("payment", after="order")
