"""A shared memory: that of several slots, and what the present step has done to it.

Who shares is found in `sharing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.data.entries import Entry
    from cartesius.storage.conservation import Ledger
    from cartesius.storage.memories import Memory


@final
class SharedMemory:
    """The memory of several slots, and what the present step has done to it."""

    def __init__(self, memory: Memory, ledger: Ledger) -> None:
        self.memory = memory
        self.ledger = ledger
        self.leader: object = None  # which slot stores in this step
        self.fresh: list[Entry] = []
        self.gone: list[Entry] = []
        self.aside: list[tuple[Entry, str]] = []  # what has no key, and why it was set aside

    def stores(self, slot: object) -> bool:
        """Whether ``slot`` is the first in this step, and so the one that stores."""
        if self.leader is None:
            self.leader = slot
            return True
        assert self.leader is not slot  # Invariant: one batch a step
        return False

    def note(self, fresh: Iterable[Entry], gone: Iterable[Entry]) -> None:
        """Note what the first slot has done, before its batch ends."""
        self.fresh, self.gone = list(fresh), list(gone)

    def settle(self) -> None:
        """End the step: collect garbage."""
        if self.leader is not None:
            for entry in self.gone:
                self.memory.remove(entry)
            self.memory.settle(self.fresh)
            self.clear()

    def clear(self) -> None:
        """Forget the step."""
        self.leader, self.fresh, self.gone, self.aside = None, [], [], []
