"""The compiled tier: batches of columns through kernels over numpy and Arrow.

Imported when `Engine.push_many` is first called; nothing else of `cartesius` knows numpy or Arrow.

Source: DESIGN 4.
"""
