"""The operators of `restrictions.streams`, each a correlation under restrictions.

In reading order: `combining`, `competing`, `mapping`, `joining`, `letting_through`.
"""
