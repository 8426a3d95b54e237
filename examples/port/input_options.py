"""The options that commands of the port share: where the input files are, and whose winds blow."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from examples.port.inputs import WIND_DAY

DATA: Final = Path(__file__).resolve().parent / "data"
"""The data beside the program."""

data_option: Final = click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=DATA,
    show_default="the data beside the program",
    help="Folder with the five input files; its README says what they are.",
)
wind_day_option: Final = click.option(
    "--wind-day",
    type=click.DateTime(["%Y-%m-%d"]),
    default=f"{WIND_DAY}",
    metavar="YYYY-MM-DD",
    help="The day whose winds blow: one that is in the wind file. Its clock is shifted to the day that is judged.",
)
