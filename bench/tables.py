"""Table operators at growing sizes, ours against `bench.dict_joins`, on the same changes in the same process.

Each input is filled with n rows, each of which has exactly one partner. Then rows chosen at random get new values, and
that is timed; changes of a foreign key, or of a group, are swapped between two rows, so that all stay as they were.
Sides and sizes alternate, and seconds are of CPU time, so that a busy machine does not matter. What both sides emit
must agree in number, and what is left in the end altogether. As the dict join needs a hundredth of the time, a copy of
it is timed, with more updates of the same kind. The garbage collector is left on: both sides make next to no cycles.

What counts is how much slower the largest tables are than the smallest, ours through theirs: caches slow both.
"""

from __future__ import annotations

import time
from itertools import repeat
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs

from bench.table_cases import CASES
from cartesius import Engine, Reactive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.dict_joins import DictJoin
    from bench.table_cases import Case, Pushes
    from cartesius import Event

BOUND = 0.8
MORE = 20  # times as many updates for the dict join


class Filled:
    """Both sides of a case, with n rows a table, and the copy of theirs that is timed.

    Raises:
        TooSlow: Filling ours would take longer than ``patience`` seconds.
    """

    def __init__(self, case: Case, n: int, seed: int, patience: float) -> None:
        self.case = case
        self.rows = case.rows(n, seed)
        self.tables = [Reactive(f"table {number}", table=True) for number in range(case.inputs)]
        self.output = case.ours(*self.tables)
        self.engine = Engine(self.output)
        self.plain = case.theirs()
        self.copy = case.theirs()
        self.rows_of_copy = case.rows(n, seed)
        pushes = self.rows.first(case.inputs)
        self.last = fill(self.engine, self.tables, pushes, patience)
        theirs(self.plain, pushes)
        theirs(self.copy, self.rows_of_copy.first(case.inputs))

    def ours(self, pushes: Pushes) -> tuple[float, int]:
        """Return seconds and changes of ours."""
        bound = [(self.tables[number], change) for number, change in pushes]
        push, changes, last = self.engine.push, 0, self.last
        begin = time.process_time()
        for table, change in bound:
            out = push(table, change)
            changes += len(out)
            last = out or last
        seconds = time.process_time() - begin
        self.last = last
        return seconds, changes

    @property
    def visited(self) -> int:
        """How many entries ours has looked at."""
        return self.engine.stats.visited

    def check(self) -> None:
        """Raise RuntimeError unless both sides hold the same."""
        ours = self.engine.query(self.output) if self.output.table else self.last[-1].value
        if ours != self.plain.result():
            message = f"{self.case.name}: ours and the dict join differ at {len(self.rows.keys):,} rows"
            raise RuntimeError(message)


def theirs(join: DictJoin, pushes: Pushes) -> tuple[float, int]:
    """Return seconds and changes of a dict join."""
    sides = (join.left, join.right)
    bound = [(sides[number], change) for number, change in pushes]
    changes = 0
    begin = time.process_time()
    for take, change in bound:
        changes += len(take(change))
    return time.process_time() - begin, changes


class TooSlow(Exception):
    """A table is not filled in time."""


def fill(
    engine: Engine,
    tables: Sequence[Reactive],
    pushes: Sequence[tuple[int, Any]],
    patience: float,
    times: Sequence[int | None] | None = None,
) -> list[Event]:
    """Push all, and return the last results; give up as soon as it would take longer than ``patience`` seconds."""
    last: list[Event] = []
    push, begin = engine.push, time.perf_counter()
    for done, ((number, value), at) in enumerate(zip(pushes, times or repeat(None), strict=False)):
        last = push(tables[number], value, at) or last
        if done % 1000 == 999 and (time.perf_counter() - begin) / (done + 1) * len(pushes) > patience:
            raise TooSlow
    return last


