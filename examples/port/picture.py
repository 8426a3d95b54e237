"""The picture of a run: the deepest ships at a berth, clearance over the day with its limit, the verdict beneath."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from examples.port.marks import COLOURS, SIGNS
from examples.port.outside import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from examples.port.clearances import Clearance
    from examples.port.inputs import Day
    from examples.port.verdict_changes import Change

_HATCHES: Final = {"allowed": None, "restricted": "/////", "unknown": "....."}  # for who sees no colours
_INK, _LIMIT, _FAINT = "#1f3b57", COLOURS["restricted"], "#666666"
_COLUMNS: Final = 2
_DAY: Final = 24.0  # hours


def draw(
    day: Day, clearances: Sequence[Clearance], changes: Sequence[Change], notes: Sequence[str], path: Path
) -> None:
    """Draw the picture into ``path``.

    Args:
        day: The day.
        clearances: Of the ships to show, at least one.
        changes: The verdict changes of the day.
        notes: What must be said openly, a line each.
        path: A PNG file.
    """
    lines = -(-len(clearances) // _COLUMNS)
    height = 1.55 + 2.15 * lines + 0.2 * len(notes)
    figure = Figure(figsize=(12, height), dpi=120)
    FigureCanvasAgg(figure)
    outer = figure.add_gridspec(
        lines,
        min(_COLUMNS, len(clearances)),
        left=0.065, right=0.985, top=1 - 1.2 / height, bottom=(0.55 + 0.2 * len(notes)) / height,
        hspace=0.42, wspace=0.09,
    )  # fmt: skip
    top = max(metres for each in clearances for _, metres in each.points)
    bottom = min(0.0, *(metres for each in clearances for _, metres in each.points))
    for number, each in enumerate(clearances):
        line, column = divmod(number, _COLUMNS)
        cell = outer[line, column].subgridspec(2, 1, height_ratios=(7, 1), hspace=0.06)
        upper, lower = figure.add_subplot(cell[0]), figure.add_subplot(cell[1])
        _curve(upper, day, each)
        upper.set_ylim(bottom, top * 1.06)
        if column == 0:
            upper.set_ylabel("clearance (m)", fontsize=9)
        else:
            upper.tick_params(labelleft=False)
        _strip(lower, day, [change for change in changes if change.mmsi == each.mmsi])
        lower.tick_params(labelbottom=number + _COLUMNS >= len(clearances))
    _frame(figure, day, height, notes)
    figure.savefig(path)


def _curve(axes: Axes, day: Day, clearance: Clearance) -> None:
    times = [hours(day, time) for time, _ in clearance.points] + [_DAY]
    metres = [value for _, value in clearance.points] + [clearance.points[-1][1]]
    limits = [clearance.limit] * len(times)
    below = [value < clearance.limit for value in metres]
    axes.fill_between(times, metres, limits, where=below, step="post", color=_LIMIT, alpha=0.25, linewidth=0)
    axes.step(times, metres, where="post", color=_INK, linewidth=1.6)
    axes.axhline(clearance.limit, color=_LIMIT, linewidth=1.2, linestyle=(0, (5, 3)))
    axes.set_title(
        f"{printable(clearance.name)}: draught {clearance.draught:.1f} m,"
        f" {clearance.berth}, {clearance.depth:.2f} m deep",
        fontsize=9.5, loc="left", pad=4, parse_math=False,
    )  # fmt: skip
    axes.grid(axis="both", color="#e6e6e6", linewidth=0.6)
    axes.tick_params(labelbottom=False, labelsize=8, length=2)
    axes.spines[["top", "right"]].set_visible(False)
    mark_hours(axes)


def _strip(axes: Axes, day: Day, changes: Sequence[Change]) -> None:
    ends = [hours(day, change.time) for change in changes[1:]] + [_DAY]
    for change, end in zip(changes, ends, strict=True):
        axes.axvspan(hours(day, change.time), end, **_paint(change.status))
    mark_hours(axes)
    axes.set_yticks([])
    axes.tick_params(labelsize=8, length=2)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _paint(status: str) -> dict[str, Any]:
    return {"facecolor": COLOURS[status], "hatch": _HATCHES[status], "edgecolor": "white", "linewidth": 0}


def _frame(figure: Figure, day: Day, height: float, notes: Sequence[str]) -> None:
    title = f"Under-keel clearance of deep ships at berth, New York harbour, {day.day:%-d %B %Y}"
    figure.text(0.065, 1 - 0.36 / height, title, fontsize=14, weight="bold", va="center")
    handles = [
        Line2D([], [], color=_INK, linewidth=1.6, label="clearance = depth + tide - draught"),
        Line2D([], [], color=_LIMIT, linewidth=1.2, linestyle=(0, (5, 3)), label="limit: 0.5 m, tankers 1.0 m"),
        *(Patch(label=f"{SIGNS[status]} {status}", **_paint(status)) for status in COLOURS),
    ]
    figure.legend(
        handles=handles, loc="center left", bbox_to_anchor=(0.058, 1 - 0.72 / height), ncols=len(handles),
        frameon=False, fontsize=9, handlelength=1.8, columnspacing=1.6,
    )  # fmt: skip
    low = 0.2 * len(notes) / height
    figure.text(0.525, low + 0.14 / height, "time of day (UTC)", fontsize=9, ha="center", va="center")
    for number, note in enumerate(notes, start=1):
        figure.text(0.065, low + (0.08 - 0.19 * number) / height, note, fontsize=7.5, color=_FAINT, va="center")


def mark_hours(axes: Axes) -> None:
    """Let the time axis run over a day."""
    axes.set_xlim(0, _DAY)
    marked = range(0, 25, 3)
    axes.set_xticks(marked, [f"{hour:02}:00" for hour in marked])


def hours(day: Day, time: int) -> float:
    """Return a time, in microseconds since the epoch, in hours since the day began."""
    return (time - day.start) / 3_600_000_000
