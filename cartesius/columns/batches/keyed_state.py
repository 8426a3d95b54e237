"""State by key: of all that a correlation holds, a small batch touches the rows of the keys that come in it.

A kernel looks at the whole state that it is given. Where rows meet under one key alone (`Stage.split`) a batch changes
nothing under the keys that it does not bring: so the kernel is given the rows of its keys, and they are put back after
it. They are found by chains: of each key the last row, and of each row the one of its key before it. Rows lie in few
parts, one after the other, each much longer than the next: the last ones are put together until that is so. What the
clock lets leave meanwhile leaves once all of the state is looked at, as it will when it has become twice as long.

Invariant: what is held is what the chains lead to, but for what the clock has passed.

Source: O'Neil et al., The log-structured merge-tree, doi:10.1007/s002360050048.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import Rows, joined
from cartesius.columns.stages.stages import State
from cartesius.columns.vectors.ordering import begins
from cartesius.columns.vectors.vectors import Leaf, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.stages import Moment, Outcome, Stage

    Ints = NDArray[np.int64]

NONE: Final = -1
LEAST: Final = 1 << 14
"""Of fewer rows a kernel looks at all in no time."""
SMALL: Final = 8
"""A batch is small if so many times its rows are held."""
LONGER: Final = 4
"""So many times longer is a part than the one behind it, at least."""


class NotSplit(Exception):
    """Rows cannot be kept by key."""


class Shelf:
    """The rows of one slot."""

    def __init__(self) -> None:
        self.parts: list[Rows] = []
        self.n = 0
        self.held = 0
        self._before = np.zeros(0, np.int64)  # of each row the one of its key before it; the array is longer
        self._last = np.zeros(0, np.int64)  # of each code; likewise

    @property
    def nbytes(self) -> int:
        """How many bytes its rows and chains take, beside payload and keys."""
        return self._before.nbytes + self._last.nbytes + sum(part.nbytes for part in self.parts)

    def put(self, rows: Rows, codes: Ints) -> None:
        """Put rows behind those that are there, given the codes of their keys."""
        if not len(rows):
            return
        order = np.argsort(codes, kind="stable")
        code, number = codes[order], self.n + order
        first = begins(code)
        self._last = _as_long(self._last, int(code[-1]) + 1)
        self._before = _as_long(self._before, self.n + len(rows))
        self._before[number[1:]] = number[:-1]
        self._before[number[first]] = self._last[code[first]]
        is_last = np.append(first[1:], True)
        self._last[code[is_last]] = number[is_last]
        self.n += len(rows)
        self.held += len(rows)
        self.parts.append(rows)
        while len(self.parts) > 1 and len(self.parts[-2]) < LONGER * len(self.parts[-1]):
            self.parts[-2:] = [joined(self.parts[-2:])]

    def of(self, codes: Ints) -> Ints:
        """Return the numbers of the rows of some keys, ascending."""
        there = self._last[codes[codes < len(self._last)]]
        found = [there[:0]]
        while len(there := there[there != NONE]):
            found.append(there)
            there = self._before[there]
        return np.sort(np.concatenate(found))

    def forget(self, codes: Ints) -> None:
        """Let the rows of some keys go."""
        self.held -= len(self.of(codes))
        self._last[codes[codes < len(self._last)]] = NONE

    def rows(self, numbers: Ints) -> Rows | None:
        """Return the rows of these numbers, in the order of arrival; None if none has ever been there."""
        if not self.parts:
            return None
        firsts = np.cumsum([0, *map(len, self.parts)])
        cuts = np.searchsorted(numbers, firsts)
        found = [
            part.take(numbers[since:until] - first)
            for part, first, since, until in zip(self.parts, firsts.tolist(), cuts, cuts[1:], strict=False)
        ]
        rows = joined(found)
        arrived = rows.number
        return rows if (arrived[1:] >= arrived[:-1]).all() else rows.take(np.argsort(arrived, kind="stable"))

    def is_like(self, rows: Rows) -> bool:
        """Whether rows are of the types of those that are there: so they can lie beside them."""
        return not self.parts or _types(self.parts[0]).equals(_types(rows), check_metadata=True)

    def all(self) -> Rows | None:
        """Return all that is held."""
        return self.rows(self.of(np.arange(len(self._last))))


class KeyedState:
    """The state of a stage by key.

    Args:
        stage: Whose state it is.
        state: All of it.

    Raises:
        NotSplit: It cannot be taken apart.
    """

    def __init__(self, stage: Stage, state: State) -> None:
        self.stage = stage
        self.more = state.more
        self._clock: int | None = None  # what it has passed has left,
        self._newest: list[Ints] = []  # but for these rows by their numbers, which came when it was there
        self._most = 2 * state.n_retained + LEAST
        self._codes: dict[Any, int] = {}
        self._shelves = [Shelf() for _ in state.retained]
        for shelf, rows, codes in zip(self._shelves, state.retained, self._coded(state.retained), strict=True):
            if rows is not None:
                shelf.put(rows, codes)

    @property
    def whole(self) -> State:
        """All of it."""
        return self._of([shelf.all() for shelf in self._shelves])

    def _of(self, retained: Sequence[Rows | None]) -> State:
        """Return the state of some rows, without what the clock has passed."""
        state = State(tuple(retained), self.more)
        passed = None if self._clock is None else self.stage.passed(state, self._clock)
        if passed is None:
            return state
        pairs = zip(state.retained, passed.retained, strict=True)
        return attrs.evolve(state, retained=tuple([self._left(rows, left) for rows, left in pairs]))

    def _left(self, rows: Rows | None, left: Rows | None) -> Rows | None:
        if rows is None or left is None or len(left) == len(rows):
            return rows
        stays = np.isin(rows.number, np.concatenate([left.number, *self._newest]))
        return rows.take(np.flatnonzero(stays))

    def may_pass(self, clock: int) -> bool:
        """Whether the clock would not go back."""
        return self._clock is None or clock >= self._clock

    def pass_time(self, clock: int) -> None:
        """Move the clock."""
        if self.stage.keeps_time:
            self._clock, self._newest = clock, []

    @property
    def n_retained(self) -> int:
        """How many rows are held."""
        return sum(shelf.held for shelf in self._shelves)

    @property
    def nbytes(self) -> int:
        """How many bytes the rows take, beside payload and keys."""
        return sum(shelf.nbytes for shelf in self._shelves)

    def run(self, arriving: Mapping[int, Rows], moment: Moment) -> tuple[Outcome, Change]:
        """Run the stage on the rows of the keys that come; return what makes the state after it: nothing has changed.

        Raises:
            NotSplit: What stays cannot lie beside what is there.
        """
        coming = self._coded([arriving.get(slot) for slot in range(len(self._shelves))])
        codes = np.unique(np.concatenate(coming))
        before = self._of([shelf.rows(shelf.of(codes)) for shelf in self._shelves])
        outcome = self.stage.run(before, arriving, moment)
        clock = moment.last_clock if moment.meets_deadlines else None
        after = outcome.state.retained
        if not all(rows is None or shelf.is_like(rows) for shelf, rows in zip(self._shelves, after, strict=True)):
            reason = "rows of other types have come"
            raise NotSplit(reason)
        return outcome, Change(self, codes, outcome.state, self._coded(after), clock)

    def make(self, change: Change) -> KeyedState:
        """Let the rows of some keys be others; return the state, without garbage if that has become too much."""
        self.more = change.state.more
        for shelf, rows, codes in zip(self._shelves, change.state.retained, change.of_rows, strict=True):
            shelf.forget(change.codes)
            if rows is not None:
                shelf.put(rows, codes)
        if change.clock is not None:
            self._clock = change.clock
            self._newest = [rows.number for rows in change.state.retained if rows is not None]
        is_full = max(len(self._codes), sum(shelf.n for shelf in self._shelves)) > self._most
        return KeyedState(self.stage, self.whole) if is_full else self

    def _coded(self, retained: Sequence[Rows | None]) -> list[Ints]:
        """Return the codes of rows, equal where their keys are."""
        found = []
        for slot, rows in enumerate(retained):
            keys = None if rows is None else self.stage.split(slot, rows)
            if rows is not None and (keys is None or not {type(keys), type(rows.payload)} <= {Leaf, Struct}):
                reason = "its rows are not split by a key"
                raise NotSplit(reason)
            values = [] if keys is None else keys.to_list()
            try:
                found.append(np.array([self._codes.setdefault(key, len(self._codes)) for key in values], np.int64))
            except TypeError as error:
                reason = "a key cannot be hashed"
                raise NotSplit(reason) from error
        return found


@attrs.frozen(eq=False)
class Change:
    """What a batch makes of a state by key.

    Args:
        of: That state.
        codes: The keys that have come.
        state: The rows of these keys after the batch, and what else is held.
        of_rows: The codes of those rows.
        clock: Where the clock is then; None: it lets nothing leave.
    """

    of: KeyedState
    codes: Ints
    state: State
    of_rows: Sequence[Ints]
    clock: int | None

    def made(self) -> KeyedState:
        """Make it; return the state after it."""
        return self.of.make(self)


class ByKey:
    """Which batches of a stage touch the rows of their keys alone: small ones, if the one before was small as well."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._was_small = False
        self._is_split = True

    def begin(self) -> None:
        """Columns own the state from now on."""
        self._was_small = False

    def run(
        self, state: State | KeyedState, arriving: Mapping[int, Rows], moment: Moment
    ) -> tuple[Outcome, State | KeyedState | Change]:
        """Return what comes of a batch, and the state after it, or what makes that."""
        n = sum(map(len, arriving.values()))
        is_small = LEAST <= state.n_retained >= SMALL * n
        if is_small and self._was_small and self._is_split:
            try:
                keyed = state if isinstance(state, KeyedState) else KeyedState(self._stage, state)
                return keyed.run(arriving, moment)
            except NotSplit:
                self._is_split = False
        self._was_small = is_small
        outcome = self._stage.run(whole(state), arriving, moment)
        return outcome, outcome.state


def whole(state: State | KeyedState) -> State:
    """Return all of a state."""
    return state.whole if isinstance(state, KeyedState) else state


def _as_long(array: Ints, n: int) -> Ints:
    """Return an array with room for ``n`` values, those that are new `NONE`."""
    if len(array) >= n:
        return array
    longer = np.full(2 * n, NONE, np.int64)
    longer[: len(array)] = array
    return longer


def _types(rows: Rows) -> pa.Schema:
    vectors = {"payload": rows.payload, "key": rows.key, "window": rows.window}
    return pa.schema([one.field(name) for name, one in vectors.items() if one is not None])
