"""The state of a bucket between calls: what it holds, what it was written by, and what may go on with it.

In reading order: `checkpoints`, `state_headers`, `state_columns`, `migration`, `memory_limits`,
`engine_cache`, `bucket_states`, `state_reports`.
"""
