"""The experiment ``figure8``: the thesis's programs A to D over growing tables, as in its Figure 8.1.

All tables are full before anything is measured, each row with one partner in every other table: the largest joins that
there can be. Then rows change at random. The thesis's joins scanned, and lost in proportion to the rows; beside ours
stands program B with such a join: a product whose condition is a function that nothing looks into.

Source: T. Smith, A Stateful Streaming Rule Language for the Maritime Sector, TU Delft 2020, chapter 8; SOURCES B12.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa
from matplotlib.figure import Figure

from cartesius import Engine, Reactive, correlate
from examples.experiments.efforts import Effort
from examples.experiments.program_rows import PROGRAMS, ProgramRows, program
from restrictions import as_table, retracting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.experiments.sheets import Sheet

ROWS: Final = {
    Effort.quick: (10, 100),
    Effort.normal: (10, 100, 1_000, 10_000),
    Effort.full: (10, 100, 1_000, 10_000, 100_000),
}
UPDATES: Final = {Effort.quick: 20, Effort.normal: 500, Effort.full: 2_000}
"""Updates of one measurement."""
MEASUREMENTS: Final = {Effort.quick: 3, Effort.normal: 10, Effort.full: 30}
SCANNED: Final = {Effort.quick: 100, Effort.normal: 1_000, Effort.full: 3_000}
"""The largest tables of the join that scans: filling them costs the square of that."""
SCANNING: Final = "B, by a join that scans"
REAL: Final = 30
"""Events a second that are needed, by the thesis: 320 ships with an update a minute each, and the weather."""


@attrs.frozen
class Speed:
    """Updates a second over tables of some rows.

    Args:
        program: The program.
        rows: Rows a table.
        mean: The mean of all measurements.
        least: The slowest.
        most: The fastest.
    """

    program: str
    rows: int
    mean: float
    least: float
    most: float


def scanning() -> Reactive:
    """Return program B as a join that looks at every row of the other table."""

    def same_place(vessel: Any, tide: Any) -> bool:
        return vessel.destination is not None and bool(vessel.destination == tide.sensor)

    found: Reactive = correlate(
        vessel=Reactive("vessel", table=True, key="mmsi"),
        tide=Reactive("tide", table=True, key="sensor"),
        where=lambda vessel, tide: bool(same_place(vessel, tide)),
        yields=lambda vessel, tide: (vessel.mmsi, vessel.draught - tide.height <= 10),
        restrict=retracting() | as_table(lambda row: row[0]),
    )
    return found


def measure(name: str, output: Reactive, rows: int, updates: int, measurements: int, seed: int) -> Speed:
    """Fill the tables of a program, and time updates, some at a time."""
    engine = Engine(output)
    inputs = engine.inputs
    made = ProgramRows(program(name[0]), rows, seed)
    engine.push_many({inputs[one]: table for one, table in made.filling().items()})
    speeds = []
    for turn in range(measurements + 1):
        pushes = in_order(made.updates(updates))
        start = perf_counter()
        for source, row, at in pushes:
            engine.push(inputs[source], row, at=at)
        if turn:  # the first warms up
            speeds.append(updates / (perf_counter() - start))
    return Speed(name, rows, sum(speeds) / len(speeds), min(speeds), max(speeds))


def in_order(batch: dict[str, pa.Table]) -> list[tuple[str, dict[str, Any], int]]:
    """Return the rows of a batch in order of arrival: the source, the row, and its time."""
    found = []
    for source, table in batch.items():
        for row in table.to_pylist():
            found.append((row.pop("order"), source, row.pop("at"), row))
    return [(source, row, at) for _, source, at, row in sorted(found, key=lambda each: each[0])]


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, and write the page; ``repetitions`` multiply the measurements."""
    sheet.say("""
## Figure 8.1: rule programs over growing tables

Programs A to D ask whether ships may enter: A looks at the ship alone, B at the tide, C at the tidal stream, D at the
tide, the stream and the wind. Every row of a table has one partner in each other table, and then rows change at
random.
""")
    measurements, found = MEASUREMENTS[effort] * repetitions, []
    for name in (*PROGRAMS, SCANNING):
        for rows in ROWS[effort]:
            if name == SCANNING and rows > SCANNED[effort]:
                continue
            sheet.told(f"program {name}, {rows:,} rows a table")
            output = scanning() if name == SCANNING else program(name).table()
            found.append(measure(name, output, rows, UPDATES[effort], measurements, seed))
    sheet.table(
        [[one.program, one.rows, one.mean, one.least, one.most] for one in found],
        "program", "rows a table", "updates/s, mean", "least", "most",
    )  # fmt: skip
    sheet.picture(
        "throughput", _figure(found), "Updates a second of each program, by rows a table, with least and most"
    )
    sheet.data("runs", pa.Table.from_pylist([attrs.asdict(one) for one in found]))
    lines = {name: [one.mean for one in found if one.program == name] for name in (*PROGRAMS, SCANNING)}
    kept = ", ".join(f"{name} {lines[name][-1] / lines[name][0]:.2f}" for name in PROGRAMS)
    largest = max(one.rows for one in found if one.program == SCANNING)
    sheet.say(f"""
From {ROWS[effort][0]:,} to {ROWS[effort][-1]:,} rows a table the programs keep of their speed: {kept}. The join that
scans keeps {lines[SCANNING][-1] / lines[SCANNING][0]:.2g} by {largest:,} rows: as in the thesis, it loses in
proportion to the rows. {REAL} events a second are what a busy port needs.
""")


def _figure(found: Sequence[Speed]) -> Figure:
    figure = Figure(figsize=(8, 4.2), dpi=110, layout="constrained")
    axes = figure.subplots()
    colours = dict(zip((*PROGRAMS, SCANNING), ("#1f3b57", "#5aa469", "#8a6d3b", "#7b5ea7", "#c8453b"), strict=True))
    for name, colour in colours.items():
        mine = [one for one in found if one.program == name]
        rows = [one.rows for one in mine]
        axes.plot(rows, [one.mean for one in mine], color=colour, marker="o", markersize=4, label=name)
        axes.fill_between(rows, [one.least for one in mine], [one.most for one in mine], color=colour, alpha=0.15)
    axes.axhline(REAL, color="#666666", linewidth=1, linestyle=(0, (5, 3)), label=f"needed: {REAL}/s")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows a table")
    axes.set_ylabel("updates a second")
    axes.legend(fontsize=8)
    return figure
