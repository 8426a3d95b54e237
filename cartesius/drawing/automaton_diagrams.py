"""Automata: states as boxes, from left to right by how many arrows lead there, and arrows with what they read.

Invariant: every state and every arrow that was given is drawn; arrows between the same two states are one, with the
texts of all. Between neighbouring columns of several states arrows cross, in the middle of what is between them; their
labels stand where they do not yet, or no longer.

This module is over 300 lines because where a label has room depends on how its arrow is drawn.

Source: Hopcroft, Ullman, Introduction to Automata Theory, 1979 (final states have a double border).
"""

from __future__ import annotations

from collections import Counter
from math import hypot
from typing import TYPE_CHECKING, NamedTuple

import attrs

from cartesius.drawing.markup import element, picture, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from xml.etree.ElementTree import Element

ACCEPTED = "var(--cartesius-result,#c4661a)"
# What is behind a picture, as far as it is known: no line shows through labels and boxes there.
_PAPER = "var(--cartesius-paper,var(--jp-layout-color0,var(--color-background-primary,transparent)))"
_LINE, _HEIGHT, _GAP, _WIDEST, _MOST_LINES = 15.0, 36.0, 44.0, 230.0, 6


@attrs.frozen
class State:
    """A state of an automaton.

    Args:
        name: Unique; what arrows call it.
        label: What is written in it; by default the name.
        is_final: Whether to reach it is a match.
    """

    name: str
    label: str = ""
    is_final: bool = False


@attrs.frozen
class Arrow:
    """A transition.

    Args:
        source: The name of a state, or nothing: here it begins.
        target: The name of a state.
        label: What is read, and on which condition; lines are drawn as such.
        is_dashed: Whether it is no event that leads there, but time, or an event that must not come.
    """

    source: str
    target: str
    label: str = ""
    is_dashed: bool = False


class _Box(NamedTuple):
    """Where a state is: its centre, and half of its width."""

    x: float
    y: float
    half: float


def automaton_svg(states: Sequence[State], arrows: Iterable[Arrow], *, title: str = "Automaton") -> str:
    """Return the text of an SVG of an automaton. States are shown from left to right, by distance from the beginning.

    >>> from cartesius.drawing.automaton_diagrams import Arrow, State, automaton_svg
    >>> states = [State("none", "nothing yet"), State("one", "started"), State("both", "match", is_final=True)]
    >>> arrows = [Arrow("", "none"), Arrow("none", "one", "start"), Arrow("one", "both", "end"), Arrow("one", "one")]
    >>> automaton_svg(states, arrows, title="A start, then an end").count("<rect")
    4

    Args:
        states: With distinct names.
        arrows: Between them.
        title: What the picture is called, for who cannot see it.
    """
    merged: dict[tuple[str, str], list[Arrow]] = {}
    for arrow in arrows:
        merged.setdefault((arrow.source, arrow.target), []).append(arrow)
    places = _placed(states, list(merged))
    labels = {pair: _lines(found) for pair, found in merged.items()}
    boxes, bends, width, height = _boxes(states, places, labels)
    shapes: list[Element] = []
    for (source, target), lines in labels.items():
        dashed, bend = all(arrow.is_dashed for arrow in merged[source, target]), bends.get((source, target))
        if bend is not None:
            shapes += _crossing(boxes[source], boxes[target], bend, lines, dashed=dashed)
        else:
            start, end = places.get(source), places[target]
            shapes += _arrow(boxes.get(source), boxes[target], lines, start, end, dashed=dashed)
    paths, texts = ([one for one in shapes if (one.tag == "text") is is_text] for is_text in (False, True))
    halo = element("g", *texts, stroke=_PAPER, stroke_width=4, stroke_linejoin="round", paint_order="stroke")
    drawn = [*paths, *(_box(state, boxes[state.name]) for state in states), halo]
    return picture(width, height, title, _told(states, merged), *drawn)


