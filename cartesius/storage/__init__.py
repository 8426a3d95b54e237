"""What a slot keeps: memories and their indexes, rows, versions, the queue at its door, the count of its deliveries.

In reading order: `memories`, `row_memories`, `version_memories`, `versions_in_order`, `kept_rows`, `shared_memories`,
`pauses`, `conservation`, `stored`.
"""
