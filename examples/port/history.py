"""The day as a history: a folder with a file for each source, as `dsl.histories` reads it and `compare` judges it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import pyarrow as pa
import pyarrow.parquet as pq

from examples.port.inputs import SOURCES, WIND_DAY, read_day
from examples.port.outside import PlainConsole
from examples.port.results import end, warn
from examples.port.running import refuse
from examples.port.slices import FIELDS
from examples.port.tables import UnusableFile

if TYPE_CHECKING:
    from datetime import datetime

    from examples.port.inputs import Day

DATA: Final = Path(__file__).resolve().parent / "data"


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
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=DATA,
    show_default="the data beside the program",
    help="Folder with the five input files.",
)
@click.option(
    "--wind-day",
    type=click.DateTime(["%Y-%m-%d"]),
    default=f"{WIND_DAY}",
    metavar="YYYY-MM-DD",
    help="The day whose winds blow.",
)
def history(folder: Path, data: Path, wind_day: datetime) -> None:
    """Write the day of New York harbour as a history into FOLDER: a Parquet file for each source.

    `python -m dsl compare OLD.rules NEW.rules --data FOLDER` reads it.
    """
    console = PlainConsole()
    try:
        day = read_day(data, wind_day=wind_day.date())
        folder.mkdir(parents=True, exist_ok=True)
    except (UnusableFile, OSError) as error:
        refuse(error)
    warn(console, day.damaged)
    for source, table in history_tables(day).items():
        pq.write_table(table, folder / f"{source}.parquet")
    lost = f"; {len(day.dead)} rows cannot be used and are not in it" if day.dead else ""
    console.print(f"Written to {folder}: {len(day.readings):,} readings of {day.day:%-d %B %Y}{lost}")
    end(day.damaged)
