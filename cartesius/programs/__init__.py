"""Programs: `correlate`, the correlations behind the outputs, and how they run: steps, the door, failures, queries.

In reading order: `correlating`, `alternatives`, `sharing`, `programs`, `doors`, `steps`, `failures`, `give_ups`,
`table_reading`, `measures`, `live_programs`.
"""
