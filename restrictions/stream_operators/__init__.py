"""The operators of `restrictions.streams`, each a correlation under restrictions.

In reading order: `combining`, `alternatives`, `mapping`, `pairing`, `passing`.
"""
