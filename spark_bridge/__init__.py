"""The Spark bridge: the same correlations, with the same results, over Spark DataFrames.

Read in this order: `frames` (what a caller uses), `sources`, `schemas`, `reads` (what is checked before anything runs;
what a program says itself is read in `cartesius.lineage`, `cartesius.partitioning`, `cartesius.partition_choice`),
`values`, `envelope`, `packing`, `wire` (how rows travel), `static_frames`, `prefixes` (rows before all time, the clock
after the last), `buckets` with `arrivals`, `row_order`, `payloads` (what runs in a worker, without Spark), `emission`,
`result_columns` (what it gives), `stateful` (what Spark calls), `raising`, `narrowing`, `dead_letters`, `row_texts`,
`queries`; of the state between calls `bucket_states`, `state_headers`, `state_columns`, `engine_cache`,
`program_cards`, `column_drifts`; what concerns a checkpoint `checkpoints`, `shuffles`, `memory_limits`, `migration`,
`state_contents`, `state_reports`. `testing` is for users' tests.
"""

from .frames import Frames as Frames
from .frames import correlate_frames as correlate_frames
from .migration import Migration as Migration
from .migration import migrate as migrate
from .state_reports import StateReport as StateReport
from .state_reports import state_report as state_report

__all__ = ["Frames", "Migration", "StateReport", "correlate_frames", "migrate", "state_report"]
