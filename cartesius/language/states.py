"""States: the parameters of restrictions, as they are declared."""

from __future__ import annotations

from typing import Any


class State:
    """A parameter of a restriction, with the value that a fresh copy has."""

    __slots__ = ("initial",)

    def __init__(self, initial: object) -> None:
        self.initial = initial

    def __repr__(self) -> str:
        """Show it as it is written."""
        return f"state({self.initial!r})"


def state(initial: object = None) -> Any:
    """Declare a parameter of a `Restriction`: plain data or events, replaced and never mutated; one copy a key.

    What is changed in place, rather than replaced, is not undone when a push fails.

    >>> from cartesius import Restriction, state
    >>> class counting(Restriction):
    ...     seen = state(0)
    """
    return State(initial)
