"""Benchmarks: ratios against a baseline that a good engineer would have written, measured in one run."""
