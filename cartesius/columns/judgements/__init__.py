"""Kernels of what a function says of rows: judgements of rules, and rows that the clock changes.

In reading order: `ways`, `judging`, `rejudging`, `row_judging`, `sifting`, `ageing`.
"""
