"""The day, or many made of it, as a history: a folder with files for each source, as `dsl.histories` reads it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click
import pyarrow as pa
import pyarrow.parquet as pq
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cartesius.errors import InvalidArgument
from dsl.command_lines import check_writable
from examples.port.input_options import data_option, wind_day_option
from examples.port.inputs import SOURCES, read_day
from examples.port.outside import PlainConsole
from examples.port.results import end, warn
from examples.port.running import refuse
from examples.port.slices import FIELDS
from examples.port.tables import UnusableFile

if TYPE_CHECKING:
    from datetime import datetime

    from examples.port.inputs import Day


def history_tables(day: Day) -> dict[str, pa.Table]:
    """Return what was observed on a day, a table for each source: ``time``, and the fields, in the order of use."""
    found = {}
    for source in SOURCES:
        schema = pa.schema([("time", pa.timestamp("us", "UTC")), *FIELDS[source].items()])
        rows = [{**reading.values, "time": reading.time} for reading in day.readings if reading.source == source]
        found[source] = pa.Table.from_pylist(rows, schema=schema)
    return found


@click.command
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@data_option
@wind_day_option
def history(folder: Path, data: Path, wind_day: datetime) -> None:
    """Write the day of New York harbour as a history into FOLDER: a Parquet file for each source.

    `python -m dsl compare OLD.rules NEW.rules --data FOLDER` reads it.
    """
    console = PlainConsole()
    try:
        check_writable("FOLDER", folder, *(f"{source}.parquet" for source in SOURCES))
        day = read_day(data, wind_day=wind_day.date())
    except (InvalidArgument, UnusableFile, OSError) as error:
        refuse(error)
    warn(console, day.damaged)
    for source, table in history_tables(day).items():
        pq.write_table(table, folder / f"{source}.parquet")
    lost = f"; {len(day.dead)} rows cannot be used and are not in it" if day.dead else ""
    console.print(f"Written to {folder}: {len(day.readings):,} readings of {day.day:%-d %B %Y}{lost}")
    end(day.damaged)


@click.command(context_settings={"show_default": True})
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--days", type=click.IntRange(1, 3660), default=365, help="How many days.")
@click.option(
    "--reports", type=click.IntRange(100), default=10_000_000, help="How many reports of ships, about, in all."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, help="Of all that is drawn: the same seed makes the same days."
)
@data_option
def year(folder: Path, days: int, reports: int, seed: int, data: Path) -> None:
    """Write many days made of the one as a history into FOLDER, a Parquet file for each source and day.

    Ships, berths, tides, streams and winds are drawn anew for each day, as `examples/port/resampling.py` says; 365 days
    of ten million reports are 0.2 GB.
    """
    from examples.port.resampling import Resampled, write_days  # noqa: PLC0415 - it stands on this module

    console = PlainConsole()
    if folder.exists() and any(folder.iterdir()):
        refuse(FileExistsError(f"{folder}: expected an empty folder, or none, but it has files; name another"))
    started = perf_counter()
    with Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=40), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task("drawing days", total=days)
        try:
            check_writable("FOLDER", folder)
            made = Resampled(data, seed, reports // days)
            found = write_days(made, days, folder, lambda done, _: bar.update(task, completed=done))
        except (InvalidArgument, UnusableFile, OSError) as error:
            refuse(error)
    console.print(f"Written to {folder}: {days:,} days, {found:,} reports, in {perf_counter() - started:,.0f} s")
