"""The operators of `restrictions.tables`, each a correlation under restrictions; and how rows are summed up.

In reading order: `groups`, `aggregation`, `tabling`, `table_joins`, `aggregating`, `changing`.
"""
