"""Kernels that are loops, written for the restrictions of one correlation: consumption, and any stack of them.

In reading order: `loop_texts`, `loops`, `consumption`, `stack_pairs`, `stacking`, `consuming_plans`, `row_lists`,
`indexing`, `missing_parts`, `stepping_plans`, `stepping_memories`, `stepping_texts`, `stepping_shapes`,
`stepping_events`, `stepping`.
"""
