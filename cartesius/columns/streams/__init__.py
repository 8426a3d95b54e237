"""Kernels of streams: gates, lock-step, merges, bands in time, sequences, absence, and newest or oldest events.

In reading order: `shapes`, `gate_columns`, `zipping`, `merging`, `expiring`, `band_pairs`, `band_merge`,
`bands`, `parts_in_sequence`, `absent_events`, `version_plans`, `versions`.
"""
