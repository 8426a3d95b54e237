"""Pushes into streams as one generated function each, where a correlation is known well enough.

In reading order: `direct_shapes`, `direct_clock`, `direct_texts`, `direct_loops`, `direct_places`,
`direct_gates`, `direct_sequences`, `direct_bands`, `leaving`, `direct_codes`, `direct_chains`, `direct_totals`,
`direct_held`, `direct_absences`; and, for what only clauses know, `direct_clauses`.
"""
