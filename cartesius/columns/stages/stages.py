"""Stages: one correlation as a function of columns. What a kernel has to offer, and how state moves to it and back.

A stage is functional: `Stage.run` takes the state before a batch and returns that after it, so that nothing has
changed if it raises. Between batches its state may be turned into the objects that all other calls of the engine work
on, and be taken from them again.

Invariant: `Stage.load` of what `Stage.store` has stored is the same state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE, LAST, Rows
from cartesius.columns.stages.stored_rows import load_rows, store_rows
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Flow
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.language.families import Slot
    from cartesius.storage.conservation import Fate

    Counts: TypeAlias = "Mapping[int, tuple[int, int]]"
    Late: TypeAlias = "tuple[Event, str, str]"


@attrs.frozen(eq=False)
class State:
    """What a correlation holds between batches: the rows in the memory of each slot, and what else a kernel needs.

    Args:
        retained: The rows by slot index; None where nothing has ever come.
        more: What the kernel keeps besides; None for most.
        n_more: How many totals are among that.
    """

    retained: tuple[Rows | None, ...]
    more: Any = None
    n_more: int = 0

    @property
    def nbytes(self) -> int:
        """How many bytes the rows take, beside payload and keys."""
        return sum(rows.nbytes for rows in self.retained if rows is not None)

    @property
    def n_retained(self) -> int:
        """How many rows and totals are held."""
        return self.n_more + sum(map(count_of, self.retained))


@attrs.frozen(eq=False)
class Outcome:
    """What a batch makes of a correlation.

    Args:
        flow: What it gives.
        state: The state after it.
        tuples: How many candidates there were.
        late: What it sets aside, as ``engine.late`` has it, each with its step.
        delivered: Of windows: how many deliveries there were to each slot, by its index.
        fates: Of slots by their index, what became of how many deliveries, if the stage ``tells`` it; None: its gate
            has dropped them.
    """

    flow: Flow
    state: State
    tuples: int
    late: Sequence[tuple[int, Late]] = ()
    delivered: Mapping[int, int] | None = None
    fates: Mapping[int, Mapping[Fate | None, int]] = attrs.field(factory=dict)


UNKNOWN: Final = -1 << 63
"""Stands for a deadline that only the objects know."""


@attrs.frozen(eq=False)
class Moment:
    """What all stages know of a batch.

    Args:
        steps: How many steps it has.
        clock: The clock in each step; None: it is at the beginning of time.
        meets_deadlines: Whether it moves with the rows, so that what is due before a step is done before it.
        event: In windows, where each delivery has a step: the number of the event that it is of; None: each has one.
    """

    steps: int
    clock: NDArray[np.int64] | None = None
    meets_deadlines: bool = False
    event: NDArray[np.int64] | None = None

    @property
    def last_clock(self) -> int | None:
        """The clock after the batch; None: it has not moved."""
        return int(self.clock[-1]) if self.clock is not None and len(self.clock) else None

    def after(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first step of the event after the one that comes in each step; of what was there before: 0."""
        if self.event is None:
            return position + 1
        last = np.searchsorted(self.event, self.event[position], side="right")
        return np.where(position == BEFORE, 0, last)


