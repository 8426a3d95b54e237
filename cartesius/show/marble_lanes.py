"""Lanes of marbles for the page: the steps around one, as `cartesius.drawing` draws them, by order of arrival."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from cartesius.data.event_tables import label_of
from cartesius.drawing.marble_diagrams import MOST_ON_A_LANE, Lane, Marble, marble_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.show.replays import Replay
    from cartesius.show.show_steps import Given

WIDTH = 24
"""How many steps are drawn."""


class Drawn(NamedTuple):
    """A picture.

    Args:
        svg: Its text.
        marbles: In the order in which they are drawn: whether the program as written has it, its key, and its step.
    """

    svg: str
    marbles: list[tuple[bool, Any, int]]


def drawn(written: Replay, changed: Replay | None, step: int) -> Drawn:
    """Draw the inputs and outputs around a step, of a changed program those as written below.

    Args:
        written: The program as written.
        changed: The program without some restrictions, if some are left out.
        step: In the middle.
    """
    shown = changed or written
    last = min(len(shown.steps) - 1, max(WIDTH, step + WIDTH // 2))
    steps = range(max(1, last - WIDTH + 1), last + 1)
    lanes: dict[str, list[Marble]] = {}
    keys: dict[str, list[tuple[bool, Any, int]]] = {}
    places: dict[Any, tuple[str, int]] = {}
    for name in shown.bound:
        lanes[name], keys[name] = [], []
    for number in steps:
        event, key = shown.provenance.calls[number - 1].event, shown.pushed(number)
        if event is not None:
            lane = lanes.setdefault(event.reactive, [])
            places[key] = (event.reactive, len(lane))
            lane.append(Marble(label_of(event.value), number, number))
            keys.setdefault(event.reactive, []).append((changed is None, key, number))
    inputs = set(lanes)
    for replay, tail in [(shown, ""), *([(written, "as written")] if changed else [])]:
        for output, name in enumerate(written.names):
            title = _free((tail and (f"{tail}: {name}" if len(written.names) > 1 else tail)) or name, lanes)
            lanes[title], keys[title] = [], []
            for number, given in _given(replay, output, steps):
                parts = [places[key] for key in replay.origins(given.key) if key in places]
                lanes[title].append(
                    Marble(label_of(given.event.value), number, number, tuple(parts), given.event.weight < 0)
                )
                keys[title].append((replay is written, given.key, number))
    svg = marble_svg(
        [Lane(name, marbles, is_result=name not in inputs) for name, marbles in lanes.items()],
        axis_name="step",
        title=f"Steps {steps[0] if steps else 0} to {last}: what came, and what was given",
    )
    # What is drawn is styled by attributes and by page.css alone: no style of an element passes the page's policy.
    bare = re.sub(r' style="[^"]*"', "", svg, count=1)
    return Drawn(bare, [key for name in lanes for key in keys[name][:MOST_ON_A_LANE]])


def _given(replay: Replay, output: int, steps: range) -> Iterable[tuple[int, Given]]:
    for number in steps:
        if number < len(replay.steps):
            yield from ((number, given) for given in replay.steps[number].given if given.output == output)


def _free(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += " "
    return name
