"""An absence after one event and before another, at once."""

from restrictions import without

without("alarm", after="start", before="stop", within=60)
