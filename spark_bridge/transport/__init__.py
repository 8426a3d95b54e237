"""Transport: what goes between Spark and the engines, rows in, results and dead letters out, packed.

In reading order: `dead_letters`, `wire`, `packing`, `shuffles`, `row_order`, `arrivals`, `source_frames`,
`emission`, `envelope`, `static_frames`.
"""
