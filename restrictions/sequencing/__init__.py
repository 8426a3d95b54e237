"""Events one after another: what may lie between them, and where the next match may start.

In reading order: `contiguity`, `after_match`, `sequences`, `contexts`.
"""
