"""Probes: what is computed of an entry, so that a memory can find it.

Source: SEMANTICS 1.4 and 1.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.data.entries import ABSENT
from cartesius.data.records import wrap
from cartesius.data.window_spans import window_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.data.entries import Entry

Shown: TypeAlias = "Callable[[Sequence[Entry | None]], list[Entry | None]]"


def no_key_yet(value: Any) -> Any:
    """A window is known only when an event is delivered to it."""
    return ABSENT


def key_probe(space: int) -> Callable[[Entry], Any]:
    """Return what reads the key of an entry in a key space."""
    return lambda entry: entry.keys[space]


def value_probe(evaluate: Callable[[Any], Any], shown: Shown | None) -> Callable[[Entry], Any]:
    """Return what computes a value of an entry, as it is shown."""
    return (lambda entry: evaluate((entry,))) if shown is None else lambda entry: evaluate(shown((entry,)))


def showing(show: Callable[[Any], Any]) -> Shown:
    """Return what shows the parts that are in a window."""

    def shown(parts: Sequence[Entry | None]) -> list[Entry | None]:
        return [
            part if part is None or window_of(part) is None else part.with_value(wrap(show(part.value)))
            for part in parts
        ]

    return shown
