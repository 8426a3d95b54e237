"""What stays of a slot, under which key, how often it is used, what is chosen, and what becomes of results.

In reading order: `checks`, `recency`, `keys`, `consumption`, `filters`, `selection`, `counting`, `separation`,
`outer`, `results`, `completion`, `accepting`.
"""
