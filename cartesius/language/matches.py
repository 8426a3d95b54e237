"""Matches: what selectors choose among."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cartesius.data.entries import Candidate
    from cartesius.language.families import Slot


@attrs.define(slots=True)
class Match:
    """A candidate that satisfied the body, as clauses for `select` receive it.

    >>> from cartesius import Match
    >>> def lasts(match: Match) -> int:
    ...     return match.end - match.start  # also: .value (what was yielded first), .values, .parts (entries by slot)

    Args:
        parts: The entries, in slot order; None where an optional part is missing.
        start: First instant of the hull, in time units.
        end: Last instant of the hull, in time units.
        values: What the body yielded, one value or more.
    """

    parts: Candidate
    start: Any
    end: Any
    values: list[Any]

    @property
    def value(self) -> Any:
        """What the body yielded first."""
        return self.values[0]


def by_key(
    matches: Iterable[Match], slots: Sequence[Slot], positions: tuple[int, ...]
) -> dict[tuple[Any, ...] | None, list[Match]]:
    """Group matches by the key, in the key spaces at ``positions``, of their parts in ``slots``; None if all miss."""
    groups: dict[tuple[Any, ...] | None, list[Match]] = {}
    for match in matches:
        part = next((part for slot in slots if (part := match.parts[slot.index]) is not None), None)
        key = None if part is None else tuple([part.keys[p] for p in positions])
        groups.setdefault(key, []).append(match)
    return groups
