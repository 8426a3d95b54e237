"""The picture of a comparison: how long each rule restricts before and after, and how many subjects are concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings, filterwarnings

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dsl.command_lines import printable
from dsl.comparison.comparison_words import COLOURS, SIGNS, begun, changed_rules, spanned
from dsl.terms.instants import moment_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dsl.comparison.comparing import Comparison

_RULES: Final = 8
_BINS: Final = 480
_HATCHES: Final = {"restricted": "/////", "allowed": None, "unknown": "....."}  # for who sees no colours
_INK, _FAINT = "#222222", "#777777"


@rc_context({"text.parse_math": False})  # a name with dollars is no formula
def draw(found: Comparison, path: Path) -> None:
    """Draw a comparison into a PNG file.

    Args:
        found: It.
        path: The file.
    """
    rules = changed_rules(found)[:_RULES]
    lines = max(len(rules), 1)
    heights = (0.38 * lines, 1.9)
    height = sum(heights) + 2.65
    figure = Figure(figsize=(10, height), dpi=120)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        2, 1, height_ratios=heights, left=0.3, right=0.965, top=1 - 1.15 / height, bottom=0.5 / height,
        hspace=1.0 / (sum(heights) / 2),
    )  # fmt: skip
    subject = next(iter(found.old.declarations))
    one, other = found.hours("before"), found.hours("after")
    title = f"Restricted for {one:,.1f} {subject}-hours before, {other:,.1f} after"
    figure.text(0.03, 1 - 0.32 / height, title, fontsize=14, weight="bold", va="center", color=_INK)
    said = ". ".join(
        filter(None, [f"{found.subjects:,} subjects, {found.rows:,} rows, {spanned(found)}", begun(found)])
    )
    figure.text(0.03, 1 - 0.62 / height, said, fontsize=9, va="center", color=_FAINT)
    _draw_rules(figure.add_subplot(grid[0]), found, subject)
    _draw_times(figure.add_subplot(grid[1]), found)
    with catch_warnings():
        filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # such a name stands whole in the report
        figure.savefig(path)


def _draw_rules(axes: Axes, found: Comparison, subject: str) -> None:
    changed = changed_rules(found)
    rules = changed[:_RULES]
    more = f" (the {_RULES} that change most, of {len(changed)})" if len(changed) > _RULES else ""
    axes.set_title(
        f"{subject}-hours restricted by a rule: ○ before, ● after{more}", loc="left", fontsize=10, color=_INK
    )
    places = np.arange(len(rules))[::-1]
    greatest = max([1e-9, *(max(each.before, each.after) for each in rules)])
    for place, each in zip(places, rules, strict=True):
        colour = COLOURS["restricted" if each.change > 0 else "allowed"]
        axes.plot(
            [each.before, each.after], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2
        )
        axes.plot(each.before, place, "o", markersize=7, color="white", markeredgecolor=colour, zorder=3)
        axes.plot(each.after, place, "o", markersize=7, color=colour, zorder=3)
        beside = max(each.before, each.after) + 0.025 * greatest
        axes.text(beside, place, f"{each.change:+,.1f}", fontsize=8.5, va="center", color=colour)
    axes.set_yticks(places, [_shortened(printable(each.rule)) for each in rules], fontsize=9)
    axes.set_ylim(-0.6, max(len(rules), 1) - 0.4)
    axes.set_xlim(-0.02 * greatest, 1.12 * greatest)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.8)
    if not rules:
        axes.text(0.0, 0.0, "no rule restricts for another time", fontsize=9, va="center", color=_FAINT)
        axes.set_xticks([])
    _plain(axes)


def _draw_times(axes: Axes, found: Comparison) -> None:
    """Draw how many subjects have another status, by what it becomes: the mean of each of many stretches."""
    # Of a history of one moment, too, each stretch lasts: a microsecond.
    edges = np.linspace(found.start, max(found.end, found.start + _BINS), _BINS + 1)
    table = found.differences
    before, after = (table.column(f"status_{side}").to_pylist() for side in ("before", "after"))
    starts, ends = (table.column(name).cast("int64").to_numpy() for name in ("start", "end"))
    moments: Any = [moment_of(int(edge)) for edge in edges]
    floor = np.zeros(_BINS)
    axes.set_title("subjects whose verdict becomes another", loc="left", fontsize=10, color=_INK, pad=22)
    for status, colour in COLOURS.items():
        kept = np.array([one != other == status for one, other in zip(before, after, strict=True)], bool)
        held = _mean_number(starts[kept], ends[kept], edges)
        label = f"{SIGNS[status]} now {status}"
        paint: dict[str, Any] = {"facecolor": colour, "hatch": _HATCHES[status], "edgecolor": "white", "linewidth": 0}
        axes.fill_between(
            moments,
            np.append(floor, floor[-1:]),
            np.append(floor + held, (floor + held)[-1:]),
            step="post",
            label=label,
            **paint,
        )
        floor = floor + held
    axes.set_xlim(moments[0], moments[-1])
    axes.set_ylim(0, max(1.0, 1.08 * float(floor.max(initial=0))))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    locator = AutoDateLocator(maxticks=9)  # type: ignore[no-untyped-call]  # matplotlib types no dates
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]  # as above
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 0.97),
        ncols=3,
        frameon=False,
        fontsize=9,
        handlelength=1.8,
        borderpad=0.2,
    )
    _plain(axes)


def _mean_number(starts: NDArray[np.int64], ends: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many spans hold in each stretch between edges, on average over its time.

    >>> _mean_number(np.array([0, 5]), np.array([10, 10]), np.array([0.0, 5.0, 10.0])).tolist()
    [1.0, 2.0]
    """
    # The time that spans which begin at s and end at e have by x is the sum of max(0, x - s) - max(0, x - e).
    by_edge = _passed(np.sort(starts), edges) - _passed(np.sort(ends), edges)
    found: NDArray[np.float64] = np.diff(by_edge) / np.diff(edges)
    return found


def _passed(times: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    first = float(edges[0])
    sums = np.concatenate([[0.0], np.cumsum(times - first)])
    number = np.searchsorted(times, edges)
    found: NDArray[np.float64] = number * (edges - first) - sums[number]
    return found


def _plain(axes: Axes) -> None:
    axes.tick_params(labelsize=8.5, length=3, colors=_INK)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _shortened(text: str) -> str:
    return text if len(text) <= 36 else f"{text[:35]}…"
