"""A file of rules that a run on Spark follows: looked at after each micro-batch, in force from the next one on.

What the file has then is published into a folder that the query reads as a stream of changes. So the change belongs to
a micro-batch, for good, and a micro-batch that comes again has it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl.versions.published_rules import COLUMNS, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from dsl.versions.followed_rules import FollowedRules


class RuleChanges:
    """The changes of a file.

    Args:
        rules: The file.
        folder: Where its changes are published.
        tell: Gets a line when it has changed, and when it is wrong.
    """

    def __init__(self, rules: FollowedRules, folder: Path, tell: Callable[[str], object]) -> None:
        self._rules, self._folder, self._tell = rules, folder, tell
        self._refused = ""
        folder.mkdir(parents=True)

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the changes as `correlate_frames` wants them."""
        return spark.readStream.schema(COLUMNS).json(str(self._folder))

    def look(self) -> None:
        """Publish what has changed."""
        pack = self._rules.changed()
        if self._rules.refused != self._refused:
            self._refused = self._rules.refused
            if self._refused:
                self._tell(f"the rules go on as they were: {self._refused}")
        if pack is not None:
            logged = publish(pack, self._folder)
            self._tell(f"rules: version {logged.version} from the next micro-batch on, changed by {logged.who}")
