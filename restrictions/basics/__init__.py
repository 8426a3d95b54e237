"""What stays of a slot, under which key, how often it is used, what is chosen, and what becomes of results.

In reading order: `checks`, `recency`, `keys`, `uses`, `filters`, `selection`, `counting`, `separation`,
`outer`, `taking_back`, `completion`, `accepting`.
"""
