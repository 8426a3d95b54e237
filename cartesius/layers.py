"""Layers: handlers of the join shape, whose clauses are computed rather than written as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.handlers import Handler

if TYPE_CHECKING:
    from cartesius.handlers import Clauses


class Layer(Handler):
    """Clauses that are known once and for all."""

    def __init__(self, name: str, clauses: Clauses) -> None:
        self._name = name
        self._clauses = clauses
        self._is_plain = not any(is_ctl for is_ctl, _ in clauses.values())

    @property
    def is_plain(self) -> bool:
        """Whether no clause is ctl."""
        return self._is_plain

    def clauses(self) -> Clauses:
        """Return the clauses."""
        return self._clauses

    def __repr__(self) -> str:
        """Show the name."""
        return self._name
