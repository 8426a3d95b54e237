"""A pack at work: correlations of its sources' tables, and situations that are judged without an engine.

In reading order: `lowering`, `relation_tables`, `situations`, `situation_tables`.
"""
