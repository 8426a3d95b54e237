"""Groups: numbers of keys, and sums, extremes and firsts of many groups at once, exactly.

In reading order: `fixed_point`, `totalling`, `sums`, `extremes`, `standing`, `key_numbers`.
"""
