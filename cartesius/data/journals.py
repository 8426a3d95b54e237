"""The journal of a call: how to undo what it has done to the state; and what an interruption leaves behind.

Ctrl-C, a signal's handler, or whatever else raises in the middle of a call may come between any two instructions. So a
change is noted *before* it is made, by an undo that also fits if it has not been made. Where that cannot be said, as
several tables change together, the journal is *open* for the time of the change; and so it is while a call is undone,
and from where there is no way back to where the results are on their way. Nothing but the code that has opened it
closes it, and never by ``finally``: who finds it open knows that the state is torn.

As Python handles a signal after a call, where it jumps back, and as a function begins, nothing comes between an
exception and the first line of its handler that calls anything. So each handler that undoes a call, or lets an error
carry the results, opens the journal first, and closes it again at its end: who is interrupted once more leaves it open.

Source: SEMANTICS 1.12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Journal(list[Callable[[], object]]):
    """How to undo what the present call has done, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False  # whether the state is between two states, and the undos do not bring it back

    def change(self, do: Callable[[], object], undo: Callable[[], object]) -> None:
        """Change several things that belong together; if ``do`` is interrupted, there is no way back."""
        before, self.is_open = self.is_open, True
        do()
        self.append(undo)
        self.is_open = before

    def roll_back(self) -> None:
        """Undo all."""
        for undo in reversed(self):
            undo()
        self.clear()


def put(table: dict[Any, Any], key: Any, value: Any, journal: Journal) -> None:
    """Put ``value`` under ``key``, or drop the key if there is nothing in it; note how to undo that."""
    before = table.get(key)
    journal.append(lambda: _set(table, key, before))
    _set(table, key, value)


def _set(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value:
        table[key] = value
    else:
        table.pop(key, None)
