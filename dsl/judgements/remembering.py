"""What a judge remembers: of each subject the last two judgements, for as long as the subject's row is there.

A step of the engine asks for the verdict of the old rows as well as of the new ones, so both are kept. Rows are held
weakly: what is remembered keeps no row alive, and is gone with the row of its subject. Only records are remembered,
because nobody can change them.

Invariant: an entry is replaced, never changed, so a reader in another thread sees one judgement or another.

Source: D. Michie, "Memo" Functions and Machine Learning, 1968.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius.data.records import Record

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dsl.meaning.evaluation import Row
    from dsl.meaning.verdicts import Reason, Verdict

    References: TypeAlias = tuple["weakref.ref[Any] | _Held | None", ...]


@final
@attrs.define(eq=False, repr=False, weakref_slot=False)
class Judged:
    """One judgement: what it was made from, the outcome of each condition and requirement, and the verdict."""

    _rows: References
    derived: tuple[Row, ...]
    now: int | None
    readings: tuple[Any, ...]
    answers: list[bool | None]
    reasons: list[Reason | None]
    verdict: Verdict

    def is_of(self, rows: Sequence[Row]) -> bool:
        """Whether it was made from these very rows."""
        for reference, row in zip(self._rows, rows, strict=True):
            if (None if reference is None else reference()) is not row:
                return False
            if row is None and reference is not None:
                return False  # that row is gone
        return True

    def rows(self) -> list[Row] | None:
        """Return the rows that it was made from, or None if one of them is gone."""
        rows: list[Row] = [None if reference is None else reference() for reference in self._rows]
        gone = any(row is None and reference is not None for row, reference in zip(rows, self._rows, strict=True))
        return None if gone else rows


@final
class Memory:
    """The last judgement of each subject, and the one before.

    >>> memory = Memory()
    >>> row = Record({"mmsi": 7})
    >>> references = memory.references(7, [row, None])
    >>> memory.remember(7, Judged(references, (), None, (), [], [], None), None)
    >>> [judged.is_of([row, None]) for judged in memory.of(7)], len(memory)
    ([True], 1)
    >>> del row
    >>> len(memory)
    0
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, tuple[Judged, ...]] = {}

    def __len__(self) -> int:
        """The number of subjects."""
        return len(self._entries)

    def of(self, key: Hashable) -> tuple[Judged, ...]:
        """Return the judgements of the subject ``key``, the latest first."""
        return self._entries.get(key, ())

    def references(self, key: Hashable, rows: Sequence[Row], tables: Sequence[Any] = ()) -> References | None:
        """Return references to the rows of the subject ``key``; None unless all of them are records.

        What tables of relations hold is kept as it is: it belongs to the subject alone, or to a group.
        """
        made: list[weakref.ref[Any] | _Held | None] = []
        for row in rows:
            if row is None:
                made.append(None)
            elif isinstance(row, Record):
                made.append(weakref.ref(row) if made else self._subject(row, key))
            else:
                return None
        return (*made, *(None if table is None else _Held(table) for table in tables))

    def remember(self, key: Hashable, judged: Judged, before: Judged | None) -> None:
        """Keep ``judged`` as the latest judgement of ``key``, and ``before`` as the one before."""
        self._entries[key] = (judged,) if before is None else (judged, before)

    def _subject(self, row: Record, key: Hashable) -> _SubjectRow:
        reference = _SubjectRow(row, _SubjectRow.forget)
        reference.key, reference.entries = key, self._entries
        return reference


@final
class _Held:
    """A reference that keeps what it refers to."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return self._value


@final
class _SubjectRow(weakref.ref[Any]):
    """A reference to the row of a subject; what is remembered of the subject goes with it."""

    __slots__ = ("entries", "key")
    entries: dict[Hashable, tuple[Judged, ...]]
    key: Hashable

    def forget(self) -> None:
        """Drop the entry, unless it is of a newer row."""
        entry = self.entries.get(self.key)
        if entry is not None and entry[0]._rows[0] is self:
            del self.entries[self.key]
