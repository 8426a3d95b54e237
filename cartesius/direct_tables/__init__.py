"""The same for changes of tables: joins of two or more, outer joins, rows that are mapped or kept.

In reading order: `direct_table_scope`, `direct_changes`, `direct_trees`, `direct_tree_codes`, `direct_outer_codes`,
`direct_kept_codes`.
"""
