"""Kernels of streams: gates, lock-step, merges, bands in time, and newest or oldest events.

In reading order: `shapes`, `gate_columns`, `zipping`, `merging`, `band_pairs`, `band_merge`, `bands`, `sequences`,
`absences`, `expiring`, `version_plans`, `versions`.
"""
