"""Event time and the clock: how long events may be matched, in which order, and that something did not come.

In reading order: `duration`, `event_time`, `gathering`, `versioning`, `non_occurrence`, `absence`.
"""
