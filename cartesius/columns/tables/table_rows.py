"""Rows of a table in columns: the versions that a slot has had, those retained and those of the batch.

A version holds from its step to the next one of its key, so that the versions of a key are disjoint.

Source: SEMANTICS 2.1; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import Rows, joined, no_rows
from cartesius.columns.vectors.ordering import begins, by_code, last_of_each
from cartesius.columns.vectors.sameness import unchanged
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices, Vector

_NONE: Final = np.zeros(0, np.int64)


@attrs.frozen(eq=False)
class Versions:
    """All versions of one slot's rows, in order of arrival.

    Args:
        rows: Their columns.
        target: Which row holds from there on: itself, or `MISSING` if it is a deletion.
        position: In which step each comes; empty where there are none.
    """

    rows: Rows
    target: Indices
    position: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def key(self) -> Vector:
        """The keys."""
        assert self.rows.key is not None  # Invariant: versions that there are have keys
        return self.rows.key

    @property
    def has_deletions(self) -> bool:
        """Whether some of them are deletions."""
        return self.rows.deletes is not None and len(self) > 0

    def live(self, codes: NDArray[np.int64], count: int) -> Rows | None:
        """Return the rows that are there in the end; ``codes`` are those of the keys, in ``range(count)``."""
        if not len(self):
            return None
        last = last_of_each(codes, count)
        last = last[last != MISSING]
        last = np.sort(last[self.target[last] != MISSING])
        return self.rows.take(last).as_retained() if len(last) else None


def versions(before: Rows | None, coming: Rows | None) -> Versions:
    """Return the versions of a slot."""
    parts = [one for one in (before, coming) if one is not None and len(one)]
    if not parts:
        return Versions(no_rows(), _NONE, _NONE)
    if len(parts) == 2 and parts[1].deletes is not None and parts[1].deletes.all():
        nothing = np.full(len(parts[1]), MISSING, np.int64)  # of deletions alone the types are not known
        parts[1] = attrs.evolve(parts[1], payload=parts[0].payload.take(nothing, may_miss=True))
    rows = joined(parts)
    target = np.arange(len(rows))
    if rows.deletes is not None:
        target[rows.deletes] = MISSING
    _check_keys(rows.key)
    return Versions(rows, target, rows.position)


def _check_keys(key: Vector | None) -> None:
    """Refuse equal keys that can be told apart."""
    if isinstance(key, Struct):
        for item in key.items:
            _check_keys(item)
    elif isinstance(key, Leaf) and pa.types.is_floating(key.type):
        zeros = key.numbers[key.numbers == 0]
        if len(zeros) and np.signbit(zeros).any():
            raise NotColumnar("a key is -0.0")


@attrs.frozen(eq=False)
class ByKey:
    """The versions of a slot by key, those of a key in order of arrival, without deletions of what is not there.

    Args:
        rows: Which of the versions each is.
        codes: The codes of their keys, ascending.
        first: Whether it is the first of its key.
    """

    rows: Indices
    codes: NDArray[np.int64]
    first: NDArray[np.bool_]


NOTHING: Final = ByKey(_NONE, _NONE, np.zeros(0, np.bool_))


def by_key(them: Versions, codes: NDArray[np.int64], count: int, hot: NDArray[np.bool_] | None = None) -> ByKey:
    """Return the versions by key; if it is said which codes are ``hot``, those alone."""
    if hot is None:
        order = by_code(codes, count)
    else:
        order = np.flatnonzero(hot[codes])
        order = order[by_code(codes[order], count)]
    codes = codes[order]
    first = begins(codes)
    if them.has_deletions:
        gone = them.target[order] == MISSING
        is_vain = gone.copy()
        is_vain[1:] &= first[1:] | gone[:-1]
        if is_vain.any():
            order, codes = order[~is_vain], codes[~is_vain]
            first = begins(codes)
    return ByKey(order, codes, first)


def hot_codes(codes: NDArray[np.int64], rows: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Return which codes some of the ``rows`` have."""
    hot = np.zeros(count, np.bool_)
    hot[codes[rows]] = True
    return hot


def followed(them: Versions, ordered: ByKey) -> Indices:
    """Return of each version which one of its key takes its place; `MISSING` if none does."""
    after = np.full(max(1, len(them)), MISSING, np.int64)
    if len(ordered.rows) > 1:
        has_next = ~ordered.first[1:]
        after[ordered.rows[:-1][has_next]] = ordered.rows[1:][has_next]
    return after


def changes_something(them: Versions, ordered: ByKey) -> NDArray[np.bool_]:
    """Return which versions, by key, are another row than the one before: those that `transiently` lets through."""
    payload = them.rows.payload
    same = np.zeros(len(ordered.rows), np.bool_)
    candidates = np.flatnonzero(~ordered.first)
    new, old = them.target[ordered.rows[candidates]], them.target[ordered.rows[candidates - 1]]
    both = (new != MISSING) & (old != MISSING)
    same[candidates[both]] = unchanged(payload.take(old[both]), payload.take(new[both]))
    return ~same


def has_null(vector: Vector) -> bool:
    """Whether some value is None."""
    return vector.valid is not None
