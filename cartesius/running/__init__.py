"""A program of correlations: its steps, the door where events come in, failures, and what is read and counted of it.

In reading order: `doors`, `sharing`, `programs`, `steps`, `failures`, `give_ups`, `table_reading`, `measures`.
"""