def _placed(states: Sequence[State], arrows: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the column and the row of each state: the column is its distance from where it begins."""
    reached = {target for source, target in arrows if not source} or {states[0].name}
    columns = dict.fromkeys((state.name for state in states if state.name in reached), 0)
    pending = list(columns)
    for name in pending:  # it grows while it is read: breadth first
        for source, target in arrows:
            if source == name and target not in columns:
                columns[target] = columns[name] + 1
                pending.append(target)
    rows: dict[int, int] = {}
    places = {}
    for state in states:
        column = columns.get(state.name, 0)
        rows[column] = row = rows.get(column, -1) + 1
        places[state.name] = (column, row)
    return places


def _lines(arrows: Iterable[Arrow]) -> list[str]:
    """Return the lines of a label, long ones broken at blanks; the last says if there are more."""
    found: list[str] = []
    for text in dict.fromkeys(line for arrow in arrows for line in arrow.label.split("\n") if line):
        line = ""
        for word in text.split(" "):
            if line and width_of(f"{line} {word}") > _WIDEST:
                found.append(line)
                line = "  " + word
            else:
                line = f"{line} {word}" if line else word
        found.append(line)
    found = [shortened(line, _WIDEST) for line in found]
    return (
        found if len(found) <= _MOST_LINES else [*found[: _MOST_LINES - 1], f"and {len(found) - _MOST_LINES + 1} more"]
    )


def _size(lines: list[str]) -> float:
    return max(map(width_of, lines), default=0.0)


def _label(state: State) -> str:
    return shortened(state.label or state.name, _WIDEST)


def _boxes(
    states: Sequence[State], places: dict[str, tuple[int, int]], labels: dict[tuple[str, str], list[str]]
) -> tuple[dict[str, _Box], dict[tuple[str, str], tuple[float, float]], float, float]:
    """Return where the states are, between which places arrows run that may cross others, and the size of it all.

    There is room between columns and rows for the labels.
    """
    n_columns = 1 + max(column for column, _ in places.values())
    n_rows = 1 + max(row for _, row in places.values())
    halves = [0.0] * n_columns
    for state in states:
        column, _ = places[state.name]
        halves[column] = max(halves[column], width_of(_label(state)) / 2 + 14)
    between = [_GAP] * (n_columns + 1)  # to the left of each column, and right of the last
    above = [14.0] * (n_rows + 1)  # of each row, and below the last
    spare, crossed = _crossed(places, labels, halves)
    crossing: dict[tuple[str, str], int] = {}
    for (source, target), lines in labels.items():
        (column, row), size, tall = places[target], _size(lines), _LINE * len(lines)
        if not source:
            between[column] = max(between[column], size + 40)
            continue
        from_column, from_row = places[source]
        if source == target:
            above[row] = max(above[row], tall + 40)
            between[column] = max(between[column], 2 * spare[column] + 30)
            between[column + 1] = max(between[column + 1], 2 * spare[column] + 30)
        elif column in crossed and from_column == column - 1 and from_row != row:
            crossing[source, target] = column
            wide, high = crossed[column]
            below = max(row, from_row)
            above[below] = max(above[below], 5 * high - 16)  # so that labels at a quarter, and half, of it are apart
            between[column] = max(between[column], spare[column - 1] + spare[column] + 2.5 * wide + 50)
        elif from_row != row:
            above[max(row, from_row)] = max(above[max(row, from_row)], tall + 34)
            between[max(column, from_column)] = max(between[max(column, from_column)], size + 30)
        elif abs(column - from_column) == 1 and column > from_column:
            between[column] = max(between[column], size + 34)
            above[row] = max(above[row], tall)
        else:  # an arc below
            above[row + 1] = max(above[row + 1], tall + 22 + 14.0 * abs(column - from_column))
    lefts = [sum(between[: column + 1]) + 2 * sum(halves[:column]) for column in range(n_columns)]
    bends = {
        pair: (lefts[one] - between[one] + spare[one - 1] + 10, lefts[one] - spare[one] - 10)
        for pair, one in crossing.items()
    }
    boxes = {}
    for state in states:
        column, row = places[state.name]
        x = lefts[column] + halves[column]
        y = sum(above[: row + 1]) + _HEIGHT * (row + 0.5)
        boxes[state.name] = _Box(x, y, width_of(_label(state)) / 2 + 14)
    ends = [box.x + box.half for box in boxes.values()]
    for (source, target), lines in labels.items():  # labels beside or above a state
        if source and places[source][0] == places[target][0]:
            ends.append(boxes[target].x + _size(lines) * (0.5 if source == target else 1.0) + 8)
    return boxes, bends, max(ends) + 10, sum(above) + _HEIGHT * n_rows + 6


def _crossed(
    places: dict[str, tuple[int, int]], labels: dict[tuple[str, str], list[str]], halves: list[float]
) -> tuple[list[float], dict[int, tuple[float, float]]]:
    """Return how much wider, on each side, than a column what is above its states is; and where arrows may cross.

    That is to the left of which columns, with the width and the height of the largest labels there.
    """
    spare = [0.0] * len(halves)
    n_states = Counter(column for column, _ in places.values())
    crossed = {column: (0.0, 0.0) for column in n_states if n_states[column] > 1 and n_states[column - 1] > 1}
    for (source, target), lines in labels.items():
        column, _ = places[target]
        if source == target:
            spare[column] = max(spare[column], _size(lines) / 2 - halves[column])
        elif column in crossed and source and places[source][0] == column - 1:
            wide, high = crossed[column]
            crossed[column] = max(wide, _size(lines)), max(high, _LINE * len(lines))
    return spare, crossed


def _box(state: State, box: _Box) -> Element:
    colour = ACCEPTED if state.is_final else "currentColor"
    shapes = [element("title", state.label or state.name)]
    for inset in (0.0, 3.5)[: 1 + state.is_final]:
        shapes.append(
            element(
                "rect",
                x=box.x - box.half + inset,
                y=box.y - _HEIGHT / 2 + inset,
                width=2 * (box.half - inset),
                height=_HEIGHT - 2 * inset,
                rx=f"{10 - inset}",
                fill=_PAPER if inset == 0 else "none",
                stroke=colour,
                stroke_width="1.5",
            )
        )
    shapes.append(element("text", _label(state), x=box.x, y=box.y + 4, text_anchor="middle"))
    return element("g", *shapes)


def _crossing(
    source: _Box, target: _Box, bend: tuple[float, float], lines: list[str], *, dashed: bool
) -> list[Element]:
    """Return a line that may cross others, and its label: right of where it has fallen a quarter, or risen by more."""
    (left, right), x, to_x = bend, source.x + source.half, target.x - target.half
    curve = f"M{x:.1f} {source.y:.1f}H{left:.1f}L{right:.1f} {target.y:.1f}H{to_x - 1:.1f}"
    part = 0.25 if target.y > source.y else 0.6
    at_x, at_y = left + part * (right - left), source.y + part * (target.y - source.y)
    bottom = at_y - 4 if target.y > source.y else at_y + _LINE * len(lines)
    return [*_path(curve, (to_x, target.y), (1, 0), dashed=dashed), *_text(lines, at_x + 6 + _size(lines) / 2, bottom)]


def _arrow(
    source: _Box | None,
    target: _Box,
    lines: list[str],
    start: tuple[int, int] | None,
    end: tuple[int, int],
    *,
    dashed: bool,
) -> list[Element]:
    """Return a line with its head and its label."""
    edge = _HEIGHT / 2
    if source is None:
        left = target.x - target.half
        text = _text(lines, left - 18 - _size(lines) / 2, target.y - 6)
        return [
            *_path(f"M{left - 32:.1f} {target.y:.1f}H{left - 1:.1f}", (left, target.y), (1, 0), dashed=dashed),
            *text,
        ]
    if start == end:
        x, y = source.x, source.y - edge
        curve = f"M{x - 12:.1f} {y:.1f}C{x - 26:.1f} {y - 32:.1f} {x + 26:.1f} {y - 32:.1f} {x + 12:.1f} {y - 1:.1f}"
        return [*_path(curve, (x + 12, y), (-0.45, 1), dashed=dashed), *_text(lines, x, y - 29)]
    assert start is not None  # Invariant: a source that is there has a place
    if start[1] == end[1] and end[0] - start[0] == 1:
        left, right = source.x + source.half, target.x - target.half
        line = _path(f"M{left:.1f} {target.y:.1f}H{right - 1:.1f}", (right, target.y), (1, 0), dashed=dashed)
        return [*line, *_text(lines, (left + right) / 2, target.y - 6)]
    if start[1] == end[1]:
        y, deep = source.y + edge, 20 + 14.0 * abs(end[0] - start[0])
        x, to_x, low = source.x, target.x, y + deep
        curve = f"M{x:.1f} {y:.1f}C{x:.1f} {low:.1f} {to_x:.1f} {low:.1f} {to_x:.1f} {y:.1f}"
        text = _text(lines, (source.x + target.x) / 2, y + deep * 0.75 + 4 + _LINE * len(lines))
        return [*_path(curve, (target.x, y), (0, -1), dashed=dashed), *text]
    down = 1 if end[1] > start[1] else -1
    x, y, to_x, to_y = source.x, source.y + down * edge, target.x, target.y - down * edge
    if end[0] != start[0] and down < 0:  # it leaves at the side, and arrives from below
        side = 1 if end[0] > start[0] else -1
        x, y = source.x + side * source.half, source.y
        curve = f"M{x:.1f} {y:.1f}C{to_x:.1f} {y:.1f} {to_x:.1f} {y:.1f} {to_x:.1f} {to_y + 1:.1f}"
        return [*_path(curve, (to_x, to_y), (0, -1), dashed=dashed), *_text(lines, (x + to_x) / 2, y - 6)]
    if end[0] != start[0]:  # it arrives at the side
        side = 1 if end[0] > start[0] else -1
        to_x, to_y = target.x - side * target.half, target.y
        curve = f"M{x:.1f} {y:.1f}C{x:.1f} {to_y:.1f} {x:.1f} {to_y:.1f} {to_x - side:.1f} {to_y:.1f}"
        where = (to_x + x) / 2
        return [*_path(curve, (to_x, to_y), (side, 0), dashed=dashed), *_text(lines, where, to_y - 6)]
    curve = f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"
    beside = x + 8 + _size(lines) / 2
    return [
        *_path(curve, (to_x, to_y), (0, down), dashed=dashed),
        *_text(lines, beside, (y + to_y) / 2 + _LINE * len(lines) / 2),
    ]


def _path(curve: str, tip: tuple[float, float], towards: tuple[float, float], *, dashed: bool) -> list[Element]:
    """Return a line and, at its end, a head that points ``towards``."""
    (x, y), (dx, dy) = tip, towards
    length = hypot(dx, dy)
    dx, dy = dx / length, dy / length
    wings = [(x - 8 * dx + side * 4 * dy, y - 8 * dy - side * 4 * dx) for side in (1, -1)]
    head = f"M{x:.1f} {y:.1f}" + "".join(f"L{wing_x:.1f} {wing_y:.1f}" for wing_x, wing_y in wings) + "Z"
    look = {"stroke_dasharray": "5 4"} if dashed else {}
    return [
        element("path", d=curve, fill="none", stroke="currentColor", stroke_width="1.3", **look),
        element("path", d=head),
    ]


def _text(lines: list[str], x: float, bottom: float) -> list[Element]:
    """Return lines of text, the last of them on ``bottom``."""
    return [
        element("text", line, x=x, y=bottom - _LINE * (len(lines) - 1 - number), text_anchor="middle")
        for number, line in enumerate(lines)
    ]


def _told(states: Sequence[State], merged: dict[tuple[str, str], list[Arrow]]) -> str:
    """Say in words what is drawn."""
    labels = {state.name: state.label or state.name for state in states}
    final = [state.label or state.name for state in states if state.is_final]
    said = [
        f"from {labels[source]} to {labels[target]}: {', '.join(filter(None, (one.label for one in found)))}".replace(
            "\n", ", "
        )
        for (source, target), found in merged.items()
        if source
    ]
    return f"States: {', '.join(labels.values())}. Final: {', '.join(final) or 'none'}. Arrows: {'; '.join(said)}"
