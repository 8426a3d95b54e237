"""Give-ups: the pushes that were not done by one function of their own, counted by reason.

A generated function that raises has changed nothing, and the push is done as written, which raises as well, and says
where. If it does not, the function was wrong: that is counted, too, and where ``CARTESIUS_STRICT`` is in the
environment, as in the tests of this project, it raises.

Source: DESIGN 4.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from cartesius.errors import InternalError

if TYPE_CHECKING:
    from cartesius.language.reactives import Reactive

STRICT = "CARTESIUS_STRICT"


class LeftToClauses(Exception):
    """What is called in a generated function leaves the push to the clauses as written, with the reason."""


class GiveUps:
    """Counts what was left to the clauses as written."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Reactive | None, str]] = Counter()
        self._reason = ""
        self._error: Exception | None = None

    def leave(self, reason: str) -> None:
        """Take note why a function leaves the present push to the clauses."""
        self._reason, self._error = reason, None

    def failed(self, error: Exception) -> None:
        """Take note that the function of the present push has raised."""
        if isinstance(error, LeftToClauses):
            self.leave(str(error))
        else:
            self._reason, self._error = "", error

    def taken(self) -> tuple[str, Exception | None]:
        """Return what was noted for the present push, and forget it."""
        found = self._reason, self._error
        self._reason, self._error = "", None
        return found

    def count(self, reactive: Reactive | None, reason: str, error: Exception | None = None, *, many: int = 1) -> None:
        """Count a push that the clauses as written have done, or ``many`` rows of a batch."""
        if error is not None:
            reason = f"its function raised {type(error).__name__}, and the clauses as written did not"
        self._counts[reactive, reason] += many
        if error is not None and os.environ.get(STRICT):
            raise InternalError(reason) from error

    def by_reason(self, *reactives: Reactive) -> dict[str, int]:
        """Return how many there were for each reason, the most frequent first: of inputs, or of all and batches."""
        found: Counter[str] = Counter()
        for (reactive, reason), many in self._counts.items():
            if not reactives or reactive in reactives:
                found[reason] += many
        return dict(found.most_common())
