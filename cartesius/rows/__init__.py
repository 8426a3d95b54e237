"""Combinations of entries: which there are in a batch, in order; and what clauses ask of them and of the clock.

In reading order: `following`, `enumeration`, `lone_events`, `listings`, `list_products`, `partial_rows`, `asked_rows`,
`deliveries`, `clock_clauses`, `window_clauses`, `combinations`.
"""
