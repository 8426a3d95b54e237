"""The picture of a watched query: what is unmatched, what that takes, and what matching costs, over time.

Source: the plots of DiffStream's case study of a running application (SOURCES E4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from cartesius.testing import Sample

BLUE: Final = "#0072b2"  # of Okabe and Ito, whom the colour-blind tell apart
RED: Final = "#d55e00"


def draw_watching(
    samples: Sequence[Sample], alone: Sequence[Sequence[Any]], watched: Sequence[Sequence[Any]], path: Path
) -> None:
    """Draw what a monitor had and needed, and how fast the query was alone and watched.

    Args:
        samples: Of the monitor, in order; of which stream 1 is the query.
        alone: What Spark says of each micro-batch, of each run without the monitor.
        watched: Likewise with it.
        path: A PNG file.
    """
    figure = Figure(figsize=(10, 6.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    (unmatched, memory), (cost, speed) = figure.subplots(2, 2)
    times = [sample.at for sample in samples]
    for stream, colour, mark, name in ((0, BLUE, "o", "of the query"), (1, RED, "s", "of the second implementation")):
        counts = [sample.unmatched[stream] for sample in samples]
        unmatched.step(times, counts, where="post", color=colour, marker=mark, markersize=5, label=name)
    unmatched.legend(loc="upper center", bbox_to_anchor=(0.5, 1.24), ncols=2, fontsize=8, frameon=False)
    _named(unmatched, "items without an equal", "seconds since monitoring began")
    memory.step(times, [sample.size / 1e6 for sample in samples], where="post", color=BLUE, marker="o", markersize=5)
    _named(memory, "what those take (MB)", "seconds since monitoring began")
    mine = [sample for sample in samples if sample.stream == 1 and sample.items]
    cost.plot([each.at for each in mine], [1e6 * each.seconds / each.items for each in mine], color=BLUE, marker="o",
              markersize=5)  # fmt: skip
    cost.set_xlim(unmatched.get_xlim())
    _named(cost, "to match a row of the query (µs)", "seconds since monitoring began")
    for runs, colour, mark, name in ((alone, BLUE, "o", "alone"), (watched, RED, "s", "watched")):
        for number, progress in enumerate(runs):
            took = [each["batchDuration"] / 1000 for each in progress[1:]]
            speed.plot(range(2, len(took) + 2), took, color=colour, marker=mark, markersize=5, alpha=0.75,
                       label=name if number == 0 else None)  # fmt: skip
    speed.legend(loc="upper center", bbox_to_anchor=(0.5, 1.24), ncols=2, fontsize=8, frameon=False)
    speed.xaxis.get_major_locator().set_params(integer=True)
    _named(speed, "a micro-batch takes (s)", "micro-batch, without the first one, which warms up")
    figure.savefig(path)


def _named(axes: Axes, vertical: str, horizontal: str) -> None:
    axes.set_ylabel(vertical)
    axes.set_xlabel(horizontal)
    axes.set_ylim(0, max(axes.get_ylim()[1], 1e-3))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.grid(axis="y", color="#eeeeee")
    axes.set_axisbelow(True)
