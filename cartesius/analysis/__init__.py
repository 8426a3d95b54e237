"""What can be said of a program before it runs: where a column comes from, how it may be split, what it holds.

In reading order: `lineage`, `waiting`, `partitioning`, `partition_choice`, `windowed_rows`, `bounds`,
`sequence_automata`; of frames `frame_reads`.
"""
