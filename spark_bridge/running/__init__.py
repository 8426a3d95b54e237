"""What Spark calls: the engine of one bucket, and one query for all that a program gives.

In reading order: `row_errors`, `buckets`, `stateful`, `queries`.
"""
