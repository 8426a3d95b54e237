"""The picture of the windows: clearance over the day, with the times shaded at which a ship may start her passage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from examples.port.marks import COLOURS
from examples.port.outside import printable
from examples.port.picture import hours, mark_hours

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from examples.port.inputs import Day
    from examples.port.windows import Outlook

SHOWN: Final = 6
_INK, _LIMIT, _FAINT = "#1f3b57", COLOURS["restricted"], "#666666"
_DAY: Final = 24.0  # hours


def telling_outlooks(outlooks: Sequence[Outlook], count: int = SHOWN) -> list[Outlook]:
    """Return ``count`` of the ships, in the order given: first those that may not pass at all times."""
    order = sorted(outlooks, key=lambda each: not each.blocked and len(each.windows) == 1)[:count]
    return [each for each in outlooks if each in order]


def draw_windows(day: Day, now: int, outlooks: Sequence[Outlook], notes: Sequence[str], path: Path) -> None:
    """Draw the windows of ships into ``path``.

    Args:
        day: The day.
        now: From when on windows are looked for, in microseconds since the epoch.
        outlooks: Of the ships to show, at least one.
        notes: What must be said openly, a line each.
        path: A PNG file.
    """
    lines = -(-len(outlooks) // 2)
    height = 1.5 + 1.95 * lines + 0.2 * len(notes)
    figure = Figure(figsize=(12, height), dpi=120)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        lines, min(2, len(outlooks)),
        left=0.065, right=0.985, top=1 - 1.15 / height, bottom=(0.55 + 0.2 * len(notes)) / height,
        hspace=0.5, wspace=0.09,
    )  # fmt: skip
    top = max(metres for each in outlooks for _, metres in each.points)
    bottom = min(0.0, *(metres for each in outlooks for _, metres in each.points))
    for number, each in enumerate(outlooks):
        axes = figure.add_subplot(grid[divmod(number, 2)])
        _ahead(axes, day, now, each)
        axes.set_ylim(bottom * 1.06, top * 1.06)
        axes.tick_params(labelbottom=number + 2 >= len(outlooks), labelleft=number % 2 == 0)
        if number % 2 == 0:
            axes.set_ylabel("clearance (m)", fontsize=9)
    _frame(figure, day, height, notes)
    figure.savefig(path)


def _ahead(axes: Axes, day: Day, now: int, outlook: Outlook) -> None:
    call = outlook.call
    times = [hours(day, time) for time, _ in outlook.points] + [_DAY]
    metres = [value for _, value in outlook.points] + [outlook.points[-1][1]]
    for window in outlook.windows:
        axes.axvspan(hours(day, window.start), hours(day, window.end), color=COLOURS["allowed"], alpha=0.3, linewidth=0)
    axes.step(times, metres, where="post", color=_INK, linewidth=1.6)
    axes.axhline(outlook.limit, color=_LIMIT, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.axvspan(0, hours(day, now), color="#eeeeee", linewidth=0, zorder=0)
    axes.axvline(hours(day, call.eta), color=_FAINT, linewidth=1.2, linestyle=":")
    verb = "leaves" if call.direction == "outbound" else "comes to"
    axes.set_title(
        f"{printable(call.name)}: draught {call.draught:.1f} m, {verb} {call.berth}"
        + ("" if outlook.windows else ": no window"),
        fontsize=9.5, loc="left", pad=4, parse_math=False,
    )  # fmt: skip
    axes.grid(axis="both", color="#e6e6e6", linewidth=0.6)
    axes.tick_params(labelsize=8, length=2)
    axes.spines[["top", "right"]].set_visible(False)
    mark_hours(axes)


def _frame(figure: Figure, day: Day, height: float, notes: Sequence[str]) -> None:
    title = f"When deep ships may next pass, New York harbour, {day.day:%-d %B %Y}"
    figure.text(0.065, 1 - 0.34 / height, title, fontsize=14, weight="bold", va="center")
    handles = [
        Line2D([], [], color=_INK, linewidth=1.6, label="clearance = depth + tide - draught"),
        Line2D([], [], color=_LIMIT, linewidth=1.2, linestyle=(0, (5, 3)), label="limit: 0.5 m, tankers 1.0 m"),
        Line2D([], [], color=_FAINT, linewidth=1.2, linestyle=":", label="ready, or arriving"),
        Patch(color=COLOURS["allowed"], alpha=0.3, label="may start"),
        Patch(color="#eeeeee", label="past"),
    ]
    figure.legend(
        handles=handles, loc="center left", bbox_to_anchor=(0.058, 1 - 0.68 / height), ncols=len(handles),
        frameon=False, fontsize=9, handlelength=1.8, columnspacing=1.6,
    )  # fmt: skip
    low = 0.2 * len(notes) / height
    figure.text(0.525, low + 0.14 / height, "time of day (UTC)", fontsize=9, ha="center", va="center")
    for number, note in enumerate(notes, start=1):
        figure.text(0.065, low + (0.08 - 0.19 * number) / height, note, fontsize=7.5, color=_FAINT, va="center")
