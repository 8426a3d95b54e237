"""Batches: a batch checked, cut, given to the stages of a program, or to its engine row by row; and saved state.

In reading order: `feeds`, `slicing`, `row_by_row`, `batch_times`, `keyless`, `fates`,
`shelves`, `keyed_state`, `kept`, `plans`, `written_part`, `single_rows`, `running`.
"""
