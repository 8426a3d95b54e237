"""`make bench`: print events a second of our operators beside RxPY's, from one run."""

from __future__ import annotations

from statistics import median

import click
from rich.console import Console
from rich.table import Table

from bench.streams import measure, version


@click.command(help="Measure three-input stream operators against RxPY on the same events, in one run.")
@click.option("--events", default=30_000, show_default=True, help="Events a repetition, over the three inputs.")
@click.option("--repetitions", default=5, show_default=True, help="Repetitions; medians are printed, with the spread.")
@click.option("--seed", default=1, show_default=True, help="Seed of the values.")
def main(events: int, repetitions: int, seed: int) -> None:
    """Run the benchmark."""
    table = Table(title=f"events/s, medians of {repetitions} (smallest to largest), {events:,} events, 3 inputs")
    table.add_column("operator")
    table.add_column("results", justify="right")
    table.add_column("cartesius", justify="right")
    table.add_column(f"RxPY {version()}", justify="right")
    table.add_column("ratio", justify="right")
    for row in measure(events, repetitions, seed):
        table.add_row(row.name, f"{row.results:,}", _shown(row.ours), _shown(row.theirs), f"{row.ratio:.2f}")
    console = Console(width=None)
    console.print(table)
    console.print(
        "The reference tier runs every clause as written, on coroutines; ratios count, absolute times do not."
    )


def _shown(rates: list[float]) -> str:
    return f"{median(rates) / 1000:,.0f}k ({min(rates) / 1000:,.0f}-{max(rates) / 1000:,.0f}k)"


if __name__ == "__main__":
    main()
