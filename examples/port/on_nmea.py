"""Judging the ships of Rotterdam from raw AIS messages: the run of ``--nmea``, and what it prints.

Source: RULES.md, "Rotterdam".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
from rich.table import Table

from examples.port.cells import moment
from examples.port.derive import ELSEWHERE
from examples.port.in_process import run_in_process
from examples.port.inputs import Day, Reading
from examples.port.marks import because, marked
from examples.port.nmea import read_nmea
from examples.port.report import buried, totals
from examples.port.rotterdam import AHEAD_H, BASINS, NAMES, basin_rows, rotterdam_rules
from examples.port.stations import ship_readings

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from rich.console import Console

    from examples.port.input_files import Values
    from examples.port.nmea import Nmea
    from examples.port.verdict_changes import ChangeLog

NOTES: Final = (
    "Depths of the basins and of the approach are assumed, positions approximate; all limits are for demonstration.",
    "The file has no tide, stream, wind or visibility: no rule asks of stream, wind or visibility, and a verdict that"
    " needs the tide is unknown.",
    "Destination, draught and time of arrival are typed by the crew; AIS says no year: the nearest is meant.",
)
"""What must be said openly wherever these results are shown."""


@attrs.frozen
class NmeaRun:
    """What a run gives.

    Args:
        nmea: What was in the file.
        log: The verdicts.
        ships: The last row of each ship that was judged.
        later: How many ships will arrive, but not soon enough to be judged.
        elsewhere: How many stations have no business here.
    """

    nmea: Nmea
    log: ChangeLog
    ships: dict[int, Values]
    later: int
    elsewhere: int


def run_on_nmea(path: Path, day: date | None = None) -> NmeaRun:
    """Judge the ships of Rotterdam by the AIS messages in a file.

    Args:
        path: Sentences, plain or gzipped.
        day: The day on which they were received; None: that which they say.

    Raises:
        UnusableFile: There is nothing to judge in it.
    """
    nmea = read_nmea(path, day)
    readings = ship_readings(nmea.messages, NAMES, {id_: place for id_, (place, _, _) in BASINS.items()})
    last = {reading.values["mmsi"]: reading.values for reading in readings}
    start = min((reading.time or 0 for reading in readings), default=0)
    rows = [Reading("berth", start, 0, row) for row in basin_rows()]
    log = run_in_process(Day(nmea.day, (*rows, *readings), (), nmea.dead, tuple(BASINS), {}, {}), rotterdam_rules())
    later = sum(mmsi not in log.last and row["destination"] != ELSEWHERE for mmsi, row in last.items())
    return NmeaRun(nmea, log, {mmsi: last[mmsi] for mmsi in log.last}, later, len(last) - len(log.last) - later)


def show_nmea(console: Console, run: NmeaRun, rows: int) -> None:
    """Print the ships with their verdicts, what became of the sentences, and what must be said openly.

    Args:
        console: Where.
        run: What the run gave.
        rows: How many ships at most.
    """
    table = Table(title="Ships of Rotterdam, the deepest first", title_justify="left", title_style="bold")
    table.add_column("ship", no_wrap=True)
    table.add_column("bound for, as typed", width=21, overflow="fold")
    table.add_column("arrival", no_wrap=True)
    table.add_column("verdict, because of", overflow="fold")
    order = sorted(run.ships.values(), key=lambda row: (-(row["draught"] or 0.0), row["mmsi"]))
    for row in order[:rows]:
        change = run.log.last[row["mmsi"]]
        draught = "draught not known" if row["draught"] is None else f"{row['draught']:.1f} m"
        typed = f'\n"{row["bound_for"]}"' if row["bound_for"] else ""
        table.add_row(
            f"{row['name']}\n{draught}",
            f"{row['direction'] or 'under way'}, {row['destination'] or 'not said'}{typed}",
            "" if row["eta"] is None else f"{moment(row['eta']):%Y-%m-%d\n%H:%M} UTC",
            marked(change.status, because(change.because, change.missing)),
            end_section=True,
        )
    if table.rows:
        console.print(table)
    if len(order) > len(table.rows):
        console.print(f"and {len(order) - len(table.rows):,} more ships", style="dim")
    nmea = run.nmea
    other = ", ".join(f"{number:,} x {kind}" for kind, number in nmea.unused.most_common())
    summary = Table(title="Summary", title_justify="left", title_style="bold", show_header=False)
    summary.add_row(
        "stations",
        f"{len(run.ships):,} judged; {run.later:,} due later than in {AHEAD_H} h; {run.elsewhere:,} of other ports",
    )
    summary.add_row("verdicts", totals(run.log.last.values()))
    if nmea.damaged:
        summary.add_row("damaged input", f"{len(nmea.damaged)}, named at the top")
    summary.add_row("sentences", f"{nmea.sentences:,}, each of them one of these:")
    summary.add_row("  used", f"{nmea.used:,}, which are {len(nmea.messages):,} messages of ships")
    summary.add_row("  times of receipt", f"{nmea.times:,}")
    summary.add_row("  of kinds not used", f"{sum(nmea.unused.values()):,}" + (f": {other}" if other else ""))
    summary.add_row("  dead letters", buried(nmea.dead))
    console.print(summary)
    for note in NOTES:
        console.print(note, style="dim")
