"""Plans of loops over steps: what stays of each slot, what meets what, and what comes together.

Source: SEMANTICS 1.2 to 1.7, 1.13, 1.14, 2.6 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

Atoms: TypeAlias = "tuple[str, ...]"
"""The names of the codes that make up a key: ``b0`` is that of bundle 0, ``s0`` that of key space 0."""


@attrs.frozen
class Rule:
    """That the newest, or the oldest, stay.

    Args:
        is_newest: Whether it is the newest.
        n: How many.
        atoms: The names of the codes under which they are counted.
    """

    is_newest: bool
    n: int
    atoms: Atoms


@attrs.frozen
class Plan:
    """What a loop is written for.

    Args:
        rules: Of each slot what stays, in the order in which its restrictions see what comes.
        uses: How often each may be used; None: without limit.
        leaves: Whether each leaves with its batch.
        expires: Whether the clock lets some leave.
        bundles: The slots of each bundle.
        kinds: The slots to which something comes in one step, kind by kind.
        takes_back: Whether results of what is displaced are taken back.
        is_oldest_first: Whether memories are visited so.
        condition: The condition of a candidate, as text; empty: there is none.
        may_miss: Of each slot whether its part may be missing.
        is_final: Whether a row without a partner comes as its event leaves; otherwise at once, and is taken back.
        alone: Where parts may be missing: the condition on each slot alone, as text.
    """

    rules: tuple[tuple[Rule, ...], ...]
    uses: tuple[int | None, ...]
    leaves: tuple[bool, ...]
    expires: tuple[bool, ...]
    bundles: tuple[tuple[int, ...], ...]
    kinds: tuple[tuple[int, ...], ...]
    takes_back: bool
    is_oldest_first: bool
    condition: str
    may_miss: tuple[bool, ...]
    is_final: bool
    alone: tuple[str, ...]

    @property
    def slots(self) -> range:
        """The slots."""
        return range(len(self.uses))

    @property
    def is_partial(self) -> bool:
        """Whether parts may be missing."""
        return any(self.may_miss)

    def lookup(self, slot: int, bound: Sequence[int]) -> Atoms:
        """Return the names of the codes by which rows of a slot are found, given what is bound."""
        return tuple(
            [
                f"b{n}"
                for n, slots in enumerate(self.bundles)
                if slot in slots and any(other in slots for other in bound)
            ]
        )

    def walk(self, fixed: int) -> list[int]:
        """Return the other slots so that each is found by an index, if it can be."""
        order: list[int] = []
        rest = [slot for slot in self.slots if slot != fixed]
        while rest:
            linked = next((slot for slot in rest if self.lookup(slot, [fixed, *order])), rest[0])
            order.append(linked)
            rest.remove(linked)
        return order

    def is_direct(self, fixed: int) -> bool:
        """Whether the slots in their order are such, too."""
        others = [slot for slot in self.slots if slot != fixed]
        found = [bool(self.lookup(slot, [fixed, *others[:place]])) for place, slot in enumerate(others)]
        walk = self.walk(fixed)
        best = {slot: bool(self.lookup(slot, [fixed, *walk[:place]])) for place, slot in enumerate(walk)}
        return all(is_found or not best[slot] for is_found, slot in zip(found, others, strict=True))


@attrs.frozen
class Needs:
    """What a loop needs of the rows.

    Args:
        indexes: The indexes of each slot, by the names of the codes that make their keys.
        codes: The slots and names of the codes.
    """

    indexes: tuple[list[Atoms], ...]
    codes: dict[tuple[int, str], None] = attrs.Factory(dict)
