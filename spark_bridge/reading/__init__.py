"""What a caller asks for, and what the program reads of the frames, checked before anything runs.

In reading order: `options`, `demands`, `prefixes`.
"""
