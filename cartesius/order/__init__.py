"""Types of order: on which order of its inputs a result depends, and which order it has.

In reading order: `order_needs`, `order_edges`, `order_outputs`.
"""
