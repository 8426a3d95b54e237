"""Kernels of tables: joins by key and by reference, totals, and rows collected from events.

In reading order: `table_rows`, `timelines`, `causes`, `table_stages`, `foreign_keys`, `same_key`, `announcements`,
`cells`, `table_totals`, `table_extremes`, `group_totals`, `pairing`, `row_joins`, `collating`, `table_plans`.
"""
