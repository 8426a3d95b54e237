"""Bodies: conditions, keys and results as generated functions of columns.

In reading order: `guards`, `linked`, `column_functions`, `column_texts`, `vectorising`, `computed`,
`coding`, `scalars`, `compositions`, `phasing`.
"""
