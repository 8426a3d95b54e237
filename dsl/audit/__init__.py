"""Audit: why a verdict was given, from the rows and the rules that are stored; a year later as on the day.

In reading order: `subjects`, which one is meant; `answers`, the question and its answer; `answer_data`, that as plain
data; `answer_texts`, the answer for people; `why_command`: ``python -m dsl why``.
"""

from .answers import Answer as Answer
from .answers import why as why

__all__ = ["Answer", "why"]
