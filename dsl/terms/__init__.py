"""Terms and statements of rules as frozen data, without behaviour; and what can be read off them.

In reading order: `dimensions`, `intervals`, `instants`, `terms`, `points`,
`negations`, `statements`, `links`, `related_rows`, `texts`.
"""
