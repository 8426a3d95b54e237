"""Comparison of two packs of rules over one history: whom a change would have stopped.

In reading order: `verdict_spans`, what a pack says of each subject and when, judged in this process;
`judging_on_spark`, the same on Spark; `verdict_differences` of two such; `comparing`, the whole;
`comparison_words`, `comparison_report`, `comparison_picture` and `compare_command`, which show it.
"""

from .comparing import Comparison as Comparison
from .comparing import compare as compare
from .verdict_differences import RuleHours as RuleHours
from .verdict_differences import StatusChange as StatusChange

__all__ = ["Comparison", "RuleHours", "StatusChange", "compare"]
