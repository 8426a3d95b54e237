"""Columns: Spark's types, those of results, and the values of both as Arrow has them.

In reading order: `values`, `computed_types`, `schemas`, `result_columns`, `column_drifts`, `payloads`, `instances`,
`row_texts`, `written_texts`, `table_columns`.
"""
