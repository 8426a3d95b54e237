"""What a pack declares before its rules: sources, forecasts, totals, and rules over two subjects.

In reading order: `sources`, `forecasts`, `counted_rows`, `functions`, `relating`, `admission`.
"""
