"""The command: ``python -m examples.restrictions`` shows five restrictions, their source, and each at work."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from cartesius import Engine
from examples.restrictions import episode, expiry, failover, latches, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from cartesius import Reactive, Restriction

SHOWN: Final[Mapping[str, tuple[ModuleType, type[Restriction]]]] = MappingProxyType(
    {
        "failing_over": (failover, failover.failing_over),
        "episodes": (episode, episode.episodes),
        "latching": (latches, latches.latching),
        "spreading": (spread, spread.spreading),
        "good_until": (expiry, expiry.good_until),
    }
)


@click.command(context_settings={"max_content_width": 110})
@click.argument("names", nargs=-1, type=click.Choice(tuple(SHOWN)), metavar="[NAME]...")
@click.option("--source/--no-source", default=True, show_default=True, help="Print the source of each restriction.")
def main(names: tuple[str, ...], *, source: bool) -> None:
    """Show restrictions that a user could have written: the question, the source, and a small run of each.

    NAME is failing_over, episodes, latching, spreading or good_until; without one, all are shown.
    """
    console = Console(highlight=False)
    for name in dict.fromkeys(names) or SHOWN:
        module, restriction = SHOWN[name]
        console.rule(Text(name, style="bold"))
        console.print((module.__doc__ or "").partition("\n")[0], markup=False)
        if source:
            code = inspect.getsource(restriction).rstrip()
            # As text, since a `Syntax` crops what is wider than the terminal.
            console.print(Text("\n"), Syntax("", "python", theme="ansi_light").highlight(code), soft_wrap=True, sep="")
        output, trace = module.example()
        console.print(f"Engine({output.name}, lateness=0), restricted by:", markup=False)
        console.print(f"  {restrictions_of(output)}", markup=False, soft_wrap=True)
        console.print(as_table(output, trace))


def restrictions_of(output: Reactive) -> str:
    """Return the restrictions of a correlation, as `Engine.explain` writes them."""
    line = next(line for line in Engine(output).explain().splitlines() if line.split()[:1] == ["restrictions"])
    return line.split(maxsplit=1)[1]


def as_table(output: Reactive, trace: Iterable[tuple[Reactive, Any, int]]) -> Table:
    """Run the trace; return a table of inputs and what each gave."""
    table = Table("at", "input", "event", "results", "in memory", title_justify="left")
    engine = Engine(output, lateness=0)
    for reactive, value, at in trace:
        results = engine.push(reactive, value, at=at)
        shown = ", ".join(f"{name} {part}" for name, part in value.items()) if isinstance(value, dict) else str(value)
        given = "\n".join(str(event.value) for event in results)
        # As text, so that a square bracket in an event is no markup.
        table.add_row(*map(Text, (str(at), reactive.name, shown, given, str(engine.stats.retained))))
    return table


if __name__ == "__main__":
    main(prog_name="python -m examples.restrictions")
