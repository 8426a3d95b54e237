"""An absence between two events, with a duration besides."""

from restrictions import without

without("stop", between=("start", "arrival"), within=30)
