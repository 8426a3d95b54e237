"""Judging: from the rows of a subject, and what the clock and other rows make of them, to a verdict.

In reading order: `remembering`, `dependencies`, `movements`, `contributions`, `clocks`, `presence`,
`requirement_checks`, `judges`, `accounts`, `passing`, `considering`, `tallies`, `pairs`, `related`.
"""
