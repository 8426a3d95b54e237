"""Lifetimes: from which step to which a row is there, which rows meet in that time, and what that gives.

In reading order: `overlap`, `lifetimes`, `chaining`, `carrying`, `emitting`, `table_results`, `link_changes`,
`meetings`.
"""
