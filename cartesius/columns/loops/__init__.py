"""Kernels that are loops, written for the restrictions of one correlation, and what of those needs none.

In reading order: `stacking`, `indexing`, `missing_parts`, `stepping_plans`, `stepping_memories`,
`stepping_texts`, `stepping_shapes`, `stepping_events`, `stepping`.
"""
