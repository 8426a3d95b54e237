"""Single joins as a good engineer would write them by hand, each a plain class: the baseline of `bench.pushes`.

They take one event after the other, in order of time, and return what it makes, and know of nothing else: no late
events, no snapshots, no undoing, one program each. They keep the one field that is read, or whole rows (``whole``).
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bench.dict_joins import ForeignJoin

if TYPE_CHECKING:
    from cartesius import Reactive


@dataclass(slots=True)
class Made:
    """A result, with its hull."""

    value: Any
    start: int
    end: int


class ByHand(Protocol):
    """What takes events."""

    def push(self, reactive: Reactive, payload: Any, at: int) -> list[Made]:
        """Take an event; return what it makes."""


class Latest:
    """The newest event of a key on one side, with that on the other."""

    def __init__(self, left: Reactive, right: Reactive, *, whole: bool = False) -> None:
        self._left, self._whole = left, whole
        self._lefts: dict[Any, tuple[Any, int]] = {}
        self._rights: dict[Any, tuple[Any, int]] = {}

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        key, value = payload["k"], payload if self._whole else payload["v"]
        if reactive is self._left:
            self._lefts[key] = value, at
            other = self._rights.get(key)
            return [] if other is None else [Made((value, other[0]), other[1], at)]
        self._rights[key] = value, at
        other = self._lefts.get(key)
        return [] if other is None else [Made((other[0], value), other[1], at)]


class Band:
    """Events of a key that are at most so far apart."""

    def __init__(self, left: Reactive, right: Reactive, width: int, *, whole: bool = False) -> None:
        self._left, self._width, self._whole = left, width, whole
        self._lefts: defaultdict[Any, deque[tuple[int, Any]]] = defaultdict(deque)
        self._rights: defaultdict[Any, deque[tuple[int, Any]]] = defaultdict(deque)

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        key, value = payload["k"], payload if self._whole else payload["v"]
        is_left = reactive is self._left
        mine, others = (self._lefts, self._rights) if is_left else (self._rights, self._lefts)
        near, first = others[key], at - self._width
        while near and near[0][0] < first:
            near.popleft()
        mine[key].append((at, value))
        if is_left:
            return [Made((value, other), time, at) for time, other in reversed(near)]
        return [Made((other, value), time, at) for time, other in reversed(near)]


class LeftBand:
    """Likewise, and an event of the first kind that has met none, once none can come any more."""

    def __init__(self, left: Reactive, width: int, *, whole: bool = False) -> None:
        self._left, self._width, self._whole = left, width, whole
        self._due: deque[list[Any]] = deque()  # time, value, whether it is alone
        self._lefts: defaultdict[Any, deque[list[Any]]] = defaultdict(deque)
        self._rights: defaultdict[Any, deque[tuple[int, Any]]] = defaultdict(deque)

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        key, value, first = payload["k"], payload if self._whole else payload["v"], at - self._width
        due, made = self._due, []
        while due and due[0][0] < first:
            time, left, is_alone = due.popleft()
            if is_alone:
                made.append(Made((left, None), time, time))
        lefts, rights = self._lefts[key], self._rights[key]
        while lefts and lefts[0][0] < first:
            lefts.popleft()
        while rights and rights[0][0] < first:
            rights.popleft()
        if reactive is self._left:
            one = [at, value, not rights]
            due.append(one)
            lefts.append(one)
            made += [Made((value, other), time, at) for time, other in reversed(rights)]
            return made
        rights.append((at, value))
        for one in reversed(lefts):
            one[2] = False
            made.append(Made((one[1], value), one[0], at))
        return made


class Sequence:
    """An event of the first kind, the next one of the second after it, and the next one of the third after that."""

    def __init__(self, first: Reactive, second: Reactive, width: int, *, whole: bool = False) -> None:
        self._first, self._second, self._width, self._whole = first, second, width, whole
        self._begun: defaultdict[Any, list[tuple[int, Any]]] = defaultdict(list)
        self._half: defaultdict[Any, list[tuple[int, Any, Any]]] = defaultdict(list)

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        key, value = payload["k"], payload if self._whole else payload["v"]
        since = at - self._width
        if reactive is self._first:
            begun = self._begun[key]
            if begun and begun[0][0] < since:
                begun[:] = [one for one in begun if one[0] >= since]
            begun.append((at, value))
            return []
        if reactive is self._second:
            begun = self._begun[key]
            half = [one for one in self._half[key] if one[0] >= since]
            half += [(start, one, value) for start, one in begun if start >= since]
            self._half[key] = half
            begun.clear()
            return []
        half = self._half.pop(key, [])
        return [Made((one, two, value), start, at) for start, one, two in half if start >= since]


class Rising(Sequence):
    """The same, where each value is greater than the one before."""

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        key, value, since = payload["k"], payload["v"], at - self._width
        item = payload if self._whole else value
        if reactive is self._first:
            begun = self._begun[key] = [one for one in self._begun[key] if one[0] >= since]
            begun.append((at, item))
            return []
        if reactive is self._second:
            half, left = [one for one in self._half[key] if one[0] >= since], []
            for start, one in self._begun[key]:
                if start >= since and (one["v"] if self._whole else one) < value:
                    half.append((start, one, item))
                elif start >= since:
                    left.append((start, one))
            self._half[key], self._begun[key] = half, left
            return []
        made, waiting = [], []
        for start, one, two in self._half[key]:
            if start >= since and (two["v"] if self._whole else two) < value:
                made.append(Made((one, two, item), start, at))
            elif start >= since:
                waiting.append((start, one, two))
        self._half[key] = waiting
        return made


class Without:
    """An event after which none of another kind comes for some time: known when that is over."""

    def __init__(self, first: Reactive, width: int, *, whole: bool = False) -> None:
        self._first, self._width, self._whole = first, width, whole
        self._due: deque[list[Any]] = deque()  # time, key, value, whether it still waits
        self._waiting: defaultdict[Any, list[list[Any]]] = defaultdict(list)

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        due, made = self._due, []
        while due and due[0][0] + self._width < at:
            time, key, value, waits = due.popleft()
            if waits:
                self._waiting[key].pop(0)
                made.append(Made(value, time, time))
        key = payload["k"]
        if reactive is self._first:
            one = [at, key, payload if self._whole else payload["v"], True]
            due.append(one)
            self._waiting[key].append(one)
        else:
            for one in self._waiting.pop(key, ()):
                one[3] = False
        return made


class Sums:
    """The sum by key and window, told with each event."""

    def __init__(self, size: int, period: int) -> None:
        self._size, self._period = size, period
        self._windows: dict[int, dict[Any, Any]] = {}  # by start, ascending

    def push(self, reactive: Reactive, payload: dict[str, Any], at: int) -> list[Made]:
        """Take an event."""
        key, value, windows, made = payload["k"], payload["v"], self._windows, []
        while windows and (first := next(iter(windows))) + self._size <= at:
            del windows[first]
        last = at // self._period * self._period
        for start in range(last - self._size + self._period, last + 1, self._period):
            sums = windows.setdefault(start, {})
            total = sums[key] = sums.get(key, 0) + value
            made.append(Made((key, start, total), at, at))
        return made


class Foreign:
    """Rows of a table with the row of another one that they name."""

    def __init__(self, left: Reactive) -> None:
        self._left = left
        self._join = ForeignJoin(lambda row: row["k"])

    def push(self, reactive: Reactive, change: Any, at: int) -> list[Made]:
        """Take a change."""
        found = self._join.left(change) if reactive is self._left else self._join.right(change)
        return [Made(one, at, at) for one in found]
