"""What a run prints: ship by ship, a summary, and what must be said openly about the data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import attrs
from rich.table import Table
from rich.text import Text

from examples.port.arrivals_report import span
from examples.port.cells import moment
from examples.port.dead_letters import problems
from examples.port.marks import because, marked, unknown_by_reason

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    from rich.console import Console

    from examples.port.dead_letters import DeadLetter
    from examples.port.inputs import Day
    from examples.port.verdict_changes import Change, ChangeLog
    from examples.port.windows import Outlook

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


def show_ships(
    console: Console, log: ChangeLog, day: Day, now: int, outlooks: Sequence[Outlook], rows: int, file: str
) -> None:
    """Print ship by ship, the deepest first: her verdict and why, how it changes, and when she may next pass.

    Shown are ships that are not allowed from then on all day, and deep ones; those of which something is not known all
    day are counted by reason.

    Args:
        console: Where.
        log: The verdicts of the day.
        day: The readings.
        now: When ships were last heard, in microseconds since the epoch.
        outlooks: What is ahead of deep ships.
        rows: How many ships at most.
        file: Where all verdict changes are.
    """
    draughts = {each.values["mmsi"]: each.values["draught"] for each in day.readings if each.source == "vessel"}
    ahead = {each.call.mmsi: each for each in outlooks}
    every = courses(log.changes, now)
    found = [course for mmsi, course in every.items() if mmsi in ahead or is_told(course)]
    found.sort(key=lambda course: (-(draughts.get(course[0].mmsi) or 0.0), course[0].mmsi))
    title = f"Ships at {moment(now):%H:%M} UTC, the deepest first"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("ship", no_wrap=True)
    table.add_column("verdict, because of; later ones, from when on")
    if outlooks:
        table.add_column("may next pass", no_wrap=True)
    for course in found[:rows]:
        draught, outlook = draughts[course[0].mmsi], ahead.get(course[0].mmsi)
        ship = f"{course[0].name}\n" + ("draught not known" if draught is None else f"{draught:.1f} m")
        passing = [_passing(outlook)] if outlooks else []
        table.add_row(ship, _course(course), *passing, end_section=True)
    if table.rows:
        console.print(table)
    at = [course[0] for course in every.values()]
    console.print(f"{len(at):,} ships at {moment(now):%H:%M}: {totals(at)}.")
    more = len(found) - len(table.rows)
    console.print(
        (f"{more:,} more ships like these. " if more else "")
        + f"All {len(log.changes):,} verdict changes are in {file}.",
        style="dim",
    )


def courses(changes: Sequence[Change], now: int) -> dict[int, list[Change]]:
    """Return, by ship, her verdict at ``now`` and the later ones; of a ship that comes later, her first and on.

    Args:
        changes: Of all ships, in order of time.
        now: In microseconds since the epoch.
    """
    found: dict[int, list[Change]] = {}
    for change in changes:
        if change.time <= now:
            found[change.mmsi] = [change]
        else:
            found.setdefault(change.mmsi, []).append(change)
    return found


def is_told(course: Sequence[Change]) -> bool:
    """Return whether a ship is shown for her verdicts: not if all are *allowed*, or if something is not known at all.

    >>> from examples.port.verdict_changes import Change
    >>> unknown = Change(0, 1, "EVA", "unknown", (), ("vessel.beam",))
    >>> is_told([unknown]), is_told([unknown, Change(1, 1, "EVA", "allowed", (), ())])
    (False, True)
    """
    return len({change.status for change in course}) > 1 or course[0].status == "restricted"


def _course(course: Sequence[Change]) -> Text:
    """A ship's verdict now, and below it the later ones with their times."""
    said = [marked(change.status, because(change.because, change.missing)) for change in course]
    times = ["", *(f"{change.moment:%H:%M} " for change in course[1:])]
    return Text("\n").join(Text(time).append_text(verdict) for time, verdict in zip(times, said, strict=True))


def _passing(outlook: Outlook | None) -> str:
    if outlook is None:
        return ""
    verb = "leaves" if outlook.call.direction == "outbound" else "comes to"
    spans = [span(window) for window in outlook.windows] or ["not today"]
    return "\n".join([f"{verb} {outlook.call.berth}", *spans])


def show_summary(
    console: Console, log: ChangeLog, dead: Sequence[DeadLetter], damaged: Sequence[str], timing: Timing
) -> None:
    """Print how many ships, verdicts, changes and dead letters there are, and how long it took."""
    table = Table(title="Summary", title_justify="left", title_style="bold", show_header=False)
    table.add_row("ships", f"{len(log.last):,}")
    table.add_row("verdicts at the end", totals(log.last.values()))
    table.add_row("verdict changes", f"{len(log.changes):,}, first verdicts included")
    if damaged:
        table.add_row("damaged input", f"{len(damaged)}, named at the top")
    table.add_row("dead letters", buried(dead))
    table.add_row("time taken", f"{timing.reading + timing.judging:.1f} s ({timing.judging:.1f} s to judge)")
    if timing.spark is not None:
        table.add_row("Spark's own start", f"{timing.spark:.1f} s, not counted above")
    console.print(table)


def totals(verdicts: Collection[Change]) -> str:
    """Return how many verdicts are of each kind, the unknown ones by reason."""
    number = Counter(change.status for change in verdicts)
    unknown = unknown_by_reason(change.missing for change in verdicts if change.status == "unknown")
    return f"{number['allowed']:,} allowed, {number['restricted']:,} restricted, {unknown}"


def buried(dead: Sequence[DeadLetter]) -> str:
    """Return how many dead letters there are, and of which kinds, a line each."""
    every = problems(dead)
    lines = [f"{len(dead):,}", *(f"{number:,} x {source}: {problem}" for source, problem, number in every)]
    if len(every) > _PROBLEMS_SHOWN:
        lines = [*lines[: _PROBLEMS_SHOWN + 1], f"… and {len(every) - _PROBLEMS_SHOWN} more kinds"]
    return "\n".join(lines)
