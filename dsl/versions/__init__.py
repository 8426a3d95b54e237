"""Rules that change: what a change does to a pack, the log of who changed it, and rules that change while they run.

In reading order: `pack_changes`, `pack_logs`, `followed_rules`, `running_rules`.
"""

from .followed_rules import FollowedRules as FollowedRules
from .pack_changes import PackChanges as PackChanges
from .pack_changes import RuleChange as RuleChange
from .pack_changes import changes as changes
from .pack_logs import LoggedPack as LoggedPack
from .pack_logs import PackLog as PackLog
from .running_rules import CHANGE_COLUMNS as CHANGE_COLUMNS
from .running_rules import RunningRules as RunningRules
from .running_rules import going_on as going_on
from .running_rules import publish as publish

__all__ = [
    "CHANGE_COLUMNS",
    "FollowedRules",
    "LoggedPack",
    "PackChanges",
    "PackLog",
    "RuleChange",
    "RunningRules",
    "changes",
    "going_on",
    "publish",
]
