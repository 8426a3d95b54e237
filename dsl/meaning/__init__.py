"""The meaning of a term: its value over rows in three-valued logic, its margin, and what keeps it undecided.

In reading order: `verdicts`, `replaced_rows`, `schedules`, `term_expressions`, `lookups`, `shared_terms`, `evaluation`,
`margins`, `foreseen`, `affine`, `doubts`, `reevaluation`, `raising`.
"""
