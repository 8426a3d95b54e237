"""State by key: of all that a correlation holds, a small batch touches the rows of the keys that come in it.

A kernel looks at the whole state that it is given. Where rows meet under one key alone (`Stage.split`), or name each
other by their keys (`Stage.links`), a batch changes nothing but under the keys that it brings, or that name these: so
the kernel is given the rows of these keys, and they are put back after it. Where the clock decides about rows
(`Stage.dues`), it is given those of the keys of what is due as well; what it lets leave otherwise leaves once all of
the state is looked at, as it will when it has become twice as long.

Invariant: what is held is what is on the shelves, but for what the clock has passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.batches.shelves import Shelf
from cartesius.columns.groups.key_numbers import KeyNumbers
from cartesius.columns.stages.stages import Stage, State
from cartesius.columns.vectors.ordering import single
from cartesius.columns.vectors.vectors import Leaf, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment, Outcome
    from cartesius.columns.vectors.vectors import Ints, Vector

LEAST: Final = 1 << 14
"""Of fewer rows most kernels look at all in no time."""
SMALL: Final = 8
"""A batch is small if so many times its rows are held."""


class NotSplit(Exception):
    """Rows cannot be kept by key."""


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
        rows_of = stage.as_rows(state)
        if rows_of is None:
            reason = "it is not held as rows"
            raise NotSplit(reason)
        state = rows_of
        self.more = state.more
        self._clock: int | None = None  # what it has passed has left,
        self._newest: list[Ints] = []  # but for these, by slot and number, which came when it was there, or later
        self._codes = KeyNumbers()
        self._shelves = [Shelf(sum(of == slot for of, _ in stage.links)) for slot in range(len(state.retained))]
        self._put(state.retained, self._coded(state.retained))
        self._most = LEAST + 2 * max(state.n_retained, len(self._codes))

    @property
    def whole(self) -> State:
        """All of it."""
        return self._of([shelf.all() for shelf in self._shelves])

    @property
    def counted(self) -> State:
        """All of it; or, where nothing has left that is on the shelves still, what can be counted but not read."""
        if type(self.stage).as_rows is not Stage.as_rows or (self._clock is not None and self.stage.keeps_time):
            return self.whole
        rows: Any = [range(shelf.held) for shelf in self._shelves]
        return State(tuple(rows), self.more)

    def _of(self, retained: Sequence[Rows | None]) -> State:
        """Return the state of some rows, without what the clock has passed."""
        state = self.stage.of_rows(State(tuple(retained), self.more))
        passed = None if self._clock is None else self.stage.passed(state, self._clock)
        left = None if passed is None else self.stage.as_rows(passed)
        if left is None:
            return state
        triples = zip(retained, left.retained, self._newest, strict=True)  # each slot may number rows in its own way
        return self.stage.of_rows(State(tuple([self._left(*each) for each in triples]), self.more))

    def _left(self, rows: Rows | None, left: Rows | None, newest: Ints) -> Rows | None:
        if rows is None or left is None or len(left) == len(rows):
            return rows
        return rows.take(np.flatnonzero(np.isin(rows.number, np.concatenate([left.number, newest]))))

    def passed(self, clock: int) -> Change | None:
        """Return what makes the state once the clock is there; None if it would go back, or may decide something."""
        if self._clock is not None and clock < self._clock:
            return None
        due = single(np.concatenate(self._due(clock)))
        touched = [shelf.rows(shelf.of(due)) if len(due) else None for shelf in self._shelves]
        after = self.stage.passed(self._of(touched), clock)
        state = None if after is None else self.stage.as_rows(after)
        if state is None:
            return None
        codes = self._coded(state.retained)
        return Change(self, [due] * len(self._shelves), state, codes, clock if self.stage.keeps_time else None)

    @property
    def n_retained(self) -> int:
        """How many rows and totals are held."""
        return sum(shelf.held for shelf in self._shelves)

    @property
    def nbytes(self) -> int:
        """How many bytes the rows take, beside payload and keys."""
        return sum(shelf.nbytes for shelf in self._shelves)

    def run(self, arriving: Mapping[int, Rows], moment: Moment) -> tuple[Outcome, Change] | None:
        """Run the stage on the rows of the keys that come; return what makes the state after it: nothing has changed.

        None: what stays has other types than what is there.
        """
        self._codes.begin()
        coming = self._coded([arriving.get(slot) for slot in range(len(self._shelves))])
        clock = moment.last_clock if moment.meets_deadlines else None
        touched = self._touched(coming, clock)
        before = self._of([shelf.rows(shelf.of(codes)) for shelf, codes in zip(self._shelves, touched, strict=True)])
        outcome = self.stage.run(before, arriving, moment)
        state = self.stage.as_rows(outcome.state)
        if state is None:
            return None
        after: list[Rows | None] = []
        for shelf, rows in zip(self._shelves, state.retained, strict=True):
            after.append(None if rows is None else shelf.fitting(rows))
            if rows is not None and after[-1] is None:
                return None
        state = attrs.evolve(state, retained=tuple(after))
        return outcome, Change(self, touched, state, self._coded(after), clock)

    def _touched(self, coming: Sequence[Sequence[Ints]], clock: int | None) -> list[Ints]:
        """Return the keys of the rows that a batch looks at, by slot, given the codes of what comes, and the clock.

        Where slots are linked: those of what comes, those that name them, by whatever way, and those that all these
        name. What else names these stays as it is, as they do.
        """
        links = self.stage.links
        if not links:
            due = [] if clock is None else self._due(clock)
            return [single(np.concatenate([*(keys for keys, *_ in coming), *due]))] * len(coming)
        touched = [single(keys) for keys, *_ in coming]
        own = [sum(of == one for one, _ in links[:number]) for number, (of, _) in enumerate(links)]
        for number, (of, slot) in reversed([*enumerate(links)]):
            touched[of] = single(np.concatenate([touched[of], self._shelves[of].naming(own[number], touched[slot])]))
        for number, (of, slot) in enumerate(links):
            named = self._shelves[of].named(own[number], touched[of])
            touched[slot] = single(np.concatenate([touched[slot], named, coming[of][1 + own[number]]]))
        return touched

    def _due(self, clock: int) -> list[Ints]:
        """Return the keys of what is due before a clock, by slot."""
        return [shelf.due(clock) for shelf in self._shelves]

    def make(self, change: Change) -> KeyedState:
        """Let the rows of some keys be others; return the state, without garbage if that has become too much."""
        self.more = change.state.more
        for shelf, touched in zip(self._shelves, change.touched, strict=True):
            shelf.forget(touched)
        self._put(change.state.retained, change.codes)
        if change.clock is not None:
            self._clock = change.clock
            none = np.zeros(0, np.int64)
            self._newest = [none if rows is None else rows.number for rows in change.state.retained]
        elif self._clock is not None:
            self._newest = self._with_overdue(self._clock, change.state)
        is_full = max(len(self._codes), sum(shelf.n for shelf in self._shelves)) > self._most
        return KeyedState(self.stage, self.whole) if is_full else self

    def _with_overdue(self, clock: int, state: State) -> list[Ints]:
        """Return the numbers of the newest rows, with those of a batch that the clock has passed already."""
        passed = self.stage.passed(self.stage.of_rows(state), clock)
        left = None if passed is None else self.stage.as_rows(passed)
        if left is None:
            return self._newest
        found = []
        for before, rows, stays in zip(self._newest, state.retained, left.retained, strict=True):
            gone = () if rows is None else np.setdiff1d(rows.number, () if stays is None else stays.number)
            found.append(single(np.concatenate([before, gone])) if len(gone) else before)
        return found

    def _put(self, retained: Sequence[Rows | None], coded: Sequence[Sequence[Ints]]) -> None:
        for slot, (shelf, rows, codes) in enumerate(zip(self._shelves, retained, coded, strict=True)):
            if rows is not None:
                shelf.put(rows, *codes, due=self.stage.dues(slot, rows))

    def _coded(self, retained: Sequence[Rows | None]) -> list[list[Ints]]:
        """Return of each slot the codes of the keys of rows, and of what they name: equal where these are."""
        found = []
        for slot, rows in enumerate(retained):
            named = [number for number, (of, _) in enumerate(self.stage.links) if of == slot]
            if rows is None:
                found.append([np.zeros(0, np.int64)] * (1 + len(named)))
                continue
            keys = self.stage.split(slot, rows)
            if keys is None or not {type(keys), type(rows.payload)} <= {Leaf, Struct}:
                reason = "its rows are not split by a key"
                raise NotSplit(reason)
            found.append([self._codes_of(one) for one in (keys, *(self.stage.named(link, rows) for link in named))])
        return found

    def _codes_of(self, keys: Vector) -> Ints:
        try:
            return self._codes.of(keys)
        except TypeError as error:
            reason = "a key cannot be hashed"
            raise NotSplit(reason) from error


@attrs.frozen(eq=False)
class Change:
    """What a batch makes of a state by key.

    Args:
        of: That state.
        touched: By slot, the keys of the rows that it has looked at.
        state: The rows of these keys after the batch, and what else is held.
        codes: By slot, the codes of those rows.
        clock: Where the clock is then; None: it lets nothing leave.
    """

    of: KeyedState
    touched: Sequence[Ints]
    state: State
    codes: Sequence[Sequence[Ints]]
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
        is_small = state.n_retained * self._stage.costs >= LEAST and state.n_retained >= SMALL * n
        if is_small and self._was_small and self._is_split:
            try:
                keyed = state if isinstance(state, KeyedState) else KeyedState(self._stage, state)
                if (done := keyed.run(arriving, moment)) is not None:
                    return done
            except NotSplit:
                self._is_split = False
        self._was_small = is_small
        outcome = self._stage.run(whole(state), arriving, moment)
        return outcome, outcome.state


def whole(state: State | KeyedState) -> State:
    """Return all of a state."""
    return state.whole if isinstance(state, KeyedState) else state
