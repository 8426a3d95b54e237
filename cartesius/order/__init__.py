"""`correlate`, and what is checked when it is called: which order results depend on, and which windows rows come from.

In reading order: `order_needs`, `order_edges`, `order_outputs`, `windowed_rows`, `correlating`, `alternatives`.
"""
