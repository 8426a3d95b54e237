"""How the figures of tables, memory and rules are shown."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table

from bench import memory, rules, tables
from bench.program_cases import SHIPS, TOUCHED
from bench.sheets import verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


def of_speed(figures: Sequence[tables.Figure], updates: int, repetitions: int) -> Table:
    """Return the table of the rates of the operators on tables."""
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


def of_growth(figures: Sequence[tables.Figure], sizes: Sequence[int]) -> Table:
    """Return the table of how they slow down with the size."""
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
        table.add_row(figure.name, *speed, verdict(figure.is_flat), visits, verdict(figure.visits_the_same))
    return table


def of_memory(held: Sequence[tuple[memory.Held, memory.Held]], rows: int, updated_rows: int) -> Table:
    """Return the table of the memory of a row."""
    table = Table(title=f"bytes a row beyond what was pushed, by tracemalloc; bound: {memory.BOUND}")
    table.add_column("operator")
    table.add_column(f"{rows:,} rows", justify="right")
    table.add_column("ok?", justify="right")
    table.add_column(f"{updated_rows:,} rows", justify="right")
    table.add_column("each updated once", justify="right")
    for large, small in held:
        figures = [_bytes(large.filled), verdict(large.is_within), _bytes(small.filled), _bytes(small.updated)]
        table.add_row(large.name, *figures)
    return table


def of_rules(costs: Sequence[rules.Cost], events: int, repetitions: int) -> Table:
    """Return the table of what packs of one and of forty rules cost."""
    table = Table(
        title=f"µs of CPU time an event, medians of {repetitions} ± half the range, {events:,} events;\n"
        f"{SHIPS} ships, {TOUCHED} fields of one change; bound: 40 rules / one rule ≤ {rules.BOUND:g}"
    )
    table.add_column("pack")
    for name in ("requirements evaluated", "µs", "/ one rule", "ok?"):
        table.add_column(name, justify="right")
    one, forty, anew = costs
    table.add_row(one.name, f"{one.evaluated:g}", _micros(one.micros), "", "")
    ratio = forty.ratio(one)
    table.add_row(
        forty.name, f"{forty.evaluated:g}", _micros(forty.micros), f"{ratio:.2f}", verdict(ratio <= rules.BOUND)
    )
    table.add_row(anew.name, f"{anew.evaluated:g}", _micros(anew.micros), f"{anew.ratio(one):.2f}", "")
    return table


def of_programs(costs: Sequence[tuple[rules.Cost, rules.Cost]], events: int, repetitions: int) -> Table:
    """Return the table of what the thesis's programs cost."""
    table = Table(
        title=f"the thesis's programs over {SHIPS} ships: µs of CPU time an event, medians of {repetitions}"
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


def _spread(rates: Sequence[float]) -> str:
    middle = median(rates)
    return f"{middle / 1000:,.{0 if middle >= 100_000 else 1}f}k ±{(max(rates) - min(rates)) / 2 / middle:3.0%}"
