"""The Spark bridge: the same correlations, with the same results, over Spark DataFrames.

Read in this order: `frames` (what a caller uses), `sources`, `schemas`, `lineage`, `partitioning` (what is checked
before anything runs), `values`, `envelope`, `packing` (how rows travel), `buckets` with `arrivals`, `row_order`,
`payloads` (what runs in a worker, without Spark), `emission`, `result_columns` (what it gives), `stateful` (what Spark
calls), `dead_letters`, `row_texts`, `queries`.
"""

from .frames import Frames as Frames
from .frames import correlate_frames as correlate_frames

__all__ = ["Frames", "correlate_frames"]