@attrs.define
class At:
    """What was measured at one size: events a second of both sides, one value a repetition."""

    ours: list[float] = attrs.field(factory=list)
    theirs: list[float] = attrs.field(factory=list)
    visited: int = 0
    events: int = 0


@attrs.frozen
class Figure:
    """What was measured of one operator; ``at`` has the sizes that could be filled in time."""

    name: str
    sizes: tuple[int, ...]
    at: dict[int, At]

    @property
    def is_complete(self) -> bool:
        """Whether all sizes could be filled in time."""
        return all(size in self.at for size in self.sizes)

    @property
    def slowing(self) -> tuple[float, float]:
        """How much faster the largest tables are than the smallest, of ours and of theirs, by medians."""
        small, large = self.at[self.sizes[0]], self.at[self.sizes[-1]]
        return median(large.ours) / median(small.ours), median(large.theirs) / median(small.theirs)

    @property
    def ratio(self) -> float:
        """Ours of `slowing` through theirs."""
        ours, theirs = self.slowing
        return ours / theirs

    @property
    def ratios(self) -> list[float]:
        """The ratio of each repetition by itself."""
        small, large = self.at[self.sizes[0]], self.at[self.sizes[-1]]
        both = zip(large.ours, small.ours, large.theirs, small.theirs, strict=True)
        return [(our_large / our_small) / (large_ / small_) for our_large, our_small, large_, small_ in both]

    @property
    def is_flat(self) -> bool:
        """Whether the ratio keeps its bound."""
        return self.is_complete and self.ratio >= BOUND

    @property
    def visits(self) -> list[float]:
        """Entries visited per event, by size."""
        return [self.at[size].visited / self.at[size].events for size in self.sizes if size in self.at]

    @property
    def visits_the_same(self) -> bool:
        """Whether the number of entries visited is the same at all sizes."""
        return self.is_complete and len({self.at[size].visited for size in self.sizes}) == 1


def measure(
    sizes: Sequence[int],
    updates: int,
    repetitions: int,
    seed: int,
    *,
    patience: float = 60,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Figure]:
    """Measure all operators at all sizes, and check that both sides agree.

    Args:
        sizes: Rows a table, smallest first; 10 or more.
        updates: Updates a repetition.
        repetitions: How often each side is timed.
        seed: Seed of the values.
        patience: How long filling the tables of an operator may take, in seconds; larger sizes are left out.
        tell: What is told of the progress.
    """
    for case in CASES:
        filled: dict[int, Filled] = {}
        for size in sizes:
            tell(f"{case.name}: filling with {size:,} rows a table")
            try:
                filled[size] = Filled(case, size, seed, patience)
            except TooSlow:
                tell(f"{case.name}: given up, it would take more than {patience:g} s")
                break
        for name, inputs in case.timed.items():
            tell(f"{case.name}{name}: {repetitions} repetitions of {updates:,} updates")
            yield Figure(f"{case.name}{name}", tuple(sizes), _timed(filled, updates, repetitions, inputs))
        for one in filled.values():
            one.check()


def _timed(filled: dict[int, Filled], updates: int, repetitions: int, inputs: Sequence[int]) -> dict[int, At]:
    found = {size: At() for size in filled}
    for _ in range(repetitions):
        for size, both in filled.items():
            pushes = both.rows.updates(updates, inputs)
            before = both.visited
            my_seconds, my_changes = both.ours(pushes)
            found[size].visited += both.visited - before
            found[size].events += len(pushes)
            _, other_changes = theirs(both.plain, pushes)
            if my_changes != other_changes:
                message = f"{both.case.name}: {my_changes} changes of ours, {other_changes} of the dict join"
                raise RuntimeError(message)
            found[size].ours.append(len(pushes) / my_seconds)
            more = both.rows_of_copy.updates(updates * MORE, inputs)
            other_seconds, _ = theirs(both.copy, more)
            found[size].theirs.append(len(more) / other_seconds)
    return found
