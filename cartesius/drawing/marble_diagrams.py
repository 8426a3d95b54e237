"""Marble diagrams: events as marbles on lanes over time, and results with lines to the events that they are made of.

Distances are those of time where that can be read; otherwise the times stand in their order, at equal distances, and
the axis says so. Invariant: every marble that was given is drawn, or counted among those that are left out.

Source: ReactiveX's marble diagrams.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

import attrs

from cartesius.drawing.markup import element, picture, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import TypeAlias
    from xml.etree.ElementTree import Element

    Place: TypeAlias = tuple[str, int]

INPUT = "var(--cartesius-input,#3585c4)"
RESULT = "var(--cartesius-result,#c4661a)"
MOST_ON_A_LANE = 150
_ROW, _RADIUS, _NARROWEST = 38.0, 7.0, 18.0
_TO_SCALE, _WIDEST = 480.0, 900.0  # of an axis: as far as times are to scale, and as far as they have room for labels
_MOST_ROWS, _TOLD = 6, 12


@attrs.frozen
class Marble:
    """An event in a diagram.

    Args:
        label: What is written below it, shortened to what there is room for.
        start: First instant, in time units.
        end: Last instant, in time units: the marble is drawn there, with a bar from ``start``.
        parts: Of what it is made: (name of a lane, place on it from 0), each drawn as a line.
        is_taken_back: Whether it takes an earlier one back: it is drawn hollow and crossed out.
    """

    label: str
    start: float
    end: float
    parts: tuple[Place, ...] = ()
    is_taken_back: bool = False


@attrs.frozen
class Lane:
    """A line of marbles, in any order: the events of one name.

    Args:
        name: Unique in a diagram.
        marbles: Its events.
        is_result: Whether they are results: squares rather than circles.
    """

    name: str
    marbles: Sequence[Marble]
    is_result: bool = False


class _Drawn(NamedTuple):
    """A marble with where it is: the left end of its bar, its own centre, and the row in its lane."""

    marble: Marble
    left: float
    x: float
    row: int


def marble_svg(
    lanes: Iterable[Lane],
    *,
    title: str = "Marble diagram",
    time_text: Callable[[float], str] | None = None,
    axis_name: str = "time",
) -> str:
    """Return the text of an SVG of the lanes, the first on top, above an axis of time.

    >>> from cartesius.drawing.marble_diagrams import Lane, Marble, marble_svg
    >>> echoes, reports = Lane("echo", [Marble("size 3", 14, 14)]), Lane("report", [Marble("ORCA", 15, 15)])
    >>> seen = Lane("sightings", [Marble("ORCA 3", 14, 15, parts=(("echo", 0), ("report", 0)))], is_result=True)
    >>> marble_svg([echoes, reports, seen], title="An echo and its ship").startswith("<svg")
    True

    Args:
        lanes: With distinct names. Of one with more than `MOST_ON_A_LANE` marbles the first are drawn.
        title: What the picture is called, for who cannot see it.
        time_text: Shows a time; by default as a number.
        axis_name: What the axis is of.
    """
    lanes = list(lanes)
    drawn = {lane.name: sorted(enumerate(lane.marbles), key=lambda one: one[1].end)[:MOST_ON_A_LANE] for lane in lanes}
    marbles = [one for found in drawn.values() for _, one in found]
    axis = _Axis(marbles, lanes, time_text or plain_time, axis_name)
    shapes: list[Element] = []
    centres: dict[Place, tuple[float, float]] = {}
    y = 12.0
    for lane in lanes:
        rows = _in_rows([one for _, one in drawn[lane.name]], axis.x)
        height = _ROW * (1 + max((one.row for one in rows), default=0))
        shapes += _line(lane, y + _RADIUS + 4, axis)
        for (place, _), one in zip(drawn[lane.name], rows, strict=True):
            centres[lane.name, place] = (one.x, y + _RADIUS + 4 + _ROW * one.row)
            shapes.append(_marble(one, centres[lane.name, place][1], lane, rows, axis))
        y += height + 10
    links = [
        _link(centres[part], centres[lane.name, place])
        for lane in lanes
        for place, marble in drawn[lane.name]
        for part in marble.parts
        if part in centres
    ]
    shapes += axis.drawn(y)
    left_out = sum(len(lane.marbles) - len(drawn[lane.name]) for lane in lanes)
    if left_out:
        y += 18
        more = f"{left_out} more {'event is' if left_out == 1 else 'events are'} left out"
        shapes.append(element("text", more, x=4.0, y=y + 24, opacity="0.8"))
    told = ". ".join(_told(lane, axis.time_text) for lane in lanes)
    return picture(axis.width, y + 32, title, told, *links, *shapes)


class _Axis:
    """Where a time is, in pixels, and how that is drawn."""

    def __init__(self, marbles: list[Marble], lanes: list[Lane], time_text: Callable[[float], str], name: str) -> None:
        self.time_text = time_text
        self.name = name
        self.names = {lane.name: shortened(lane.name, 170) for lane in lanes}
        times = sorted({time for one in marbles for time in (one.start, one.end)})
        wanted = max((width_of(one.label) for one in marbles), default=0) + 14
        wanted = min(max(wanted, 40.0), 118.0)
        gaps = [after - before for before, after in pairwise(times)]
        scale = wanted / min(gaps) if gaps and all(map(isfinite, times)) else 0.0
        if gaps and scale:
            scale = min(scale, _TO_SCALE / (times[-1] - times[0]))
        self.is_to_scale = not gaps or scale * min(gaps) >= 34
        gap = min(wanted, max(_NARROWEST, _WIDEST / max(len(gaps), 1)))
        self.left = max(map(width_of, [*self.names.values(), f"{name}, in order"]), default=0) + 16
        edge = max([wanted, *[width_of(time_text(time)) for time in (times[:1] + times[-1:])]]) / 2
        first = self.left + edge
        self._places = {
            time: first + (scale * (time - times[0]) if self.is_to_scale and gaps else gap * number)
            for number, time in enumerate(times)
        }
        self.right = max(self._places.values(), default=first) + edge
        self.width = self.right + 14

    def x(self, time: float) -> float:
        return self._places[time]

    def drawn(self, y: float) -> list[Element]:
        name = self.name if self.is_to_scale else f"{self.name}, in order"
        shapes = [
            element("text", name, x=4.0, y=y + 16, opacity="0.8"),
            element("path", d=f"M{self.left:.1f} {y:.1f}H{self.right:.1f}", stroke="currentColor", opacity="0.6"),
        ]
        free = -inf  # to the left of it a label stands already
        for time, x in self._places.items():
            text = self.time_text(time)
            fits = x - width_of(text) / 2 > free
            tick = f"M{x:.1f} {y:.1f}v{5 if fits else 3}"
            shapes.append(element("path", d=tick, stroke="currentColor", opacity="0.6"))
            if fits:
                shapes.append(element("text", text, x=x, y=y + 18, text_anchor="middle", opacity="0.8"))
                free = x + width_of(text) / 2 + 6
        return shapes


def plain_time(time: float | datetime) -> str:
    """Show a time as it came, a number or a datetime, and the bounds as such.

    >>> from datetime import datetime, timezone
    >>> plain_time(7), plain_time(float("inf")), plain_time(datetime(2024, 5, 1, 12, tzinfo=timezone.utc))
    ('7', '∞', '2024-05-01 12:00:00+00:00')
    """
    return "∞" if time == inf else "-∞" if time == -inf else str(time)


def _in_rows(marbles: list[Marble], x: Callable[[float], float]) -> list[_Drawn]:
    """Put marbles that would overlap into rows below each other; if there are too many, let the bars overlap."""
    found: list[_Drawn] = []
    for with_bars in (True, False):
        ends: list[float] = []  # by row: what is taken up to there
        found = []
        for one in marbles:
            left = x(one.start) if with_bars else x(one.end)
            row = next((row for row, end in enumerate(ends) if end < left), len(ends))
            ends[row : row + 1] = [x(one.end) + 2 * _RADIUS]
            found.append(_Drawn(one, x(one.start), x(one.end), row))
        if len(ends) <= _MOST_ROWS:
            break
    return found


def _line(lane: Lane, y: float, axis: _Axis) -> list[Element]:
    weight = "600" if lane.is_result else "400"
    return [
        element("text", element("title", lane.name), axis.names[lane.name], x=4.0, y=y + 4, font_weight=weight),
        element(
            "path",
            d=f"M{axis.left:.1f} {y:.1f}H{axis.right:.1f}m-6 -4l6 4l-6 4",
            fill="none",
            stroke="currentColor",
            opacity="0.35",
        ),
    ]


def _marble(one: _Drawn, y: float, lane: Lane, rows: list[_Drawn], axis: _Axis) -> Element:
    marble, left, x, row = one
    colour = RESULT if lane.is_result else INPUT
    beside = [abs(x - other.x) for other in rows if other.row == row and other.x != x]
    label = shortened(marble.label, min(beside, default=118.0) - 4)
    when = axis.time_text(marble.end)
    if marble.start != marble.end:
        when = f"{axis.time_text(marble.start)} to {when}"
    taken_back = ", taken back" * marble.is_taken_back
    shapes = [element("title", f"{lane.name}: {marble.label}, {when}{taken_back}")]
    if left != x:
        bar = {"stroke": colour, "stroke_width": "5", "stroke_linecap": "round", "opacity": "0.4"}
        shapes.append(element("path", d=f"M{left:.1f} {y:.1f}H{x:.1f}", **bar))
    size = _RADIUS - 1 if lane.is_result else _RADIUS
    look = {"fill": "none" if marble.is_taken_back else colour, "stroke": colour, "stroke_width": "2"}
    if lane.is_result:
        shapes.append(element("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, rx="2", **look))
    else:
        shapes.append(element("circle", cx=x, cy=y, r=size, **look))
    if marble.is_taken_back:
        shapes.append(element("path", d=f"M{x - 9:.1f} {y + 9:.1f}l18 -18", stroke=colour, stroke_width="2"))
    if label:
        shapes.append(element("text", label, x=x, y=y + _RADIUS + 13, text_anchor="middle"))
    return element("g", *shapes)


def _link(part: tuple[float, float], whole: tuple[float, float]) -> Element:
    (x, y), (to_x, to_y) = part, whole
    middle = (y + to_y) / 2
    return element(
        "path",
        d=f"M{x:.1f} {y:.1f}C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}",
        fill="none",
        stroke=RESULT,
        stroke_width="1.5",
        stroke_dasharray="4 3",
        opacity="0.7",
    )


def _told(lane: Lane, time_text: Callable[[float], str]) -> str:
    """Say in words what is on a lane."""
    said = []
    for one in lane.marbles[:_TOLD]:
        start = f"{time_text(one.start)} to " if one.start != one.end else ""
        back = " (taken back)" * one.is_taken_back
        said.append(f"{one.label} at {start}{time_text(one.end)}{back}")
    more = len(lane.marbles) - _TOLD
    return f"{lane.name}: {', '.join(said) or 'nothing'}" + (f", and {more} more" if more > 0 else "")
