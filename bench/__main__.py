"""`make bench`: print what our tiers and operators cost beside what a good engineer would write, from one run.

First the speed figures of every workload, beside RxPY, hand-written Python and numpy; then pushes beside plain
classes, small batches where much is held, tables of growing size beside dicts, the memory of a row, and packs of one
and of forty rules. Progress goes to stderr. A run that is interrupted prints what it has.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import click
from rich.console import Console

from bench import growth, memory, orientation, pushes, rules, sheets, small_batches, speed, tables, tables_shown
from bench.options import COUNT, MANY, PROCESSES, REPETITIONS, SEED, Above0
from bench.speed_shown import Report
from bench.table_cases import GROUP
from bench.timing import CLOCKS
from cartesius.errors import InvalidArgument
from dsl.command_lines import INTERRUPTED, check_writable, run
from examples.experiments.program_rows import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
SPEED: Final = (*speed.NAMES, "programs", "orientation")
"""What ``--only speed`` measures."""
PARTS: Final = ("speed", "pushes", "small", "tables", "memory", "rules")


@attrs.frozen
class Extent:
    """How much of pushes, small batches, tables, memory and rules is measured; fewer in a quick run."""

    sizes: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    updates: int = 1_000
    patience: float = 60.0
    memory_rows: int = 100_000
    updated_rows: int = 2_000
    rule_events: int = 2_000
    pushes: int = 20_000
    pushes_before: int = 300_000
    held: tuple[int, int] = (10_000, 1_000_000)
    small_batches: int = 100


FILE: Final = click.Path(dir_okay=False, writable=True, path_type=Path)
QUICK: Final = Extent((10, 1_000), 100, 10.0, 1_000, 200, 200, 500, 3_000, (20_000, 50_000), 10)


def _sizes(context: click.Context, option: click.Parameter, given: str | None) -> tuple[int, ...] | None:
    size: Any = click.IntRange(2 * GROUP, MANY)
    return None if given is None else tuple(sorted({size.convert(part, option, context) for part in given.split(",")}))


def _file(context: click.Context, option: click.Parameter, given: Path | None) -> Path | None:
    try:
        if given is not None:
            check_writable(option.opts[0], given.parent, given.name)
    except InvalidArgument as error:
        raise click.BadParameter(str(error)) from None
    return given


def _page(context: click.Context, option: click.Parameter, given: Path | None) -> Path | None:
    try:
        if given is not None:
            sheets.around(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return _file(context, option, given)


@click.command(help="Measure our tiers against RxPY, hand-written Python and numpy, and tables against dicts.")
@click.option("--only", type=click.Choice((*PARTS, *SPEED)), multiple=True, help="What to measure; all by default.")
@click.option("--quick", is_flag=True, help="Much fewer events and rows: for a look, not for figures.")
@click.option("--scale", type=Above0(1), default=1.0, show_default=True, help="Speed: this share of the events.")
@click.option("--clock", type=click.Choice(tuple(CLOCKS)), default="wall", help="Speed: wall time, or of the CPU.")
@click.option("--sizes", callback=_sizes, help="Rows a table, as 10,1000.")
@click.option("--updates", type=click.IntRange(2, MANY), help="Tables: updates a repetition.")
@click.option(
    "--repetitions", type=REPETITIONS, default=5, show_default=True, help="Medians are printed, with the spread."
)
@click.option("--patience", type=Above0(), help="Seconds in which tables must be filled.")
@click.option("--memory-rows", type=COUNT, help="Memory: rows a table.")
@click.option("--pushes", type=COUNT, help="Pushes: events a repetition.")
@click.option("--pushes-before", type=click.IntRange(3_000, MANY),
              help="Pushes: events before the last ones, where cost must not grow.")  # fmt: skip
@click.option("--updated-rows", type=COUNT, help="Memory: rows a table, where all are updated.")
@click.option("--rule-events", type=COUNT, help="Rules: events a repetition.")
@click.option("--workers", type=PROCESSES, default=min(2, os.cpu_count() or 1), show_default=True,
              help="Memory: processes at once.")  # fmt: skip
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the values.")
@click.option("--json", "data", type=FILE, callback=_file, help="Speed: write all to this file.")
@click.option("--markdown", type=FILE, callback=_page, help="Speed: write the tables between the marks of this page.")
def main(
    only: tuple[str, ...],
    quick: bool,
    scale: float,
    clock: str,
    repetitions: int,
    workers: int,
    seed: int,
    data: Path | None,
    markdown: Path | None,
    **given: Any,
) -> None:
    """Run the benchmark."""
    wanted = set(only or PARTS)
    if (data or markdown) and not wanted.intersection(("speed", *SPEED)):
        message = "expected a speed figure to write, but --only names none; add --only speed"
        raise click.UsageError(message)
    extent = attrs.evolve(
        QUICK if quick else Extent(), **{key: each for key, each in given.items() if each is not None}
    )
    console = Console()
    names = frozenset(SPEED if "speed" in wanted else wanted.intersection(SPEED))
    try:
        if names:
            sizes = scaled(speed.QUICK if quick else speed.Sizes(), scale)
            if given["sizes"] is not None:
                sizes = attrs.evolve(sizes, rows=given["sizes"])
            report = Report(repetitions, clock)
            try:
                _measure(report, names, sizes, seed)
            finally:
                for sheet in report.sheets():
                    console.print(sheet.as_table())
                if data is not None:
                    data.write_text(json.dumps(report.as_data(), indent=1), encoding="utf-8")
            if markdown is not None:
                sheets.write(markdown, report.as_markdown())
        _measure_tables(wanted, extent, repetitions, workers, seed, console.print)
    except KeyboardInterrupt:
        _tell("interrupted; this is what was measured")
        raise click.exceptions.Exit(INTERRUPTED) from None
    finally:
        if quick or (names and scale < 1):
            _tell("these are fewer events than the bounds are for: a look, and no figures to quote")


def scaled(sizes: speed.Sizes, scale: float) -> speed.Sizes:
    """Return the sizes with a share of the events."""
    whole = attrs.asdict(sizes)
    kept: Any = {name: max(int(n * scale), 30) for name, n in whole.items() if isinstance(n, int)}
    return attrs.evolve(sizes, **kept)


def _measure(report: Report, names: frozenset[str], sizes: speed.Sizes, seed: int) -> None:
    repetitions, clock = report.repetitions, report.clock
    for one in speed.measure(sizes, repetitions, seed, only=names, clock=clock, tell=_tell):
        report.speed.append(one)
    missed = [figure for figure in report.figures if not figure.is_kept]
    if "programs" in names:
        for grown in growth.measure(sizes, repetitions, seed, programs="".join(PROGRAMS), clock=clock, tell=_tell):
            report.programs.append(grown)
    if "orientation" in names:
        report.facts += orientation.measure(sizes.two, repetitions, seed, _tell)
    for profile in speed.profiles(missed, sizes, seed, _tell):
        report.profiles.append(profile)


def _measure_tables(
    wanted: set[str], extent: Extent, repetitions: int, workers: int, seed: int, show: Callable[[Any], None]
) -> None:
    if "pushes" in wanted:
        costs = pushes.measure_all(extent.pushes, extent.pushes_before, repetitions, seed, _tell)
        _gather(costs, lambda found: show(pushes.as_sheet(found, extent.pushes, repetitions).as_table()))
    if "small" in wanted:
        asked = extent.held, extent.small_batches, repetitions
        batches = small_batches.measure(*asked, seed, _tell)
        _gather(batches, lambda found: show(small_batches.as_sheet(found, *asked).as_table()))
    if "tables" in wanted:
        sizes, updates = extent.sizes, extent.updates
        figures = tables.measure(sizes, updates, repetitions, seed, patience=extent.patience, tell=_tell)

        def of_tables(found: list[tables.Figure]) -> None:
            show(tables_shown.of_speed(found, updates, repetitions))
            show(tables_shown.of_growth(found, sizes))

        _gather(figures, of_tables)
    if "memory" in wanted:
        # Tracing makes a push three times as slow, and a second process slows the first.
        rows, updated, patience = extent.memory_rows, extent.updated_rows, 6 * extent.patience
        held = memory.measure(rows, updated, seed, workers=workers, patience=patience, tell=_tell)
        _gather(held, lambda found: show(tables_shown.of_memory(found, rows, updated)))
    if "rules" in wanted:
        events = extent.rule_events
        show(tables_shown.of_rules(rules.growing(events, repetitions, seed), events, repetitions))
        programs = rules.programs(events, repetitions, seed)
        _gather(programs, lambda found: show(tables_shown.of_programs(found, events, repetitions)))


def _gather(measured: Iterable[T], show: Callable[[list[T]], None]) -> None:
    """Show what is measured, when all of it is, or when that is interrupted: as much as there is."""
    found: list[T] = []
    try:
        for one in measured:
            found.append(one)
    finally:
        if found:
            show(found)


def _tell(progress: str) -> None:
    click.echo(progress, err=True)


if __name__ == "__main__":
    run(main)
