"""Marks: what an engine was called with since a moment, from which its state follows, so that only that need be saved.

What is noted is what comes, not what changes: an event may let a thousand rows go, and each restriction has a state of
its own kind, while all of it follows from the calls, as the same calls always do the same.

Invariant: a call is noted before it begins, with the position that the engine has then. So it has changed something
exactly if the position after it, which is that of the next call, is another; what was undone, or interrupted, tells
itself, however it ended.

Source: SEMANTICS 1.12 and 1.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius.data.events import Update
from cartesius.data.records import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cartesius.data.events import Time


class Position(NamedTuple):
    """How far an engine has come.

    Args:
        events: How many events it has taken.
        latest: The latest end of those.
        clock: Its clock.
        late: How many events in `Engine.late` nobody has taken.
        ended: How many inputs have ended.
        is_touched: Whether anything was done.
    """

    events: int
    latest: Time
    clock: Time
    late: int
    ended: int
    is_touched: bool


class Mark:
    """A moment of an engine, for `Engine.changes_since`; it holds what came since, until the next one is made.

    Args:
        begin: The position of the engine.
    """

    def __init__(self, begin: Position) -> None:
        self.begin = begin
        self._noted: list[tuple[Position, str, tuple[Any, ...]]] = []

    def note(self, position: Position, call: str, *given: Any) -> None:
        """Note a call that begins: where the engine is, which call it is, and what it is given."""
        self._noted.append((position, call, given))

    def calls(self, end: Position) -> Iterator[tuple[str, tuple[Any, ...], int]]:
        """Iterate over the calls that have changed something: which one, what it was given, how many events it took.

        Args:
            end: The position of the engine now.
        """
        after = [position for position, _, _ in self._noted[1:]]
        for (position, call, given), then in zip(self._noted, [*after, end], strict=False):
            if then != position:
                yield call, given, then.events - position.events

    def __repr__(self) -> str:
        """Show where it is, and how much it holds."""
        n = len(self._noted)
        return f"<mark after event {self.begin.events}, {n} call{'' if n == 1 else 's'} since>"


def as_noted(value: Any) -> Any:
    """Return a payload as it is now, whatever becomes of a dict afterwards."""
    return Update(value.key, wrap(value.value)) if type(value) is Update else wrap(value)
