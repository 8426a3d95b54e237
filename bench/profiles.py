"""Where the time goes: the functions in which a run spends most, for a bound that is not reached."""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT: Final = Path(__file__).resolve().parent.parent


@attrs.frozen
class Spent:
    """A function, and its share of the time: its own, and with what it calls."""

    function: str
    calls: int
    own: float
    inside: float


@attrs.frozen
class Profile:
    """Where a side spends its time on a workload."""

    workload: str
    side: str
    spent: tuple[Spent, ...]


def profiled(workload: str, side: str, run: Callable[[], Any], top: int = 10) -> Profile:
    """Run, and return the functions that take most time of their own.

    Args:
        workload: What it is called.
        side: Whose run it is.
        run: What is run.
        top: How many functions.
    """
    profiler = cProfile.Profile()
    profiler.runcall(run)
    found: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # the stubs lack it
    total = sum(own for _, _, own, _, _ in found.values()) or 1.0
    by_own = sorted(found.items(), key=lambda item: -item[1][2])[:top]
    spent = (
        Spent(_name(*function), calls, own / total, inside / total)
        for function, (_, calls, own, inside, _) in by_own
        if own / total >= 0.005
    )
    return Profile(workload, side, tuple(spent))


def _name(file: str, line: int, function: str) -> str:
    if file == "~":  # built in
        return function
    path = Path(file)
    shown = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else Path(*path.parts[-2:])
    return f"{shown}:{line} {function}"
