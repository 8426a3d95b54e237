"""Pushes as one generated function each, where a correlation is known well enough.

In reading order: `direct_places`, `direct_texts`, which has what all share, and `leaving`; for products of streams
`direct_shapes`, `direct_loops`, `direct_sequences`, `direct_bands`, `direct_codes`; for other streams
`closing`, `direct_windows`, `direct_held`, `direct_absences`; for tables `direct_changes`, `direct_trees`; and, for
what only clauses know, `direct_clauses`.
"""
