"""Refusals: how a rule that is wrong is refused, with its own line, a caret, and what to write instead.

In reading order: `errors`, `excerpts`, `spellings`, `quoting`.
"""