class Stage:
    """One correlation, compiled; kernels subclass it."""

    keeps_time = False  # whether it does what deadlines and late events ask for
    gives_turns = False  # whether deadlines give something
    takes_turns = False  # whether it knows that what a deadline gives comes in a step of its own
    is_in_memory = False  # whether all the events that its own `store` stores are in memory
    costs: float = 1  # what a row in memory costs a batch, beside what it costs most kernels
    links: Sequence[tuple[int, int]] = ()  # which slots name rows of which; who names is the root, or named before

    def __init__(self, join: Join) -> None:
        self.join = join

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Return what the events that arrive, by slot index, make of the state.

        Raises:
            NotColumnar: Columns cannot do it exactly.
        """
        raise NotImplementedError  # each subclass says

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return values such that rows of a slot meet none, and displace none, of another value; None: there are none.

        Where it gives them, a batch changes nothing of the rows of other values, and no deadline does. Where slots are
        linked, they are the keys by which rows are named.
        """
        return None

    def dues(self, slot: int, rows: Rows) -> NDArray[np.int64] | None:
        """Return the clock after which each row that `as_rows` gives is decided about, or leaves; None: it never is.

        Where it gives them, a batch is given the rows of the keys of what is due, so that nothing waits for the whole.
        """
        return None

    def as_rows(self, state: State) -> State | None:
        """Return the state with all that `split` may take apart as rows, of further slots; None: it cannot be."""
        return state

    def of_rows(self, state: State) -> State:
        """Return what `as_rows` was given."""
        return state

    def named(self, link: int, rows: Rows) -> Vector:
        """Return, of a link, the keys that rows of the slot that names do name."""
        raise NotImplementedError  # who has links says

    def without(self, state: State, are_gone: Callable[[Rows], NDArray[np.bool_]]) -> State:
        """Return the state without some rows."""
        return attrs.evolve(state, retained=tuple([left_of(rows, are_gone)[0] for rows in state.retained]))

    def passed(self, state: State, clock: int) -> State | None:
        """Return the state once the clock has moved there and nothing has come; None: that may decide something."""
        return None if self.keeps_time else state

    def deadline(self, state: State) -> int | None:
        """Return the time after which the next thing is due; `UNKNOWN` if only the objects know, None if none is."""
        return UNKNOWN if self.keeps_time else None

    def tells(self, slot: Slot) -> frozenset[Fate | None]:
        """Return by which fates, or by its gate (None), an outcome tells how many deliveries to a slot have left."""
        return frozenset()

    def about(self, state: State, key: Any) -> State | None:
        """Return what is to be stored to read the row of a key of the table that it makes; None: all of the state."""
        return None

    def counts(self, state: State) -> Counts | None:
        """Return how many events of each slot `store` leaves in memory, and waiting; None: it must be tried."""
        return self.in_memory(state) if self.is_in_memory or type(self).store is Stage.store else None

    def in_memory(self, state: State) -> Counts:
        """Return these of a state whose rows are in memory, but for those that are kept once for all."""
        rows = zip(self.join.slots, state.retained, strict=True)
        return {slot.index: (count_of(own) if slot.kept is None else 0, 0) for slot, own in rows}

    def source(self) -> str:
        """Return the generated code, with the pattern it came from."""
        raise NotImplementedError  # each subclass says

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the state that the objects hold; the types are those of what arrives."""
        like = {index: rows for index, rows in arriving.items() if len(rows)}
        return State(tuple([self._load(slot, like.get(slot.index)) for slot in self.join.slots]))

    def _load(self, slot: Slot, like: Rows | None) -> Rows | None:
        return load_rows(slot, like)

    def store(self, state: State, stored: set[int]) -> None:
        """Let the objects hold the state; memories that are ``stored`` already, by id, are shared."""
        for slot, rows in zip(self.join.slots, state.retained, strict=True):
            if slot.kept is None and id(slot.memory) not in stored:
                stored.add(id(slot.memory))
                store_rows(self.join, slot, rows)


def count_of(rows: Rows | None) -> int:
    """Return how many rows there are."""
    return 0 if rows is None else len(rows)


def left_of(rows: Rows | None, are_gone: Callable[[Rows], NDArray[np.bool_]]) -> tuple[Rows | None, Any]:
    """Return the rows that are not gone, and which of them those are."""
    if rows is None:
        return None, slice(None)
    stays = ~are_gone(rows)
    return rows if stays.all() else rows.take(np.flatnonzero(stays)), stays


def times_of(arriving: Mapping[int, Rows], moment: Moment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last instant of what comes in each step.

    Raises:
        NotColumnar: Something in a step has another time than the rest, or comes of a deadline.
    """
    start, end = np.full(moment.steps, LAST), np.full(moment.steps, LAST)
    for rows in arriving.values():
        start[rows.position], end[rows.position] = rows.start, rows.end
    for rows in arriving.values():
        if rows.turn is not None and (rows.turn != LAST).any():
            raise NotColumnar("what is due comes in steps of its own")
        if (start[rows.position] != rows.start).any() or (end[rows.position] != rows.end).any():
            raise NotColumnar("what comes in one step has several times")
    return start, end
