"""Stages: one correlation as a function of columns, and the rows that go in and stay.

In reading order: `rows`, `candidates`, `stored_rows`, `stages`, `spans`, `held`, `turns`,
`aligned_rows`.
"""
