"""Vectors: many values of one type as columns, and what Python does on values done on all of them.

In reading order: `kinds`, `vectors`, `conversions`, `making`, `objects`, `normalising`, `lanes`, `calling`,
`arithmetic`, `ordering`, `sameness`, `key_codes`, `spheres`.
"""
