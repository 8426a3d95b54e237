"""The table operators as a good engineer would write them by hand: dicts by key, and an index for the foreign key.

They are the baseline of `bench.tables`: they take the same changes, return the same ones, in one call, and know of
nothing else: no times, no restrictions, no undoing. Values are compared by ``==``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from cartesius import Delete, Update

if TYPE_CHECKING:
    from collections.abc import Callable

Change: TypeAlias = Update | Delete
_ABSENT: Final = object()


class DictJoin(Protocol):
    """What takes the changes of one or two tables."""

    def left(self, change: Change) -> list[Any]:
        """Take a change of the left table, or of the only one; return what changes by it."""

    def right(self, change: Change) -> list[Any]:
        """Take a change of the right table; return what changes by it."""

    def result(self) -> Any:
        """Return the table that results, or the total."""


class _Unary:
    def __init__(self) -> None:
        self.lefts: dict[Any, Any] = {}

    def right(self, change: Change) -> list[Any]:
        raise NotImplementedError  # each subclass says


class _Binary:
    def __init__(self) -> None:
        self.lefts: dict[Any, Any] = {}
        self.rights: dict[Any, Any] = {}


class InnerJoin(_Binary):
    """`inner_join`."""

    def left(self, change: Change) -> list[Any]:
        """Take a change of the left table."""
        key, lefts, rights = change.key, self.lefts, self.rights
        if isinstance(change, Delete):
            return [Delete(key)] if lefts.pop(key, _ABSENT) is not _ABSENT and key in rights else []
        value = change.value
        if key in lefts and lefts[key] == value:
            return []
        lefts[key] = value
        return [Update(key, (value, rights[key]))] if key in rights else []

    def right(self, change: Change) -> list[Any]:
        """Take a change of the right table."""
        key, lefts, rights = change.key, self.lefts, self.rights
        if isinstance(change, Delete):
            return [Delete(key)] if rights.pop(key, _ABSENT) is not _ABSENT and key in lefts else []
        value = change.value
        if key in rights and rights[key] == value:
            return []
        rights[key] = value
        return [Update(key, (lefts[key], value))] if key in lefts else []

    def result(self) -> dict[Any, Any]:
        """Return the joined rows."""
        return {key: (value, self.rights[key]) for key, value in self.lefts.items() if key in self.rights}


class OuterJoin(_Binary):
    """`outer_join`."""

    def left(self, change: Change) -> list[Any]:
        """Take a change of the left table."""
        key, lefts = change.key, self.lefts
        other = self.rights.get(key, _ABSENT)
        if isinstance(change, Delete):
            if lefts.pop(key, _ABSENT) is _ABSENT:
                return []
            return [Delete(key) if other is _ABSENT else Update(key, (None, other))]
        value = change.value
        if key in lefts and lefts[key] == value:
            return []
        lefts[key] = value
        return [Update(key, (value, None if other is _ABSENT else other))]

    def right(self, change: Change) -> list[Any]:
        """Take a change of the right table."""
        key, rights = change.key, self.rights
        other = self.lefts.get(key, _ABSENT)
        if isinstance(change, Delete):
            if rights.pop(key, _ABSENT) is _ABSENT:
                return []
            return [Delete(key) if other is _ABSENT else Update(key, (other, None))]
        value = change.value
        if key in rights and rights[key] == value:
            return []
        rights[key] = value
        return [Update(key, (None if other is _ABSENT else other, value))]

    def result(self) -> dict[Any, Any]:
        """Return the joined rows."""
        return {key: (self.lefts.get(key), self.rights.get(key)) for key in self.lefts.keys() | self.rights.keys()}


class ForeignJoin(_Binary):
    """`foreign_join`: the keys of the left rows are kept by the right row that they name."""

    def __init__(self, on: Callable[[Any], Any]) -> None:
        super().__init__()
        self.on = on
        self.naming: dict[Any, set[Any]] = {}

    def left(self, change: Change) -> list[Any]:
        """Take a change of the left table."""
        key, lefts, rights, naming = change.key, self.lefts, self.rights, self.naming
        before = lefts.get(key, _ABSENT)
        named = _ABSENT if before is _ABSENT else self.on(before)
        if isinstance(change, Delete):
            if before is _ABSENT:
                return []
            del lefts[key]
            self._forget(named, key)
            return [Delete(key)] if named in rights else []
        value = change.value
        if before == value:
            return []
        lefts[key] = value
        now = self.on(value)
        if now != named:
            if named is not _ABSENT:
                self._forget(named, key)
            naming.setdefault(now, set()).add(key)
        if now in rights:
            return [Update(key, (value, rights[now]))]
        return [Delete(key)] if named in rights else []

    def right(self, change: Change) -> list[Any]:
        """Take a change of the right table."""
        key, lefts, rights = change.key, self.lefts, self.rights
        if isinstance(change, Delete):
            return [] if rights.pop(key, _ABSENT) is _ABSENT else [Delete(left) for left in self.naming.get(key, ())]
        value = change.value
        if key in rights and rights[key] == value:
            return []
        rights[key] = value
        return [Update(left, (lefts[left], value)) for left in self.naming.get(key, ())]

    def _forget(self, named: Any, key: Any) -> None:
        keys = self.naming[named]
        keys.discard(key)
        if not keys:
            del self.naming[named]

    def result(self) -> dict[Any, Any]:
        """Return the joined rows."""
        found = ((key, value, self.on(value)) for key, value in self.lefts.items())
        return {key: (value, self.rights[named]) for key, value, named in found if named in self.rights}


class Filter(_Unary):
    """`filter_table`."""

    def __init__(self, predicate: Callable[[Any], Any]) -> None:
        super().__init__()
        self.predicate = predicate

    def left(self, change: Change) -> list[Any]:
        """Take a change."""
        key, lefts = change.key, self.lefts
        if isinstance(change, Delete) or not self.predicate(change.value):
            return [] if lefts.pop(key, _ABSENT) is _ABSENT else [Delete(key)]
        value = change.value
        if key in lefts and lefts[key] == value:
            return []
        lefts[key] = value
        return [Update(key, value)]

    def result(self) -> dict[Any, Any]:
        """Return the rows that pass."""
        return self.lefts


class Total(_Unary):
    """`reduce` to one sum."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def left(self, change: Change) -> list[Any]:
        """Take a change."""
        key, lefts = change.key, self.lefts
        before = lefts.get(key, _ABSENT)
        if isinstance(change, Delete):
            if before is _ABSENT:
                return []
            self.total -= lefts.pop(key)
            return [self.total]
        value = change.value
        if before == value:
            return []
        if before is not _ABSENT:
            self.total -= lefts[key]
        lefts[key] = value
        self.total += value
        return [self.total]

    def result(self) -> Any:
        """Return the total."""
        return self.total


