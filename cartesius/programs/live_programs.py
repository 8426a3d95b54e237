"""Live programs: programs that are written as texts, and can change while they run.

Source: SPARK_FACTS, what users ask for ("changing the rule without losing state").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.language.reactives import Reactive


@final
@attrs.frozen
class LiveProgram:
    """A program that is written as a text, and can go on as that of another text while it runs.

    >>> from cartesius import Reactive, correlate
    >>> from restrictions import as_table, retracting
    >>> from spark_bridge import LiveProgram
    >>> ship = Reactive("ship", table=True, key="mmsi")
    >>> def deep(text, first):
    ...     least = float(text)
    ...     body = {"where": lambda ship: ship.draught > least, "yields": lambda ship: {"draught": ship.draught}}
    ...     return [correlate(ship=ship, restrict=retracting() | as_table("ship"), name="deep", **body)]
    >>> live = LiveProgram("12", deep)  # correlate_frames(live, …, changes=a stream with a column "text")

    Args:
        text: The text with which it begins.
        read: Makes the outputs of a text, its first argument, as a change of the one with which the program began, its
            second. It raises `CartesiusError` where it cannot. Processes that run the program are sent it, and call it.
    """

    text: str
    read: Callable[[str, str], Sequence[Reactive]]

    def outputs(self, text: str | None = None) -> tuple[Reactive, ...]:
        """Return the outputs of a text; None: of the first."""
        return tuple(self.read(self.text if text is None else text, self.text))
