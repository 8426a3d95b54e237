"""Histories: what a port has observed, as a folder of files, read for a pack of rules.

In reading order: `history_files` finds the file of each source and reads it, in columns; `field_columns` says which
column a field may be, and which row cannot be read; `text_rows` are rows as texts, in CSV or JSON;
`history_folders` puts the rows of all sources into their order; `newest_rows` are those that count at a moment.

Only these modules of `dsl`, and those of `comparison`, know Arrow; `import dsl` imports none of them.
"""

from .history_folders import History as History
from .history_folders import UnreadRow as UnreadRow

__all__ = ["History", "UnreadRow"]
