"""The page that edits a file of rules: `python -m dsl edit`.

In reading order: `outline`, `editing`, `typed_values`, `drafts`, `edit_server`.
"""