class TotalBy(_Unary):
    """`reduce` to a sum a group."""

    def __init__(self, by: Callable[[Any], Any], of: Callable[[Any], Any]) -> None:
        super().__init__()
        self.by = by
        self.of = of
        self.totals: dict[Any, Any] = {}
        self.counts: dict[Any, int] = {}

    def left(self, change: Change) -> list[Any]:
        """Take a change."""
        key, lefts, totals, counts = change.key, self.lefts, self.totals, self.counts
        before = lefts.get(key, _ABSENT)
        groups: dict[Any, Any] = {}  # what was shown of those that may change
        if isinstance(change, Update):
            if before == change.value:
                return []
            value = lefts[key] = change.value
            group = self.by(value)
            groups[group] = totals.get(group, _ABSENT)
            totals[group] = totals.get(group, 0) + self.of(value)
            counts[group] = counts.get(group, 0) + 1
        elif before is not _ABSENT:
            del lefts[key]
        if before is not _ABSENT:
            group = self.by(before)
            groups.setdefault(group, totals[group])
            totals[group] -= self.of(before)
            counts[group] -= 1
        changes: list[Any] = []
        for group, shown in groups.items():
            if not counts[group]:
                del counts[group], totals[group]
                changes.append(Delete(group))
            elif shown is _ABSENT or totals[group] != shown:
                changes.append(Update(group, totals[group]))
        return changes

    def result(self) -> dict[Any, Any]:
        """Return the totals."""
        return self.totals
