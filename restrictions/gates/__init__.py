"""Gates: events that wait for each other, are turned into others, or are let through by what came before.

In reading order: `alignment`, `folding`, `signals`, `row_gates`, `life_stages`.
"""
