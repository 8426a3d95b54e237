"""Stages: one correlation as a function of columns, and the rows that go in and stay.

In reading order: `rows`, `arrival_order`, `candidates`, `stored_rows`, `stages`, `spans`, `held`, `object_rows`,
`turns`, `step_times`, `aligned_rows`.
"""
