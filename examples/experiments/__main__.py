"""The command: ``python -m examples.experiments`` compares restriction strategies and writes a report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from examples.experiments import figure8, late_strategies, nexmark, table3
from examples.experiments.efforts import Effort
from examples.experiments.sheets import Sheet, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXPERIMENTS: Final[Mapping[str, Callable[[Sheet, Effort, int, int], None]]] = MappingProxyType(
    {"table3": table3.run, "figure8": figure8.run, "strategies": late_strategies.run, "nexmark": nexmark.run}
)
INTRODUCTION: Final = """
# Which restriction, at what price?

A join of streams pairs events. All pairs are the *cartesian product*; what one wants is a part of it. A *restriction*
says which part, by saying what is remembered, for how long, and what may meet: the newest of each, each once, those
close in time, those of the same key. The choice decides what comes out, what it costs, and what goes wrong when
events are late. These experiments measure that; every number below is from the run that wrote this page.

A *candidate* is a combination that reached the body of the join. *Memory* counts events that are retained.
"""


@click.command(context_settings={"max_content_width": 110})
@click.argument("names", nargs=-1, type=click.Choice(tuple(EXPERIMENTS)), metavar="[NAME]...")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/experiments"),
              show_default=True, help="Where report.html, report.md, pictures and data go.")  # fmt: skip
@click.option("--effort", type=click.Choice([one.name for one in Effort]), default="normal", show_default=True,
              help="A look in seconds, a report in minutes, or the sizes of the paper and the thesis.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Of what is drawn.")
@click.option("--repetitions", type=click.IntRange(min=1), default=3, show_default=True,
              help="Runs of each; medians are shown.")  # fmt: skip
def main(names: tuple[str, ...], *, out: Path, effort: str, seed: int, repetitions: int) -> None:
    r"""Compare restriction strategies; NAME is table3, figure8, strategies or nexmark. Without one, all run.

    \b
    table3      the paper's Table 3: four joins of three streams
    figure8     the thesis's Figure 8.1: rule programs over growing tables
    strategies  nine strategies on late, bursty, skewed input, against known truth
    nexmark     queries 3, 4, 5, 7, 8 and 9 of the Nexmark benchmark
    """
    console = Console(stderr=True)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write to {out}: {error.strerror}"
        raise click.ClickException(message) from None
    chosen = list(dict.fromkeys(names)) or list(EXPERIMENTS)
    sheets = []
    columns = (SpinnerColumn(), BarColumn(20), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(chosen))
        for name in chosen:
            sheet = Sheet(name, out, partial(_tell, progress, task, name))
            EXPERIMENTS[name](sheet, Effort[effort], seed, repetitions)
            sheets.append(sheet)
            progress.advance(task)
    page = write(sheets, out, INTRODUCTION)
    click.echo(f"{page}  (and report.md, pictures, data)")


def _tell(progress: Progress, task: TaskID, name: str, line: str) -> None:
    progress.update(task, description=f"{name}: {line}")


if __name__ == "__main__":
    main(prog_name="python -m examples.experiments")
