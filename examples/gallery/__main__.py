"""The command: ``python -m examples.gallery`` runs the programs of the gallery, and shows what comes out."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cartesius import Engine
from examples.gallery import GALLERY
from examples.gallery.exhibits import moment
from examples.gallery.running import run_on_spark, steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from cartesius.data.events import Time
    from examples.gallery.exhibits import Exhibit
    from examples.gallery.running import Result

_SIGNS: Final = {"event": "+", "retract": "-", "update": "=", "delete": "x"}
_LOG: Final = Path("out/gallery/spark.log")


def known(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that there are; a wrong one is answered with the one that is like it."""
    for name in names:
        if name not in GALLERY:
            near = get_close_matches(name, GALLERY, n=1)
            instead = f"did you mean {near[0]!r}?" if near else "choose one of these"
            message = f"expected one of {', '.join(GALLERY)} but got {name!r}; {instead}"
            raise click.BadParameter(message, ctx, param)
    return names


@click.command(context_settings={"max_content_width": 110})
@click.argument("names", nargs=-1, callback=known, metavar="[NAME]...")
@click.option("--spark", "on_spark", is_flag=True, help="Run on Spark, which takes ten seconds to start.")
@click.option("--explain", "explained", is_flag=True, help="Also print what bounds memory, and how rows may be split.")
def main(names: tuple[str, ...], *, on_spark: bool, explained: bool) -> None:
    """Run programs from six industries on a few events each, and show what comes out.

    NAME is advertising, orders, trading, machines, security or ships; without one, all are run.

    Of the results, + is one that comes, - one that is taken back; of a table, = is a row that changes, and x one that
    is no more.
    """
    console = Console(highlight=False)
    with _session() if on_spark else nullcontext() as spark:
        for name in dict.fromkeys(names) or GALLERY:
            exhibit = GALLERY[name]
            console.rule(Text(name, style="bold"))
            console.print(exhibit.task, markup=False)
            console.print(stepwise(exhibit) if spark is None else on_spark_table(exhibit, spark))
            if explained:
                console.print(Engine(*exhibit.outputs).explain(), markup=False, soft_wrap=True)


def stepwise(exhibit: Exhibit) -> Table:
    """Return a table of events, as they arrive, and of what each gave."""
    table = Table("at", "input", "event", "results")
    for arrival, results in steps(exhibit):
        given = "\n".join(map(said, results))
        if arrival is not None:
            row = (clock(arrival.at), arrival.source.name, listed(arrival.value), given)
            table.add_row(*map(Text, row))  # as text: a bracket in an event is no markup
        elif given:
            table.add_row("", "", "the inputs end", Text(given))
    return table


def on_spark_table(exhibit: Exhibit, spark: SparkSession) -> Table:
    """Return a table of what Spark gives, by time."""
    table = Table("results on Spark")
    for result in sorted(run_on_spark(spark, exhibit), key=lambda result: result.end):
        table.add_row(Text(said(result)))
    return table


def said(result: Result) -> str:
    """Return a result in a line."""
    key = "" if result.key is None else f"{result.key} "
    return f"{_SIGNS[result.change]} {clock(result.end)} {result.output}: {key}{listed(result.fields)}".rstrip()


def listed(fields: Mapping[str, Any]) -> str:
    """Return the fields of a value in a line.

    >>> listed({"ship": "EVA", "cm": 90})
    'ship EVA, cm 90'
    """
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def clock(at: Time) -> str:
    """Return a time of day, behind the day of the month.

    >>> clock(60_000_000)
    '01 00:01:00'
    """
    return f"{moment(at):%d %H:%M:%S}"


@contextmanager
def _session() -> Iterator[SparkSession]:
    """Start a small Spark, or say why there is none."""
    from examples.port.on_spark import NoSpark, spark_session  # noqa: PLC0415 - only where it is wanted

    _LOG.parent.mkdir(parents=True, exist_ok=True)
    try:
        with spark_session(_LOG) as spark:
            yield spark
    except NoSpark as error:
        message = f"Spark needs Java 17 or newer, in JAVA_HOME or on the PATH ({_LOG}); leave --spark away to run here"
        raise click.ClickException(message) from error


if __name__ == "__main__":
    main(prog_name="python -m examples.gallery")
