"""Sequences that have a bounded number of beginnings, run as the transducers that they are.

In reading order: `track_shapes`, `track_machines`, `trackers`.
"""
