"""The pictures of experiments.

Colours are those of Okabe and Ito, which the colour-blind tell apart; what they say, marks, hatches or labels say, too.
What is on a logarithmic axis is a point: a bar would have no beginning there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

BLUE: Final = "#0072b2"
ORANGE: Final = "#e69f00"
GREEN: Final = "#009e73"
RED: Final = "#d55e00"
PURPLE: Final = "#cc79a7"
GREY: Final = "#8a8a8a"
PALE: Final = "#dddddd"
CUT: Final = 1.5
"""How many wrong results, as a share of the true ones, a bar shows at most."""


def new_figure(width: float, height: float) -> Figure:
    """Return an empty picture, in inches."""
    return Figure(figsize=(width, height), dpi=110, layout="constrained")


def legend_below(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """Put the legend of some axes beneath all of them, where it covers nothing."""
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=9, frameon=False
    )


def logarithmic(axes: Axes, *sides: str) -> None:
    """Let axes be logarithmic, and say 1,000 where matplotlib would say 10 to the third."""
    for side in sides:
        axes.set(**{f"{side}scale": "log"})
        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_major_formatter("{x:,.0f}")
        axis.set_minor_formatter(NullFormatter())


def speeds(rows: Sequence[Sequence[Any]], sides: Sequence[str]) -> Figure:
    """Return events a second of two or three sides, a line a row: its name, and a number for each side."""
    figure = new_figure(9, 0.9 + 0.45 * len(rows))
    axes = figure.subplots()
    places = range(len(rows))
    marks = zip(("o", "s", "D"), (BLUE, RED, GREY), sides, strict=False)
    for number, (mark, colour, side) in enumerate(marks, 1):
        axes.plot([row[number] for row in rows], places, mark, color=colour, markersize=8, label=side)
    _lines(axes, [row[0] for row in rows])
    logarithmic(axes, "x")
    axes.set_xlabel("events per second (logarithmic)")
    legend_below(figure, axes)
    return figure


def speed(rows: Sequence[tuple[str, float]]) -> Figure:
    """Return events a second, a line a row."""
    figure = new_figure(9, 0.9 + 0.4 * len(rows))
    axes = figure.subplots()
    axes.barh([name for name, _ in rows], [one for _, one in rows], height=0.6, color=BLUE)
    _lines(axes, [name for name, _ in rows])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("events per second")
    return figure


def compared(rows: Sequence[Mapping[str, Any]], unit: str = "time units") -> Figure:
    """Return what strategies give, what they hold, and how late their results are; a line a strategy.

    Args:
        rows: Of `summary`, of one workload and size.
        unit: What the times are counted in.
    """
    figure = new_figure(11, 1.6 + 0.36 * len(rows))
    given, held, late = figure.subplots(1, 3, sharey=True)
    names = [row["strategy"] for row in rows]
    true = max(row["right"] + row["missed"] if row["right"] is not None else 0 for row in rows)
    if true:
        right, missed, wrong = ([row[name] / true for row in rows] for name in ("right", "missed", "wrong"))
        given.barh(names, right, color=BLUE, label="right: true, and there in the end")
        given.barh(names, missed, left=right, color=PALE, label="missed: true, and not there")
        given.barh(names, [min(one, CUT) for one in wrong], left=1, color=ORANGE, hatch="//", edgecolor="white",
                   label="wrong: there, and not true")  # fmt: skip
        for place, one in enumerate(wrong):
            if one > CUT:
                said = f"{one:,.0f} times"
                given.text(2.4, place, said, ha="right", va="center", fontsize=8, bbox={"fc": "white", "ec": "none"})
        given.set_xlim(0, 1 + CUT)
        given.set_xticks([0, 0.5, 1], ["0", "half", "all"])
        given.set_xlabel("results, as a share of the true ones")
        legend_below(figure, given)
    else:
        given.plot([max(row["results"], 0.5) for row in rows], names, "o", color=BLUE, markersize=8)
        logarithmic(given, "x")
        given.set_xlabel("results (logarithmic)")
    memory = [max(row["held_max"], 0.5) for row in rows]
    held.plot(memory, names, "o", color=BLUE, markersize=8)
    for place, one in enumerate(memory):
        held.annotate(f"{one:,.0f}", (one, place), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8)
    logarithmic(held, "x")
    held.margins(x=0.25)
    held.set_xlabel("events held at most, in memory\nor waiting (logarithmic)")
    late.barh(names, [row["delay_mean"] or 0 for row in rows], color=BLUE)
    late.plot([row["delay_max"] or 0 for row in rows], names, "|", color="black", markersize=11)
    late.set_xlabel(f"delay of results ({unit}):\nbar: mean, line: longest")
    for axes in (given, held, late):
        _lines(axes, names)
    return figure


def _lines(axes: Axes, names: Sequence[str]) -> None:
    """Name the lines, from the top, with a faint rule along each."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", color="#eeeeee")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
