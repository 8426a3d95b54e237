"""Proofs about rules: conditions that cannot hold together, rules that never apply, and the lint that says so.

In reading order: `formulas`, `linear_forms`, `proving`, `findings`, `linting`, `surroundings`.
"""
