"""The command `python -m dsl why`: why a subject was judged as it was, at any moment of a history.

Exit statuses: 0, there is an answer; 2, there is none, and why.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from cartesius.errors import CartesiusError, InvalidArgument
from dsl.audit.answer_texts import told
from dsl.audit.answers import why
from dsl.command_lines import printable
from dsl.rule_packs import RulePack
from dsl.text.rule_files import rule_text

if TYPE_CHECKING:
    import argparse

ANSWERED: Final = 0
REFUSED: Final = 2


def run(chosen: argparse.Namespace) -> int:
    """Print the answer; return the exit status.

    Args:
        chosen: ``subject`` and ``at``, texts; ``rules`` or ``packs``, a path, the other None; ``data``, a path;
            ``json`` and ``all``, truth values.
    """
    try:
        at = instant(chosen.at)
        rules = chosen.packs
        if chosen.rules is not None:
            rules = RulePack.from_text(rule_text(chosen.rules), str(chosen.rules))
        answer = why(rules, chosen.data, chosen.subject, at)
    except (CartesiusError, OSError, UnicodeError) as error:
        print(printable(str(error)), file=sys.stderr)
        return REFUSED
    # In JSON what is not ASCII is escaped, so that no name can do anything to a terminal.
    print(json.dumps(answer.data(), indent=1) if chosen.json else told(answer, with_all=chosen.all))
    return ANSWERED


def instant(text: str) -> datetime:
    """Return the moment that somebody has typed; without a zone it is in UTC.

    >>> instant("2020-06-30T14:00").isoformat()
    '2020-06-30T14:00:00+00:00'

    Raises:
        InvalidArgument: It is none.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):  # it is none, or its year in UTC is
        message = f'why: expected a time but got --at {text!r}; write it as "2020-06-30T14:00Z"'
        raise InvalidArgument(message) from None
