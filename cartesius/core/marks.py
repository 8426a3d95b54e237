"""Marks: what an engine was called with since a moment, from which its state follows, so that only that need be saved.

What is noted is what comes, not what changes: an event may let a thousand rows go, and each restriction has a state of
its own kind, while all of it follows from the calls, as the same calls always do the same.

Invariant: a call is noted before it begins, with where the engine stands then. So it has changed something exactly if
the engine stands elsewhere after it, which is where it stands before the next call; what was undone, or interrupted,
tells itself, however it ended.

Source: SEMANTICS 1.12 and 1.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import uuid4

from cartesius.data.events import Update
from cartesius.data.records import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cartesius.data.events import Time

    Stand: TypeAlias = "tuple[Position, int]"
    """Where an engine stands: its position, and how many steps it has done, of which columns may count others."""


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

    def __str__(self) -> str:
        """Show what tells most moments apart."""
        return f"event {self.events}, time {self.latest}, clock {self.clock}"


class Mark:
    """A moment of an engine, for `Engine.changes_since`; it holds what came since, until the next one is made.

    Args:
        stand: Where the engine stands.
        name: What tells it from the marks of other engines; by default one that no other has.
    """

    def __init__(self, stand: Stand, name: str = "") -> None:
        self.begin, _ = stand
        self.name = name or uuid4().hex
        self._noted: list[tuple[Stand, str, tuple[Any, ...]]] = []
        self._end: tuple[Stand | None, str] = (None, "")  # where the engine stood when changes were saved, and its name

    def note(self, stand: Stand, call: str, given: tuple[Any, ...]) -> None:
        """Note a call that begins: where the engine stands, which call it is, and what it is given."""
        if self._noted and self._noted[-1][0] == stand:
            self._noted.pop()  # it has changed nothing
        self._noted.append((stand, call, given))

    def calls(self, end: Stand) -> Iterator[tuple[str, tuple[Any, ...], int]]:
        """Iterate over the calls that have changed something: which one, what it was given, how many events it took.

        Args:
            end: Where the engine stands now.
        """
        after = [stand for stand, _, _ in self._noted[1:]]
        for (stand, call, given), then in zip(self._noted, [*after, end], strict=False):
            if then != stand:
                yield call, given, then[0].events - stand[0].events

    def end(self, stand: Stand) -> str:
        """Return the name of the moment at which changes are saved: that of a mark that is made there."""
        if self._end[0] != stand:
            self._end = (stand, uuid4().hex)
        return self._end[1]

    def next(self, stand: Stand) -> Mark:
        """Return the mark that is made after this one; a call that is under way, as this is done, is its first."""
        mark = Mark(stand, self._end[1] if self._end[0] == stand else "")
        mark._noted = [one for one in self._noted[-1:] if one[0] == stand]
        return mark

    def __repr__(self) -> str:
        """Show where it is, and how much it holds."""
        n = len(self._noted)
        return f"<mark after event {self.begin.events}, {n} call{'' if n == 1 else 's'} since>"


def as_noted(value: Any) -> Any:
    """Return a payload as it is now, whatever becomes of a dict afterwards; what is in its fields is not copied."""
    return Update(value.key, wrap(value.value)) if type(value) is Update else wrap(value)
