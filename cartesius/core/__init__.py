"""The core of an engine: a call that is done as a whole or not at all, its inputs, and who hears what it emits.

In reading order: `pulling`, `marks`, `direct_ways`, `direct_event_time`, `direct_pushes`, `engine_core`, `outlets`.
"""
