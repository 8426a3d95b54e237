"""The thesis's programs at growing tables: what an update costs at 100,000 rows a table beside 10.

Every side keeps tables filled, and each repetition updates them: event by event, in place, and as batches. Of program
B there is a join by hand beside, so that what caches cost both sides does not count.

Source: T. Smith, A Stateful Streaming Rule Language for the Maritime Sector, TU Delft 2020, chapter 8.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import attrs

from bench import ours
from bench.arrow_rows import columns, sides
from bench.figures import BY_HAND, COMPILED, IN_PLACE, growth
from bench.table_loops import ProgramB
from bench.timing import Side, race
from cartesius import Engine
from examples.experiments.program_rows import PROGRAMS, ProgramRows, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.arrow_rows import Batch
    from bench.figures import Figure
    from bench.speed import Sizes
    from bench.timing import Runs

BY_HAND_PUSHED: Final = "by hand, row by row"
CHECKED: Final = "by hand, as many"  # whose number of results must be that of ours
FILLING: Final = 30  # times as long as a run may take, filling may, once
MORE: Final = 20  # times as many updates for the join by hand, which needs a hundredth of the time
_SAMPLE: Final = 2_000  # rows from which it is foreseen how long filling takes


@attrs.frozen
class Grown:
    """What was measured of a program: runs by rows a table and side. Sizes that take too long to fill are missing."""

    program: str
    how: str  # batches were computed, at the largest size
    at: dict[int, dict[str, Runs]]

    @property
    def figures(self) -> list[Figure]:
        """The figures of the speed table: of program B, if both sides have the smallest and the largest size."""
        small, large = min(self.at, default=0), max(self.at, default=0)
        if BY_HAND not in self.at.get(small, {}) or small == large:
            return []
        both = self.at[small], self.at[large], (small, large)
        return [
            growth(both[0], both[1], mine, theirs, both[2])
            for mine, theirs in ((IN_PLACE, BY_HAND_PUSHED), (COMPILED, BY_HAND))
        ]


def measure(
    sizes: Sizes,
    repetitions: int,
    seed: int,
    *,
    programs: str = "".join(PROGRAMS),
    clock: str = "wall",
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Grown]:
    """Measure the programs one by one; arguments as those of `bench.speed.measure`.

    Args:
        sizes: How many rows and updates.
        repetitions: How often each side is timed.
        seed: Seed of the values.
        programs: Their letters.
        clock: ``"wall"`` or ``"cpu"``.
        tell: What is told of the progress.
    """
    for name in programs:
        every: dict[int, list[Side]] = {}
        engine: Engine | None = None
        for n in sizes.rows:
            tell(f"program {name}: filling with {n:,} rows a table")
            filled = Filled(name, n, seed)
            if filled.is_slow(FILLING * sizes.patience):
                tell(f"program {name}: given up, filling would take more than {FILLING * sizes.patience:g} s")
                break
            every[n] = filled.sides(sizes)
            engine = filled.columnar
        tell(f"program {name}: {repetitions} repetitions")
        runs = race([side for found in every.values() for side in found], repetitions, clock)
        at = {n: {_bare(side.name): runs[side.name] for side in found} for n, found in every.items()}
        yield Grown(f"program {name}", ours.how(engine) if engine is not None else "", at)


def _bare(name: str) -> str:
    return name.rpartition(" @ ")[0]


class Filled:
    """The sides of one program at one size, each with its tables and its source of updates.

    Args:
        name: The letter of the program.
        n: Rows a table.
        seed: Seed of the values.
    """

    def __init__(self, name: str, n: int, seed: int) -> None:
        self.name, self.n, self.seed = name, n, seed
        self.pack = program(name)
        self.columnar = Engine(self.pack.table())

    def is_slow(self, patience: float) -> bool:
        """Whether it would take longer than ``patience`` to fill an engine event by event."""
        sample = ProgramRows(self.pack, min(self.n, _SAMPLE), self.seed).filling()
        run = ours.pushing(Engine(self.pack.table(), tier="in_place"), sample)
        begin = time.perf_counter()
        run()
        return (time.perf_counter() - begin) * max(self.n / _SAMPLE, 1) > patience

    def sides(self, sizes: Sizes) -> list[Side]:
        """Fill all sides, and return them."""
        in_place = Engine(self.pack.table(), tier="in_place")
        ours.pushing(in_place, self._rows().filling())()
        self.columnar.push_many(self._rows().filling())
        is_compiled = ours.how(self.columnar) == "compiled"
        batched = sizes.program_batch if is_compiled else sizes.program_pushed
        found = [
            self._side(IN_PLACE, sizes.program_pushed, lambda batch: ours.pushing(in_place, batch)),
            self._side(COMPILED, batched, lambda batch: lambda: self.columnar.push_many(batch)),
        ]
        if self.name == "B":
            checked = ProgramB()
            checked.take(self._rows().filling())
            by_row, by_batch = ProgramB(), ProgramB()
            by_row.take(self._rows().filling())
            by_batch.take(self._rows().filling())
            found += [
                self._side(CHECKED, sizes.program_pushed, lambda batch: _row_by_row(checked, batch)),
                self._side(BY_HAND_PUSHED, MORE * sizes.program_pushed, lambda batch: _row_by_row(by_row, batch)),
                self._side(BY_HAND, sizes.program_batch, lambda batch: lambda: by_batch.take(batch)),
            ]
        return found

    def _rows(self) -> ProgramRows:
        return ProgramRows(self.pack, self.n, self.seed)

    def _side(self, name: str, updates: int, run: Callable[[Batch], Callable[[], Any]]) -> Side:
        rows = self._rows()
        rows.filling()  # so that its updates follow
        feed = f"{updates} updates of {self.n} rows"
        return Side(f"{name} @ {self.n}", updates, lambda: run(rows.updates(updates)), feed)


def _row_by_row(join: ProgramB, batch: Batch) -> Callable[[], int]:
    vessels = columns(batch["vessel"], "mmsi", "destination", "draught", "at")
    tides = columns(batch["tide"], "sensor", "height", "at")
    takes: dict[str, tuple[Any, Iterator[Any]]] = {"vessel": (join.vessel, vessels), "tide": (join.tide, tides)}
    arriving = [takes[name] for name in batch]
    bound = [(arriving[side][0], next(arriving[side][1])) for side in sides(batch)]

    def run() -> int:
        return sum(len(take(*row)) for take, row in bound)

    return run
