"""The meaning of a term: its value over rows in three-valued logic, its margin, and what keeps it undecided.

In reading order: `verdicts`, `schedules`, `term_expressions`, `lookups`, `shared_terms`, `evaluation`, `margins`,
`foreseen`, `reevaluation`, `raising`.
"""
