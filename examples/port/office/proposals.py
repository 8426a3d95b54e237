"""Rules that somebody wants in force: what a file has since it was looked at last, or what has come in a topic.

A feed asks for them before each of its batches, and goes on with them, or with those before and the reason.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.errors import CartesiusError
from dsl import RulePack

if TYPE_CHECKING:
    from dsl.versions import FollowedRules


@attrs.frozen
class Proposal:
    """Rules that somebody wants in force.

    Args:
        pack: The rules; None: there are none, or none that can be read.
        who: Who wants them.
        wrong: Why they cannot be read; "" with no rules: what was wrong is so no more.
        number: Which of a topic it is, from 1 on; None: it is of none.
    """

    pack: RulePack | None
    who: str
    wrong: str = ""
    number: int | None = None


Proposals: TypeAlias = Callable[[], Iterable[Proposal]]
"""Returns what has been proposed since it was asked last."""


def none_proposed() -> Iterable[Proposal]:
    """Return that nothing is: what is in force by the store stays so."""
    return ()


def pack_proposal(pack: RulePack, who: str) -> Proposals:
    """Return what asks for a pack that does not change."""
    waiting = [Proposal(pack, who)]
    return lambda: [waiting.pop() for _ in list(waiting)]


def file_proposals(rules: FollowedRules) -> Proposals:
    """Return what asks a file of rules: first for those that it had when it was opened. Its owner wants them."""
    first = [Proposal(rules.pack, _owner(rules))]

    def proposed() -> Iterable[Proposal]:
        if first:
            yield first.pop()
        before = rules.refused
        pack = rules.changed()
        if pack is not None or rules.refused != before:
            yield Proposal(pack, _owner(rules), rules.refused)

    return proposed


def _owner(rules: FollowedRules) -> str:
    try:
        return rules.path.owner()
    except (KeyError, OSError, NotImplementedError):  # a user without a name, or no such thing as an owner
        return str(rules.path)


class TopicProposals:
    """The records of a topic of rules: JSON objects with ``text``, all of the rules, and ``who`` wants them.

    >>> topic = TopicProposals()
    >>> topic.take({"who": "eva", "text": "no rules"})
    >>> [(each.who, each.pack) for each in topic()]
    [('eva', None)]

    Args:
        done: So many records, from the first on, were done with before.
    """

    def __init__(self, done: int = 0) -> None:
        self._come: deque[Proposal] = deque()
        self._number, self._done = 0, done

    def take(self, row: Any) -> None:
        """Take a record."""
        self._number += 1
        if self._number <= self._done:
            return
        fields = row if isinstance(row, dict) else {}
        who, text = fields.get("who"), fields.get("text")
        who = who if isinstance(who, str) and who else "the topic of rules"
        pack, wrong = None, ""
        if not isinstance(text, str):
            wrong = f"expected an object with the rules as its text but got {json.dumps(row, default=repr)[:200]}"
        else:
            try:
                pack = RulePack.from_text(text, "rules of the topic")
            except CartesiusError as error:
                wrong = str(error)
        self._come.append(Proposal(pack, who, wrong, self._number))

    def __call__(self) -> Iterable[Proposal]:
        """Return what has come since this was asked last."""
        while self._come:
            yield self._come.popleft()
