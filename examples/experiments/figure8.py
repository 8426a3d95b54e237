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

from cartesius import Engine, Reactive, correlate
from examples.experiments.efforts import Effort
from examples.experiments.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, legend_below, logarithmic, new_figure
from examples.experiments.program_rows import PROGRAMS, ProgramRows, program
from examples.experiments.sheets import shown
from restrictions import as_table, retracting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from matplotlib.figure import Figure

    from examples.experiments.sheets import Sheet

ROWS: Final = {
    Effort.quick: (10, 100),
    Effort.normal: (10, 100, 1_000, 10_000),
    Effort.full: (10, 100, 1_000, 10_000, 100_000),
}
UPDATES: Final = {Effort.quick: 20, Effort.normal: 500, Effort.full: 2_000}
"""Updates of one measurement."""
MEASUREMENTS: Final = {Effort.quick: 1, Effort.normal: 5, Effort.full: 10}
"""Of each repetition: thirty, as in the thesis, with the three that there are by default."""
SCANNED_UPDATES: Final = {Effort.quick: 10, Effort.normal: 20, Effort.full: 40}
"""Updates of one measurement of the join that scans, each of which takes as long as thousands of the others."""
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


def measure(
    name: str, output: Reactive, rows: int, updates: int, measurements: int, seed: int,
    clock: Callable[[], float] = perf_counter,
) -> Speed:  # fmt: skip
    """Fill the tables of a program, and time updates, some at a time."""
    engine = Engine(output)
    inputs = engine.inputs
    made = ProgramRows(program(name[0]), rows, seed)
    engine.push_many({inputs[one]: table for one, table in made.filling().items()})
    speeds = []
    for turn in range(measurements + 1):
        pushes = in_order(made.updates(updates))
        start = clock()
        for source, row, at in pushes:
            engine.push(inputs[source], row, at=at)
        if turn:  # the first warms up
            speeds.append(updates / (clock() - start))
    return Speed(name, rows, sum(speeds) / len(speeds), min(speeds), max(speeds))


def in_order(batch: dict[str, pa.Table]) -> list[tuple[str, dict[str, Any], int]]:
    """Return the rows of a batch in order of arrival: the source, the row, and its time."""
    found = []
    for source, table in batch.items():
        for row in table.to_pylist():
            found.append((row.pop("order"), source, row.pop("at"), row))
    return [(source, row, at) for _, source, at, row in sorted(found, key=lambda each: each[0])]


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, and write the page; each repetition has some measurements."""
    sheet.say("""
## Figure 8.1: does a rule get slower as tables grow?

A port asks, whenever a ship or the weather changes, whether the ship may enter. Four programs do so: A looks at the
ship alone; B at the tide at its berth; C at the tidal stream there; D at the tide, the stream and the wind. All of that
is in tables. Before anything is measured they are full: every ship has a berth of its own, and every berth a tide, a
stream and a wind, so the joins are the largest possible. Then rows change, of a table and a place drawn at random.

That is the benchmark of the thesis in which these rules were first compiled to joins (T. Smith, *A Stateful Streaming
Rule Language for the Maritime Sector*, TU Delft 2020, Figure 8.1). There B, C and D got slower in proportion to the
rows, as a change of the tide looked through all ships. Here a join has an index. To see the difference, B runs a second
time as a join that *scans*: its condition is a function that nothing looks into.
""")
    measurements, found = MEASUREMENTS[effort] * repetitions, sheet.rows("runs")
    cases = [
        (name, rows)
        for name in (*PROGRAMS, SCANNING)
        for rows in ROWS[effort]
        if name != SCANNING or rows <= SCANNED[effort]
    ]
    sheet.plan(len(cases))
    speeds = []
    for name, rows in cases:
        sheet.told(f"program {name}, {rows:,} rows a table")
        output = scanning() if name == SCANNING else program(name).table()
        updates = SCANNED_UPDATES[effort] if name == SCANNING else UPDATES[effort]
        speed = measure(name, output, rows, updates, measurements, seed, sheet.clock)
        speeds.append(speed)
        found.append({**attrs.asdict(speed), "updates": updates, "measurements": measurements, "seed": seed})
    sheet.table(
        [[one.program, one.rows, one.mean, one.least, one.most] for one in speeds],
        "program", "rows a table", "updates/s, mean", "least", "most",
    )  # fmt: skip
    lines = {name: [one for one in speeds if one.program == name] for name in (*PROGRAMS, SCANNING)}
    kept = ", ".join(f"{name} {_kept(lines[name]):.2f}" for name in PROGRAMS)
    first, last = lines[SCANNING][0], lines[SCANNING][-1]
    sheet.picture(
        "throughput",
        _figure(lines),
        "Updates a second of each program, by rows a table, with least and most",
        f"Points are means of {measurements} measurements, with the slowest and the fastest. From {ROWS[effort][0]:,}"
        f" to {ROWS[effort][-1]:,} rows a table the programs keep of their speed: {kept}; a flat line is 1. The join"
        f" that scans keeps {_kept(lines[SCANNING]):.2g} from {first.rows:,} to {last.rows:,} rows. Who loses in"
        f" proportion to the rows, as in the thesis, keeps {first.rows / last.rows:.2g}: the dotted line.",
    )
    sheet.data("runs")
    least = min(one.least for name in PROGRAMS for one in lines[name])
    sheet.say(f"""
A busy port needs {REAL} updates a second, by the thesis: 320 ships with a report a minute each, and the weather. The
slowest measurement of A to D above was {shown(least / REAL)} times that.
""")


def _kept(line: Sequence[Speed]) -> float:
    """Return which share of the speed is left at the most rows."""
    return line[-1].mean / line[0].mean


def _figure(lines: Mapping[str, Sequence[Speed]]) -> Figure:
    figure = new_figure(8.5, 5)
    axes = figure.subplots()
    looks = zip(lines.items(), (BLUE, GREEN, ORANGE, PURPLE, RED), "osD^X", strict=True)
    for (name, line), colour, mark in looks:
        rows, means = [one.rows for one in line], [one.mean for one in line]
        spread = [[one.mean - one.least for one in line], [one.most - one.mean for one in line]]
        axes.errorbar(rows, means, spread, color=colour, marker=mark, markersize=6, capsize=3, label=f"program {name}")
    scan = lines[SCANNING]
    axes.plot([scan[0].rows, scan[-1].rows], [scan[0].mean, scan[0].mean * scan[0].rows / scan[-1].rows],
              color=GREY, linestyle=":", label="in proportion to the rows")  # fmt: skip
    axes.axhline(REAL, color="black", linewidth=1, linestyle="--", label=f"what a busy port needs: {REAL} per second")
    logarithmic(axes, "x", "y")
    axes.set_xlabel("rows in each table (logarithmic)")
    axes.set_ylabel("updates per second (logarithmic)")
    legend_below(figure, axes)
    return figure
