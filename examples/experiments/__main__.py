"""The command: ``python -m examples.experiments`` compares restriction strategies and writes a report."""

from __future__ import annotations

import os
import platform
import time
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from cartesius.errors import InvalidArgument
from dsl.command_lines import INTERRUPTED, check_writable, run
from examples.experiments import figure8, late_strategies, nexmark, table3
from examples.experiments.bars import Bar
from examples.experiments.efforts import Effort
from examples.experiments.sheets import Sheet, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXPERIMENTS: Final[Mapping[str, Callable[[Sheet, Effort, int, int], None]]] = MappingProxyType(
    {"table3": table3.run, "figure8": figure8.run, "strategies": late_strategies.run, "nexmark": nexmark.run}
)
CLOCKS: Final = MappingProxyType({"wall": time.perf_counter, "cpu": time.process_time})
INTRODUCTION: Final = """
# Which restriction, at what price?

A join of streams pairs events: a ship's report with the tide at its berth, say. All pairs that there are, every event
with every other that has come so far, are the *cartesian product*. Nobody wants all of them, and nobody could keep
all events for ever. So one says which pairs are wanted, by a *restriction*: what is remembered, for how long, and what
may meet. Four tide readings come, and then a ship:

| the restriction | the ship is paired with |
| --- | --- |
| none | each of the four readings, and with all that come later |
| the newest | the last reading that has come, even if it was taken before another one and was only late |
| each once | a reading that no ship has had before |
| at most ten minutes apart | those of the four that were taken about when the ship reported |
| the one in force | the reading that was in force when the ship reported, as soon as that has come |

Each is a sensible join for somebody. The choice decides what comes out, what goes wrong when events are late, and what
it costs: in memory, in waiting, in time. These experiments measure that. Each begins with what was asked, and ends with
what one sees.

Some words: a *candidate* is a combination of events that is looked at, after keys and indexes have left out what cannot
match; *memory* is the number of events that are remembered for later ones; events *wait* when they are held back until
others have come.
"""


@click.command(context_settings={"max_content_width": 110})
@click.argument("names", nargs=-1, type=click.Choice(tuple(EXPERIMENTS)), metavar="[NAME]...")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/experiments"),
              show_default=True, help="Where report.html, report.md, pictures and data go.")  # fmt: skip
@click.option("--effort", type=click.Choice([one.name for one in Effort]), default="normal", show_default=True,
              help="A look in seconds, a report in minutes, or the sizes of the paper and the thesis.")  # fmt: skip
@click.option("--clock", type=click.Choice(tuple(CLOCKS)), default="wall", show_default=True,
              help="Measure speeds by the clock on the wall, or by the processor's time: for a machine that has other"
              " work, too.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="Of what is drawn.")
@click.option("--repetitions", type=click.IntRange(1, 1_000), default=3, show_default=True,
              help="Runs of each: in strategies and table3 of other events each, but one alone of table3's cartesian;"
              " in nexmark of the same events. In figure8, how many times as much is measured.")  # fmt: skip
def main(names: tuple[str, ...], *, out: Path, effort: str, clock: str, seed: int, repetitions: int) -> None:
    """Compare restriction strategies; NAME is table3, figure8, strategies or nexmark. Without one, all run.

    \b
    table3      the paper's Table 3: four joins of three streams
    figure8     the thesis's Figure 8.1: rule programs over growing tables
    strategies  nine strategies on late, bursty, skewed input, against known truth
    nexmark     queries 3, 4, 5, 7, 8 and 9 of the Nexmark benchmark

    Ctrl-C ends it, and keeps what has been measured.
    """  # noqa: D301 - click looks for the character, not for how it is written
    try:
        check_writable("--out", out)
    except InvalidArgument as error:
        raise click.ClickException(str(error)) from None
    chosen = list(dict.fromkeys(names)) or list(EXPERIMENTS)
    options = f"--effort {effort} --clock {clock} --seed {seed} --repetitions {repetitions}"
    command = f"python -m examples.experiments {' '.join(chosen)} {options}"
    introduction = f"{INTRODUCTION}\n{_origin(command)}"
    sheets: list[Sheet] = []
    with Bar() as bar:
        for name in chosen:
            sheet = Sheet(name, out, bar.plan, partial(_tell, bar, name), CLOCKS[clock])
            sheets.append(sheet)
            try:
                EXPERIMENTS[name](sheet, Effort[effort], seed, repetitions)
            except BaseException as error:
                sheet.stop()
                page = write(sheets, out, introduction)
                click.echo(
                    f"interrupted; what was measured until then is in {page}, and in the data beside it", err=True
                )
                if isinstance(error, KeyboardInterrupt):
                    raise SystemExit(INTERRUPTED) from None
                raise
            page = write(sheets, out, introduction)  # after each, so that nothing is lost
    click.echo(f"{page}  (and report.md, pictures, data)")
    faults = [f"{sheet.name}: {fault}" for sheet in sheets for fault in sheet.faults]
    if faults:
        raise click.ClickException("; ".join(faults))


def _tell(bar: Bar, name: str, line: str) -> None:
    bar.tell(f"{name}: {line}")


def _origin(command: str) -> str:
    machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors"
    return (
        f"Every number below is from one run, of `{command}` ({machine}). Speeds are of that machine, and of what else"
        " it did at the time: look at their ratios. Everything else is found again from the seed."
    )


if __name__ == "__main__":
    run(partial(main, prog_name="python -m examples.experiments"))
