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
from dsl import InvalidRule, RulePack
from dsl.versions import FollowedRules

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from examples.port.office.records import Pack


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


def file_proposals(rules: FollowedRules, who: str | None = None) -> Proposals:
    """Return what asks a file of rules: at first in any case, then when it has changed.

    Args:
        rules: The file.
        who: Who wants what it says; None: its owner.
    """
    is_first = True

    def proposed() -> Iterable[Proposal]:
        nonlocal is_first
        before = rules.refused
        pack = rules.changed()
        if is_first or pack is not None or rules.refused != before:
            is_first = False
            yield Proposal(pack or (None if rules.refused else rules.pack), who or _owner(rules), rules.refused)

    return proposed


def opened(file: Path, harbour: RulePack, packs: Sequence[Pack] = ()) -> FollowedRules:
    """Return a file of rules, to be followed.

    Args:
        file: The file.
        harbour: The built-in rules, about whose sources the others have to be.
        packs: The rules that have been in force. What is wrong with the file is then no error here, but refused later.

    Raises:
        InvalidRule: There are none, and the file has none of this harbour.
        OSError: There are none, and the file cannot be read.
    """
    if packs:
        return FollowedRules(file, RulePack.from_text(packs[-1].text))
    found = FollowedRules(file)
    if why := unfit(found.pack, harbour):
        message = f"{file}: {why}"
        raise InvalidRule(message)
    return found


def _owner(rules: FollowedRules) -> str:
    try:
        return rules.path.owner()
    except (KeyError, OSError, NotImplementedError):  # a user without a name, or no such thing as an owner
        return str(rules.path)


def unfit(pack: RulePack, before: RulePack) -> str:
    """Return why rules are not about what the office reads, as those before them are; empty if they are.

    Their sources are some of those, and so are their links, by which the office says what a verdict has read.
    """
    known = {source.name: source for source in before.kept}
    for source in pack.kept:
        if source.name not in known or source.key != known[source.name].key:
            return f"expected rules over {', '.join(known)}, by their keys, but got {source.name!r}"
        fields = dict(known[source.name].fields)
        for name, kind in source.fields:
            if fields.get(name) != kind:
                declared = ", which is declared otherwise" if name in fields else f"; there are {', '.join(fields)}"
                return (
                    f"expected fields of {source.name} that the office reads, of their types, but got"
                    f" {name!r}{declared}; begin with a copy of examples/rules/new_york.rules"
                )
    links = set(_ways(before))
    for line in _ways(pack):
        if line not in links:
            return f"expected the links and places of the harbour but got {line.strip()!r}"
    return ""


def _ways(pack: RulePack) -> list[str]:
    blocks = [each for each in pack.to_text().split("\n\n") if each.startswith(("places ", "links:"))]
    return [line for block in blocks for line in block.splitlines()]


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
