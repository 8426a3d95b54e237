"""What a run says of windows: when each deep ship may pass, what forbids it before and after, and what is assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from examples.port.arrival_rules import PASSAGE_H
from examples.port.arrivals import ASSUMED_KN, DEEP_M
from examples.port.cells import moment
from examples.port.windows import AHEAD_H

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from examples.port.windows import Outlook, Window


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
    """Print, for each deep ship, when she is there or may leave, her windows, and what forbids it around each."""
    title = f"Arrivals and next windows from {moment(now):%H:%M} on, ships of {DEEP_M:g} m draught and more"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("ship, ready (UTC)", no_wrap=True)
    table.add_column("may start", no_wrap=True)
    table.add_column("not before, because of")
    table.add_column("not after, because of")
    for each in outlooks:
        call = each.call
        verb = "leaves" if call.direction == "outbound" else "comes to"
        ship = f"{call.name}\n{call.draught:.1f} m, {verb} {call.berth}\n{moment(call.eta):%H:%M}, {call.derived}"
        rows = [(span(window), ", ".join(window.before), _after(window)) for window in each.windows]
        (first, *more) = rows or [("not at all", ", ".join(each.blocked), "")]
        table.add_row(ship, *first)
        for row in more:
            table.add_row("", *row)
        table.add_section()
    console.print(table)


def span(window: Window) -> str:
    """Return a window as it is printed."""
    return f"{moment(window.start):%H:%M}-{moment(window.end):%H:%M}"


def _after(window: Window) -> str:
    return ", ".join(window.after) or f"looked at {AHEAD_H} h ahead only"
