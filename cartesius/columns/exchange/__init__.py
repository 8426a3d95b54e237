"""Frames of other libraries in and out, as Arrow has them.

`frame_kinds`: whose frame it is, and back; `frame_feeds`: frames as a batch, by event time; `frame_results`: what the
outputs give, a table each.
"""
