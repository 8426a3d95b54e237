"""The page that edits a file of rules: `python -m dsl edit`.

In reading order: `outline`, `editing`, `typed_values`, `drafts`, `file_on_disk`, `edit_server`.
"""
