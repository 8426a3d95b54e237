"""A file of rules that a run on Spark follows: looked at after each micro-batch, in force from the next one on.

What is proposed is published into a folder that the query reads as a stream of changes. So the change belongs to a
micro-batch, for good. Where there is a store, it says which micro-batches began with which rules; a run that begins
anew publishes them again before the same ones.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from cartesius.errors import CartesiusError
from dsl import InvalidRule, RulePack
from dsl.versions import CHANGE_COLUMNS, going_on, publish
from examples.port.office.proposals import file_proposals, unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from dsl.versions import FollowedRules
    from examples.port.office.proposals import Proposal
    from examples.port.office.records import Pack


class RuleLog(Protocol):
    """What remembers the rules of a run."""

    def packs(self) -> Sequence[Pack]:
        """Return the rules that have been in force, with the number of the micro-batch from which each was."""
        ...

    def is_new(self, number: int) -> bool:
        """Whether a micro-batch has not been there in an earlier run."""
        ...

    def change_rules(self, pack: RulePack, before: RulePack, who: str, number: int) -> None:
        """Take note that a micro-batch begins with other rules."""
        ...

    def refuse(self, why: str, who: str) -> None:
        """Take note that other rules are not gone on with, and why; "": there are none such."""
        ...


class RuleChanges:
    """The changes of a file, for a query.

    Args:
        rules: The file.
        folder: Where its changes are published.
        say: Gets a line when it has changed, and when it is wrong.
        harbour: About its sources, berths and places the rules have to be.
        log: What remembers them; None: nothing does.
    """

    def __init__(
        self,
        rules: FollowedRules,
        folder: Path,
        say: Callable[[str], object],
        harbour: RulePack,
        log: RuleLog | None = None,
    ) -> None:
        self._proposals, self._folder, self._say, self._log = file_proposals(rules), folder, say, log
        self._harbour = harbour
        first, *since = log.packs() if log is not None else (None,)
        self._since = deque(since)
        self.pack = rules.pack if first is None else RulePack.from_text(first.text)
        """The rules with which the query begins."""
        self._in_force = self.pack.over(self.pack.kept)
        folder.mkdir(parents=True)

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the changes as `correlate_frames` wants them."""
        return spark.readStream.schema(CHANGE_COLUMNS).json(str(self._folder))

    def look(self, number: int) -> None:
        """Publish the rules with which the micro-batch of that number begins, if they are others."""
        while self._since and self._since[0].number <= number:
            again = self._since.popleft()
            self._publish(RulePack.from_text(again.text), again.who)
        if self._log is None or self._log.is_new(number):
            for each in self._proposals():
                self._consider(each, number)

    def _consider(self, proposal: Proposal, number: int) -> None:
        why = proposal.wrong
        if proposal.pack is not None and proposal.pack.version != self._in_force.version:
            try:
                before = self._in_force
                self._publish(proposal.pack, proposal.who)
            except CartesiusError as error:
                why = str(error)
            else:
                self._say(f"rules: version {self._in_force.version} from the next micro-batch on, by {proposal.who}")
                if self._log is not None:
                    self._log.change_rules(proposal.pack, before, proposal.who, number)
        if why:
            self._say(f"the rules go on as they were: {why}")
        if self._log is not None:
            self._log.refuse(why, proposal.who)

    def _publish(self, pack: RulePack, who: str) -> None:
        if why := unfit(pack, self._harbour):
            raise InvalidRule(why)
        self._in_force = going_on(pack, self._in_force)
        publish(pack, self._folder, who=who)
