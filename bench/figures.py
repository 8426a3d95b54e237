"""The figures of the speed table: what is compared, the bound, and whether it is kept."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

import attrs

from bench.timing import ratios

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.timing import Runs


@attrs.frozen
class Bound:
    """A row of the speed table.

    Args:
        figure: What is compared.
        least: The ratio must be this at least.
        ours: The name of our side.
        theirs: That of the other.
        labels: The workloads that it is measured on.
        aim: What we aim at.
    """

    figure: str
    least: float
    ours: str
    theirs: str
    labels: tuple[str, ...]
    aim: float | None = None


@attrs.frozen
class Figure:
    """What was measured of a bound on a workload: ratios of the rates, one value a repetition."""

    figure: str
    workload: str
    least: float
    aim: float | None
    ratio: float
    ratios: tuple[float, ...]
    ours: str = ""  # the side that is to be faster

    @property
    def is_kept(self) -> bool:
        """Whether the bound is kept, by medians."""
        return self.ratio >= self.least

    @property
    def spread(self) -> tuple[float, float]:
        """The smallest and the largest ratio."""
        return min(self.ratios), max(self.ratios)


COMPILED, IN_PLACE, REFERENCE = "push_many", "push, in place", "push, reference"
IN_PLACE_TOO = "push, in place, as many as reference"
RX, RX_PUSHED, BY_HAND, NUMPY, CODED = "RxPY", "RxPY, by push", "by hand", "numpy", "numpy, 16-bit keys"
POLARS: Final = "polars"
_ROUND, _RANDOM = ("mostRecently, round robin", "mostRecently, random")
_AFFINE = ("affinely, round robin", "affinely, random")
_ZIP = ("zip, round robin", "zip, random")
_STREAMS = (_ROUND, _RANDOM, *_AFFINE, *_ZIP, "keyed latest", "band")
EVERY: Final = (*_STREAMS, "outer", "left", "foreign key")
"""All workloads but the rules."""

BOUNDS: Final = (
    Bound("in place, 3-way mostRecently by push, against RxPY combine_latest", 0.5, IN_PLACE, RX_PUSHED, (_ROUND,)),
    Bound("in place, against the reference tier", 5, IN_PLACE_TOO, REFERENCE, EVERY),
    Bound("compiled, mostRecently and zip, against RxPY", 25, COMPILED, RX, (_ROUND, _RANDOM, *_ZIP)),
    Bound("compiled, keyed latest join, one batch, against the hand-written loop", 2.5, COMPILED, BY_HAND,
          ("keyed latest",), aim=6),
    Bound("compiled, band join, against a dict-and-deque loop", 5, COMPILED, BY_HAND, ("band",), aim=12),
    Bound("compiled, affinely, against the hand-written loop", 0.7, COMPILED, BY_HAND, _AFFINE),
    Bound("compiled, keyed latest join, share of the numpy floor", 0.4, COMPILED, NUMPY, ("keyed latest",)),
    Bound("compiled, against polars", 0.6, COMPILED, POLARS, (_ROUND, _RANDOM, "tumbling sum"), aim=1),
    Bound("rule pack of 40, compiled, against in place", 10, COMPILED, IN_PLACE, ("pack of 40 rules",)),
)  # fmt: skip
FLAT: Final = "program B, {large:,} rows against {small:,} rows, relative to the hand-written join's own ratio"
FLAT_LEAST: Final = 0.8


def figures(measured: Mapping[str, Mapping[str, Runs]]) -> list[Figure]:
    """Return the figures of what was measured: runs by workload and side."""
    return [
        figure_of(bound, label, runs[bound.ours], runs[bound.theirs])
        for bound in BOUNDS
        for label in bound.labels
        if bound.ours in (runs := measured.get(label, {})) and bound.theirs in runs
    ]


def figure_of(bound: Bound, label: str, ours: Runs, theirs: Runs) -> Figure:
    """Return the figure of one workload."""
    every = tuple(ratios(ours, theirs))
    return Figure(bound.figure, label, bound.least, bound.aim, ours.rate / theirs.rate, every, bound.ours)


def growth(
    small: Mapping[str, Runs], large: Mapping[str, Runs], ours: str, theirs: str, sizes: tuple[int, int]
) -> Figure:
    """Return how much faster ours is at the large size than at the small one, through the same of theirs."""
    both = [
        (our_large / our_small) / (their_large / their_small)
        for our_large, our_small, their_large, their_small in zip(
            large[ours].rates, small[ours].rates, large[theirs].rates, small[theirs].rates, strict=True
        )
    ]
    ratio = (large[ours].rate / small[ours].rate) / (large[theirs].rate / small[theirs].rate)
    figure = FLAT.format(small=sizes[0], large=sizes[1])
    return Figure(figure, f"program B, {ours}", FLAT_LEAST, None, ratio, tuple(both), ours)


def as_data(figure: Figure) -> dict[str, Any]:
    """Return a figure as plain data."""
    return {**attrs.asdict(figure), "is_kept": figure.is_kept, "median_of_ratios": median(figure.ratios)}
