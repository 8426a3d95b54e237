"""What a run says of arrivals and windows: a table of the deep ships, and what must be said openly about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from examples.port.arrival_rules import PASSAGE_H
from examples.port.arrivals import ASSUMED_KN, DEEP_M
from examples.port.cells import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from examples.port.windows import Outlook


def arrival_notes(now: int) -> list[str]:
    """Return what must be said openly wherever windows are shown.

    >>> arrival_notes(0)[0]
    'The reports carry no time of arrival: it is derived, from 00:00 on. A ship at a berth may leave at any time.'

    Args:
        now: From when on windows are looked for, in microseconds since the epoch.
    """
    return [
        f"The reports carry no time of arrival: it is derived, from {moment(now):%H:%M} on. A ship at a berth may leave"
        " at any time.",
        f"A ship that lies outside is taken to weigh anchor then and to run at {ASSUMED_KN:g} knots, on the great"
        " circle, to the deepest berth for her kind.",
        f"A passage takes {PASSAGE_H} h and must be allowed throughout, by tide and stream as"
        " predicted; the wind is used as if it had been.",
    ]


def show_outlooks(console: Console, outlooks: Sequence[Outlook], now: int) -> None:
    """Print, for each deep ship, when she is there or may leave, her next window, and what forbids it before."""
    title = f"Arrivals and next windows from {moment(now):%H:%M} on, ships of {DEEP_M:g} m draught and more"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("ship", no_wrap=True)
    table.add_column("ready (UTC)", width=11)
    table.add_column("may start", no_wrap=True)
    table.add_column("not before, because of")
    for each in outlooks:
        call = each.call
        verb = "leaves" if call.direction == "outbound" else "comes to"
        table.add_row(
            f"{call.name}\n{call.draught:.1f} m, {verb} {call.berth}",
            f"{moment(call.eta):%H:%M}\n{call.derived}",
            "\n".join(_span(*window) for window in each.windows) or "not at all",
            ", ".join(each.blocked),
            end_section=True,
        )
    console.print(table)


def _span(start: int, end: int) -> str:
    return f"{moment(start):%H:%M}-{moment(end):%H:%M}"
