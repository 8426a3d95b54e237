"""Layers: handlers of the join shape, whose clauses are computed rather than written as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.effects.handlers import Handler
from cartesius.effects.operations import Operation

if TYPE_CHECKING:
    from cartesius.effects.handlers import Clauses, Named

STRAND_LAYERS = ("memory", "gates", "door")
"""The layers inside the strands, whose clauses can suspend one."""


class Layer(Handler):
    """Clauses that are known once and for all."""

    def __init__(self, named: object, clauses: Clauses) -> None:
        self._named = named
        self._clauses = clauses
        self._is_plain = not any([is_ctl for is_ctl, _ in clauses.values()])

    @property
    def is_plain(self) -> bool:
        """Whether no clause is ctl."""
        return self._is_plain

    def clauses(self) -> Clauses:
        """Return the clauses."""
        return self._clauses

    def __repr__(self) -> str:
        """Show the name, or what has it."""
        return str(self._named)


def layer_of(family: Named | Operation[..., Any]) -> str:
    """Return the layer in which clauses for a family are installed; those for an operation surround the strands."""
    return "outer" if isinstance(family, Operation) else family.layer
