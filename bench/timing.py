"""Timing sides against each other: they alternate, the garbage collector is off for all, and counts must agree.

What is prepared, such as an engine or the pushes, is not timed. The collector runs between two runs.
"""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa

from bench.arrow_rows import compared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Clock = Callable[[], float]

CLOCKS: Final[dict[str, Clock]] = {"wall": time.perf_counter, "cpu": time.process_time}


class Disagreement(RuntimeError):
    """Two sides that were given the same gave different results."""


@attrs.frozen
class Side:
    """One of those that are timed.

    Args:
        name: What it is called.
        n: The number of events of one run.
        prepare: Makes ready what is timed: a function that returns a table, or the number of results.
        feed: Sides of equal feeds must give equally many results, in each repetition.
    """

    name: str
    n: int
    prepare: Callable[[], Callable[[], Any]]
    feed: str = ""


@attrs.define
class Runs:
    """What was measured of one side: seconds, one value a repetition."""

    name: str
    n: int
    seconds: list[float] = attrs.field(factory=list)
    results: int = 0

    @property
    def rates(self) -> list[float]:
        """Events a second."""
        return [self.n / seconds for seconds in self.seconds]

    @property
    def rate(self) -> float:
        """The median of the rates."""
        return median(self.rates)


def race(sides: Sequence[Side], repetitions: int, clock: str = "wall") -> dict[str, Runs]:
    """Run all sides, alternating, once more than is timed, to warm up; return what was measured, by name.

    Args:
        sides: Those that are timed.
        repetitions: How often.
        clock: One of `CLOCKS`.

    Raises:
        Disagreement: Sides of equal feeds give other numbers of results, or, the first time, other tables.
    """
    runs = {side.name: Runs(side.name, side.n) for side in sides}
    for repetition in range(repetitions + 1):
        counts: dict[str, tuple[str, int]] = {}
        tables: dict[str, tuple[str, pa.Table]] = {}
        for side in sides:
            found, seconds = timed(side.prepare, CLOCKS[clock])
            if repetition:
                runs[side.name].seconds.append(seconds)
            runs[side.name].results = n = found.num_rows if isinstance(found, pa.Table) else found
            other, expected = counts.setdefault(side.feed, (side.name, n))
            if n != expected:
                message = f"{n:,} results of {side.name}, {expected:,} of {other}"
                raise Disagreement(message)
            if repetition == 0 and isinstance(found, pa.Table):
                other, first = tables.setdefault(side.feed, (side.name, found))
                check_equal(found, first, f"{side.name} and {other}")
            del found
    return runs


def timed(prepare: Callable[[], Callable[[], Any]], clock: Clock) -> tuple[Any, float]:
    """Return what a side gives, and the seconds that it took."""
    run = prepare()
    gc.collect()
    gc.disable()
    try:
        begin = clock()
        found = run()
        return found, clock() - begin
    finally:
        gc.enable()


def check_equal(one: pa.Table, other: pa.Table, names: str) -> None:
    """Raise `Disagreement` unless both have equal rows, in order; or, of other values, equal times."""
    if one is other:
        return
    mine, theirs = compared(one), compared(other)
    if mine.schema.equals(theirs.schema):
        if not mine.equals(theirs):
            message = f"the results of {names} differ"
            raise Disagreement(message)
    elif not _same_columns(mine, theirs, ("start", "end")):
        message = f"the times of the results of {names} differ"
        raise Disagreement(message)


def _same_columns(one: pa.Table, other: pa.Table, names: Iterable[str]) -> bool:
    return all(one[name].equals(other[name]) for name in names)


def ratios(ours: Runs, theirs: Runs) -> list[float]:
    """Return how many times as fast ours is, one value a repetition."""
    return [mine / other for mine, other in zip(ours.rates, theirs.rates, strict=True)]
