"""The page that edits a file of rules: `python -m dsl edit`.

In reading order: `outline`, `editing`, `drafts`, `edit_server`.
"""
