"""The same for changes of tables: joins of two, trees of several, rows that are mapped or kept.

In reading order: `direct_table_scope`, `direct_changes`, `joined_tables`, `direct_table_codes`, `direct_trees`,
`direct_tree_codes`, `direct_kept_codes`.
"""
