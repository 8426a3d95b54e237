"""Key numbers: of each key a number, from 0 on as they come, the same for keys that are equal in Python's sense.

Whole numbers of 64 bits, which most keys are, are found in two arrays by open addressing, all those of a batch at once:
a batch then waits for the processor's memory a few times, not once a key. As soon as another key comes, all are in a
dict.

Invariant: a number that has been given stays.

Source: Knuth, The art of computer programming, vol. 3, 6.4 (algorithm L; multiplicative hashing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.ordering import single
from cartesius.columns.vectors.vectors import Leaf

if TYPE_CHECKING:
    from cartesius.columns.vectors.vectors import Ints, Vector

FREE: Final = -1
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: multiplied by it, keys in a row lie far apart."""
_LEAST_BITS: Final = 8


class KeyNumbers:
    """The numbers of keys of any type."""

    def __init__(self) -> None:
        self._of: WholeNumbers | dict[Any, int] = WholeNumbers()
        self._near: dict[Any, int] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._of)

    def begin(self) -> None:
        """Begin a batch: its keys are looked up as they come, and as they stay, and the second time they are near."""
        self._near = {}

    def of(self, keys: Vector) -> Ints:
        """Return the numbers of keys, of new ones as well.

        Raises:
            TypeError: A key cannot be hashed.
        """
        if isinstance(self._of, WholeNumbers):
            if isinstance(keys, Leaf) and pa.types.is_signed_integer(keys.type) and not keys.array.null_count:
                return self._of.of(keys.numbers.astype(np.int64, copy=False))
            self._of = self._of.as_dict()
        numbers, near, listed = self._of, self._near, keys.to_list()
        for key in listed:
            if key not in near:
                near[key] = numbers.setdefault(key, len(numbers))  # all of them are in no cache of the processor
        return np.array([near[key] for key in listed], np.int64)


class WholeNumbers:
    """The numbers of keys that are whole numbers of 64 bits."""

    def __init__(self) -> None:
        self._n = 0
        self._slots = _empty(_LEAST_BITS)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._n

    def of(self, keys: Ints) -> Ints:
        """Return the numbers of keys; those that are new get one."""
        found = self._found(keys)
        if (is_new := found == FREE).any():
            new = single(keys[is_new])
            while 2 * (self._n + len(new)) > len(self._slots[0]):
                self._grow()
            first, self._n = self._n, self._n + len(new)
            _put(self._slots, new, np.arange(first, self._n))
            found[is_new] = self._found(keys[is_new])
        return found

    def as_dict(self) -> dict[Any, int]:
        """Return all keys with their numbers."""
        keys, numbers = self._slots
        there = numbers != FREE
        return dict(zip(keys[there].tolist(), numbers[there].tolist(), strict=True))

    def _found(self, wanted: Ints) -> Ints:
        """Return the numbers of keys, `FREE` of those that are not there."""
        keys, numbers = self._slots
        found, seeking, slot = np.full(len(wanted), FREE, np.int64), np.arange(len(wanted)), _first(wanted, len(keys))
        while len(seeking):
            number = numbers[slot]
            is_here = keys[slot] == wanted[seeking]
            found[seeking[is_here]] = number[is_here]
            goes_on = ~is_here & (number != FREE)
            seeking, slot = seeking[goes_on], (slot[goes_on] + 1) & (len(keys) - 1)
        return found

    def _grow(self) -> None:
        keys, numbers = self._slots
        there = numbers != FREE
        larger = _empty(len(keys).bit_length())
        _put(larger, keys[there], numbers[there])
        self._slots = larger


def _empty(bits: int) -> tuple[Ints, Ints]:
    return np.zeros(1 << bits, np.int64), np.full(1 << bits, FREE, np.int64)


def _first(wanted: Ints, n: int) -> Ints:
    """Return of each key the first of ``n`` slots where it may be."""
    hashed: Ints = ((wanted.view(np.uint64) * _GOLDEN) >> np.uint64(65 - n.bit_length())).astype(np.int64)
    return hashed


def _put(slots: tuple[Ints, Ints], new: Ints, given: Ints) -> None:
    """Put keys that are not there into slots, with the numbers ``given`` to them."""
    keys, numbers = slots
    seeking, slot = np.arange(len(new)), _first(new, len(keys))
    while len(seeking):
        free = numbers[slot] == FREE
        keys[slot[free]] = new[seeking[free]]  # of several that want one slot, the last has it
        has_it = free & (keys[slot] == new[seeking])
        numbers[slot[has_it]] = given[seeking[has_it]]
        seeking, slot = seeking[~has_it], (slot[~has_it] + 1) & (len(keys) - 1)
