"""Bodies: conditions, keys and results as generated functions of columns.

In reading order: `guards`, `vectorising`, `computed`, `coding`, `scalars`, `compositions`, `lanes`,
`lane_functions`, `linked`, `predicted`, `forms`, `form_columns`, `phasing`.
"""
