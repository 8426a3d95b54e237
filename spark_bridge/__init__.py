"""The Spark bridge: the same correlations, with the same results, over Spark DataFrames.

Read in this order: `frames` (what a caller uses), `sources`, `schemas`, `lineage`, `partitioning` (what is checked
before anything runs), `values`, `envelope` (how rows travel), `buckets` (what runs in a worker, without Spark),
`stateful` (what Spark calls), `dead_letters`, `queries`.
"""

from .frames import Frames as Frames
from .frames import correlate_frames as correlate_frames

__all__ = ["Frames", "correlate_frames"]
