"""Writing rules in Python: operators, blocks and places, with dimensions checked as they are written.

In reading order: `checking`, `wording`, `fluent`, `durations`, `places`, `blocks`.
"""
