"""Memory limits: a program whose memory no restriction bounds is refused, and a bucket that grows large says so.

What bounds each slot is known before anything runs (`Engine.explain`). How large a state is shows when it is sealed:
a bucket warns when it passes the soft limit, and again each time it has doubled.

Source: DESIGN.md, section 7; SPARK_FACTS, what users ask for ("state that never shrinks").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.engines.explanations import UNBOUNDED, memory_bound
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius import Reactive
    from cartesius.programs.programs import Program


def unbounded_slots(program: Program, static: Iterable[str] = ()) -> list[tuple[str, str, str]]:
    """Return the slots whose memory nothing bounds: of each its correlation, its name, and the reason.

    >>> from cartesius import Reactive, correlate
    >>> from restrictions import most_recently
    >>> from spark_bridge.reading.demands import described
    >>> from spark_bridge.state.memory_limits import unbounded_slots
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = correlate(
    ...     left=left,
    ...     right=right,
    ...     yields=lambda left, right: (left, right),
    ...     restrict=most_recently("left"),
    ...     name="pairs",
    ... )
    >>> program = described((pairs,))
    >>> unbounded_slots(program)
    [('pairs', 'right', 'no restriction bounds it')]
    >>> unbounded_slots(program, static=["right"])
    []

    Args:
        program: The program, `described`.
        static: The names of inputs that have no more rows than they begin with.
    """
    finite = frozenset(static)
    slots = [(join, slot, join.pattern.slots[slot.name]) for join in program.joins for slot in join.slots]
    found = [(join, slot, *memory_bound(join, slot)) for join, slot, of in slots if not _is_finite(of, finite)]
    return [(join.name, slot.name, reason) for join, slot, bound, reason in found if bound == UNBOUNDED]


def _is_finite(reactive: Reactive, static: frozenset[str]) -> bool:
    """Whether all events of a reactive come of static frames."""
    if reactive.pattern is None:
        return reactive.name in static
    return all(_is_finite(source, static) for source in reactive.pattern.slots.values())


def check_bounded(program: Program, static: Iterable[str] = ()) -> None:
    """Raise `InvalidArgument` if a slot's memory would grow for ever; sources that are ``static`` do not."""
    slots = unbounded_slots(program, static)
    if slots:
        shown = "; ".join(f"{slot} of {name}: {reason}" for name, slot, reason in slots)
        bare = [(name, slot) for name, slot, reason in slots if reason.startswith("no restriction bounds it")]
        mine = ", ".join(f'"{slot}"' for name, slot in bare if name == bare[0][0])
        line = ""
        if bare:
            line = (
                f"in {bare[0][0]} write restrict=… | most_recently({mine}), or give it within, at_most or a window, or "
            )
        message = (
            "correlate_frames: expected a program whose memory is bounded, as a stream does not end, but it would grow"
            f" for ever ({shown}); {line}allow it: unbounded=True"
        )
        raise InvalidArgument(message)


def checked_limit(limit: object) -> int | None:
    """Return the soft limit of a state in bytes; raise `InvalidArgument` unless it is an int ≥ 1, or None."""
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1):
        return limit
    message = f"correlate_frames: expected a number of bytes ≥ 1, or None, but got soft_limit={limit!r}"
    raise InvalidArgument(message)


def warning(before: int, now: int, limit: int | None) -> str:
    """Return what to say of a state that has grown past the soft limit, or past twice, four times, … that; or nothing.

    >>> from spark_bridge.state.memory_limits import warning
    >>> warning(0, 50, 100), warning(150, 160, 100)
    ('', '')
    >>> warning(150, 200, 100)
    'its state has grown to 200 bytes, over the soft limit of 100; see spark_bridge.state_report'

    Args:
        before: Its bytes before the call.
        now: Its bytes after the call.
        limit: The soft limit in bytes; None: there is none.
    """
    if limit is None or (now // limit).bit_length() <= (before // limit).bit_length():
        return ""
    return f"its state has grown to {now:,} bytes, over the soft limit of {limit:,}; see spark_bridge.state_report"
