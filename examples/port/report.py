"""What a run prints: verdict changes, a summary, and what must be said openly about the data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import attrs
from rich.table import Table
from rich.text import Text

from examples.port.dead_letters import problems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from rich.console import Console

    from examples.port.dead_letters import DeadLetter
    from examples.port.inputs import Day
    from examples.port.verdict_changes import Change, ChangeLog

STYLES: Final = {"allowed": "green", "restricted": "bold red", "unknown": "yellow"}
"""How a verdict is printed."""
_PROBLEMS_SHOWN: Final = 12


@attrs.frozen
class Timing:
    """How long a run took, in seconds; ``spark`` is Spark's own start, None if it was not used."""

    reading: float
    judging: float
    spark: float | None


def notes(day: date, wind_day: date) -> list[str]:
    """Return what must be said openly wherever results are shown.

    >>> from datetime import date
    >>> notes(date(2020, 6, 30), date(2013, 6, 30))[0]
    'Wind: that of 30 June 2013, with its clock shifted to 30 June 2020.'

    Args:
        day: The day that is judged.
        wind_day: The day whose winds are used.
    """
    return [
        f"Wind: that of {wind_day:%-d %B %Y}, with its clock shifted to {day:%-d %B %Y}.",
        "Tide and stream: predictions, not measurements; between two of them the less favourable counts.",
        "Berth depths are assumed (15.24 m = 50 ft at the deep container berths); all limits are for demonstration.",
        "A moored ship is taken to lie at the nearest berth. AIS was heard from 00:00 to 00:59; a ship keeps her last"
        " report for the rest of the day.",
    ]


def show_changes(console: Console, log: ChangeLog, day: Day, rows: int, file: str) -> None:
    """Print the most telling verdict changes: of ships that are not allowed all day, the deepest first."""
    changes = log.changes
    draughts = {each.values["mmsi"]: each.values["draught"] for each in day.readings if each.source == "vessel"}
    found = telling(changes, draughts)
    shown = found[:rows]
    if shown:
        table = Table(title="Verdict changes, the deepest ships first", title_justify="left", title_style="bold")
        table.add_column("time (UTC)", no_wrap=True)
        table.add_column("ship", no_wrap=True)
        table.add_column("draught", justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        table.add_column("because")
        before: Change | None = None
        for change in shown:
            if before is not None and before.mmsi != change.mmsi:
                table.add_section()
            draught = draughts[change.mmsi]
            table.add_row(
                f"{change.moment:%H:%M:%S}",
                change.name if before is None or before.mmsi != change.mmsi else "",
                "" if draught is None else f"{draught:.1f} m",
                Text(change.status, STYLES[change.status]),
                because(change),
            )
            before = change
        console.print(table)
    calm = len(log.last) - len({change.mmsi for change in found})
    more = len(found) - len(shown)
    console.print(
        f"{more:,} more changes like these, and the first verdicts of {calm:,} ships that are allowed from first to"
        f" last, are in {file}: {len(changes):,} in all.",
        style="dim",
    )


def telling(changes: Sequence[Change], draughts: Mapping[int, float | None]) -> list[Change]:
    """Return the changes of ships that are not allowed all day: the deepest ship first, hers in order of time."""
    ships = {change.mmsi for change in changes if change.status != "allowed"}
    found = [change for change in changes if change.mmsi in ships]
    return sorted(found, key=lambda change: (-(draughts.get(change.mmsi) or 0.0), change.mmsi, change.time))


def because(change: Change) -> str:
    """Return, in words, why a verdict is what it is.

    >>> from examples.port.verdict_changes import Change
    >>> because(Change(0, 1, "EVA", "restricted", ("wind limit",), ("tide",)))
    'wind limit; not known: tide'
    """
    parts = [", ".join(change.because)] if change.because else []
    if change.missing:
        parts.append(f"not known: {', '.join(change.missing)}")
    return "; ".join(parts)


def show_summary(console: Console, log: ChangeLog, dead: Sequence[DeadLetter], timing: Timing) -> None:
    """Print how many ships, verdicts, changes and dead letters there are, and how long it took."""
    now = Counter(change.status for change in log.last.values())
    table = Table(title="Summary", title_justify="left", title_style="bold", show_header=False)
    table.add_row("ships", f"{len(log.last):,}")
    table.add_row("verdicts at the end", ", ".join(f"{now[status]} {status}" for status in STYLES))
    table.add_row("verdict changes", f"{len(log.changes):,}, first verdicts included")
    table.add_row("dead letters", buried(dead))
    table.add_row("time taken", f"{timing.reading + timing.judging:.1f} s ({timing.judging:.1f} s to judge)")
    if timing.spark is not None:
        table.add_row("Spark's own start", f"{timing.spark:.1f} s, not counted above")
    console.print(table)


def buried(dead: Sequence[DeadLetter]) -> str:
    """Return how many dead letters there are, and of which kinds, a line each."""
    every = problems(dead)
    lines = [f"{len(dead):,}", *(f"{number:,} x {source}: {problem}" for source, problem, number in every)]
    if len(every) > _PROBLEMS_SHOWN:
        lines = [*lines[: _PROBLEMS_SHOWN + 1], f"… and {len(every) - _PROBLEMS_SHOWN} more kinds"]
    return "\n".join(lines)
