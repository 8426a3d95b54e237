"""What the yields of a correlation become: events, rows, totals, relations, versions; and where they came from.

In reading order: `recorded_calls`, `provenance`, `unchanged_values`, `outputs`, `relations`, `totals`, `views`,
`announced`, `version_outputs`.
"""
