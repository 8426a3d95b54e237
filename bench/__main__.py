"""`make bench`: print what our operators cost beside what a good engineer would write, from one run.

Streams beside RxPY, tables of growing size beside dicts, the memory of a row, and packs of one and of forty rules.
Progress goes to stderr.
"""

from __future__ import annotations

import os
from statistics import median
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from bench import memory, rules, streams, tables
from bench.table_cases import GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("streams", "tables", "memory", "rules")


def _sizes(context: click.Context, option: click.Parameter, given: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(part) for part in given.split(",")}))
    except ValueError:
        message = f"expected numbers with commas between them but got {given!r}"
        raise click.BadParameter(message) from None
    if sizes[0] < 2 * GROUP:
        message = f"expected {2 * GROUP} rows a table or more but got {sizes[0]}"
        raise click.BadParameter(message)
    return sizes


@click.command(help="Measure stream operators against RxPY, and table operators against dicts, in one run.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="What to measure; everything by default.")
@click.option("--events", default=30_000, show_default=True, help="Streams: events a repetition, over three inputs.")
@click.option("--sizes", callback=_sizes, default="10,100,1000,10000,100000", show_default=True, help="Rows a table.")
@click.option("--updates", default=1_000, show_default=True, help="Tables: updates a repetition.")
@click.option("--repetitions", default=5, show_default=True, help="Repetitions; medians are printed, with the spread.")
@click.option("--patience", default=60.0, show_default=True, help="Seconds in which tables must be filled.")
@click.option("--memory-rows", default=100_000, show_default=True, help="Memory: rows a table.")
@click.option("--updated-rows", default=2_000, show_default=True, help="Memory: rows a table, where all are updated.")
@click.option("--rule-events", default=2_000, show_default=True, help="Rules: events a repetition.")
@click.option("--workers", default=min(2, os.cpu_count() or 1), show_default=True, help="Memory: processes at once.")
@click.option("--seed", default=1, show_default=True, help="Seed of the values.")
def main(
    only: tuple[str, ...],
    events: int,
    sizes: tuple[int, ...],
    updates: int,
    repetitions: int,
    patience: float,
    memory_rows: int,
    updated_rows: int,
    rule_events: int,
    workers: int,
    seed: int,
) -> None:
    """Run the benchmark."""
    console = Console(width=None)
    parts = only or PARTS
    if "streams" in parts:
        console.print(_of_streams(streams.measure(events, repetitions, seed), events, repetitions))
    if "tables" in parts:
        figures = list(tables.measure(sizes, updates, repetitions, seed, patience=patience, tell=_tell))
        console.print(_of_speed(figures, updates, repetitions))
        console.print(_of_growth(figures, sizes))
    if "memory" in parts:
        # Tracing makes a push three times as slow, and a second process slows the first.
        held = memory.measure(memory_rows, updated_rows, seed, workers=workers, patience=6 * patience, tell=_tell)
        console.print(_of_memory(list(held), memory_rows, updated_rows))
    if "rules" in parts:
        growing, programs = rules.measure(rule_events, repetitions, seed)
        console.print(_of_rules(growing, rule_events, repetitions))
        console.print(_of_programs(programs, rule_events, repetitions))
    console.print(
        "The reference tier runs every clause as written, on coroutines; ratios count, absolute times do not."
    )


def _of_streams(measured: Sequence[streams.Measured], events: int, repetitions: int) -> Table:
    table = Table(title=f"events/s, medians of {repetitions} (smallest to largest), {events:,} events, 3 inputs")
    table.add_column("operator")
    table.add_column("results", justify="right")
    table.add_column("cartesius", justify="right")
    table.add_column(f"RxPY {streams.version()}", justify="right")
    table.add_column("ratio", justify="right")
    for row in measured:
        table.add_row(row.name, f"{row.results:,}", _shown(row.ours), _shown(row.theirs), f"{row.ratio:.2f}")
    return table


def _of_speed(figures: Sequence[tables.Figure], updates: int, repetitions: int) -> Table:
    table = Table(
        title=f"events/s of CPU time, medians of {repetitions} ± half the range,\n"
        f"{updates:,} updates of random rows; entries visited an event"
    )
    table.add_column("operator")
    for name in ("rows a table", "cartesius", "dict join", "visited"):
        table.add_column(name, justify="right")
    for figure in figures:
        for place, size in enumerate(figure.sizes):
            found = figure.at.get(size)
            cells = ("not filled in time", "", "")
            if found is not None:
                cells = (_spread(found.ours), _spread(found.theirs), f"{found.visited / found.events:g}")
            table.add_row("" if place else figure.name, f"{size:,}", *cells, end_section=size == figure.sizes[-1])
    return table


def _of_growth(figures: Sequence[tables.Figure], sizes: Sequence[int]) -> Table:
    table = Table(
        title=f"events/s at {sizes[-1]:,} rows a table / at {sizes[0]:,}; bound: ours / theirs ≥ {tables.BOUND};\n"
        "entries visited an event; bound: the same at all sizes"
    )
    table.add_column("operator")
    for name in ("ours", "theirs", "ours / theirs", "ok?", "visited", "ok?"):
        table.add_column(name, justify="right")
    for figure in figures:
        speed, visits = ("", "", ""), " ".join(f"{visit:g}" for visit in dict.fromkeys(figure.visits))
        if figure.is_complete:
            ours, theirs = figure.slowing
            spread = f"{min(figure.ratios):.2f}-{max(figure.ratios):.2f}"
            speed = (f"{ours:.2f}", f"{theirs:.2f}", f"{figure.ratio:.2f} ({spread})")
        table.add_row(figure.name, *speed, _verdict(figure.is_flat), visits, _verdict(figure.visits_the_same))
    return table


def _of_memory(held: Sequence[tuple[memory.Held, memory.Held]], rows: int, updated_rows: int) -> Table:
    table = Table(title=f"bytes a row beyond what was pushed, by tracemalloc; bound: {memory.BOUND}")
    table.add_column("operator")
    table.add_column(f"{rows:,} rows", justify="right")
    table.add_column("ok?", justify="right")
    table.add_column(f"{updated_rows:,} rows", justify="right")
    table.add_column("each updated once", justify="right")
    for large, small in held:
        figures = [_bytes(large.filled), _verdict(large.is_within), _bytes(small.filled), _bytes(small.updated)]
        table.add_row(large.name, *figures)
    return table


def _of_rules(costs: Sequence[rules.Cost], events: int, repetitions: int) -> Table:
    table = Table(
        title=f"µs of CPU time an event, medians of {repetitions} ± half the range, {events:,} events;\n"
        f"{rules.SHIPS} ships, {rules.TOUCHED} fields of one change; bound: 40 rules / one rule ≤ {rules.BOUND:g}"
    )
    table.add_column("pack")
    for name in ("requirements evaluated", "µs", "/ one rule", "ok?"):
        table.add_column(name, justify="right")
    one, forty, anew = costs
    table.add_row(one.name, f"{one.evaluated:g}", _micros(one.micros), "", "")
    ratio = forty.ratio(one)
    table.add_row(
        forty.name, f"{forty.evaluated:g}", _micros(forty.micros), f"{ratio:.2f}", _verdict(ratio <= rules.BOUND)
    )
    table.add_row(anew.name, f"{anew.evaluated:g}", _micros(anew.micros), f"{anew.ratio(one):.2f}", "")
    return table


def _of_programs(costs: Sequence[tuple[rules.Cost, rules.Cost]], events: int, repetitions: int) -> Table:
    table = Table(
        title=f"the thesis's programs over {rules.SHIPS} ships: µs of CPU time an event, medians of {repetitions}"
        f" ± half the range, {events:,} events"
    )
    table.add_column("program")
    for name in ("evaluated", "µs", "evaluated anew", "µs anew", "anew / remembering"):
        table.add_column(name, justify="right")
    for kept, anew in costs:
        cells = (f"{kept.evaluated:.2f}", _micros(kept.micros), f"{anew.evaluated:.2f}", _micros(anew.micros))
        table.add_row(kept.name, *cells, f"{anew.ratio(kept):.2f}")
    return table


def _micros(micros: Sequence[float]) -> str:
    middle = median(micros)
    return f"{middle:,.0f} ±{(max(micros) - min(micros)) / 2 / middle:3.0%}"


def _bytes(figure: float | None) -> str:
    return "not filled in time" if figure is None else f"{figure:.0f}"


def _verdict(is_kept: bool) -> str:
    return "yes" if is_kept else "NO"


def _shown(rates: Sequence[float]) -> str:
    return f"{median(rates) / 1000:,.0f}k ({min(rates) / 1000:,.0f}-{max(rates) / 1000:,.0f}k)"


def _spread(rates: Sequence[float]) -> str:
    middle = median(rates)
    return f"{middle / 1000:,.{0 if middle >= 100_000 else 1}f}k ±{(max(rates) - min(rates)) / 2 / middle:3.0%}"


def _tell(progress: str) -> None:
    click.echo(progress, err=True)


if __name__ == "__main__":
    main()
