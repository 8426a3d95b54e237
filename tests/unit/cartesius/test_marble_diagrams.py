"""Marble diagrams: every event is drawn where it belongs, or counted among those left out."""

from itertools import pairwise
from math import inf
from xml.etree import ElementTree

import pytest

from cartesius.drawing.marble_diagrams import INPUT, MOST_ON_A_LANE, RESULT, Lane, Marble, marble_svg
from cartesius.drawing.markup import visible

SVG = "{http://www.w3.org/2000/svg}"


def parsed(*lanes, **options):
    return ElementTree.fromstring(marble_svg(lanes, **options))


def at(*times, name="in", **options):
    return Lane(name, [Marble(f"e{time}", time, time) for time in times], **options)


def circles(root):
    return [(float(one.get("cx")), float(one.get("cy"))) for one in root.iter(f"{SVG}circle")]


def texts(root):
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_distances_are_those_of_time_where_that_can_be_read():
    (a, _), (b, _), (c, _) = circles(root := parsed(at(10, 14, 15)))
    assert b - a == pytest.approx(4 * (c - b), abs=0.01)
    assert "time" in texts(root)


def test_times_far_apart_stand_in_their_order_and_the_axis_says_so():
    root = parsed(at(0, 1, 60_000_000, inf))
    places = [x for x, _ in circles(root)]
    assert places == sorted(places)
    assert places[1] - places[0] == pytest.approx(places[3] - places[2], abs=0.01)
    assert {"time, in order", "∞"} <= set(texts(root))


def test_events_of_one_time_stand_below_each_other():
    root = parsed(Lane("in", [Marble(name, 3, 3) for name in "abc"]))
    (x, y), (x2, y2), (x3, y3) = circles(root)
    assert x == x2 == x3
    assert y < y2 < y3
    assert {"a", "b", "c"} <= set(texts(root))


def test_an_interval_is_a_bar_from_its_start_to_its_end():
    root = parsed(at(1, 5), Lane("long", [Marble("l", 1, 5)]))
    (start, _), (end, _), (x, y) = circles(root)
    assert x == end
    assert f"M{start:.1f} {y:.1f}H{end:.1f}" in [one.get("d") for one in root.iter(f"{SVG}path")]


def test_a_result_has_a_line_to_each_of_its_parts_and_none_to_what_is_not_drawn():
    parts = (("in", 1), ("in", 0), ("elsewhere", 0), ("in", 7))
    root = parsed(at(1, 5), Lane("out", [Marble("r", 1, 5, parts)], is_result=True))
    lines = [one.get("d") for one in root.iter(f"{SVG}path") if one.get("stroke-dasharray")]
    assert sorted(line.split("C")[0] for line in lines) == sorted(f"M{x:.1f} {y:.1f}" for x, y in circles(root))


def test_parts_are_found_by_their_place_on_the_lane_in_whatever_order_it_is_given():
    root = parsed(at(5, 1), Lane("out", [Marble("r", 5, 5, (("in", 0),))], is_result=True))
    (line,) = [one.get("d") for one in root.iter(f"{SVG}path") if one.get("stroke-dasharray")]
    assert line.startswith(f"M{max(x for x, _ in circles(root)):.1f} ")


def test_what_is_taken_back_is_hollow():
    root = parsed(Lane("out", [Marble("r", 1, 1), Marble("r", 2, 2, is_taken_back=True)]))
    assert [one.get("fill") == "none" for one in root.iter(f"{SVG}circle")] == [False, True]
    assert "out: r, 2, taken back" in [one.text for one in root.iter(f"{SVG}title")]


def test_labels_that_have_no_room_are_thinned_but_each_marble_still_says_what_it_is():
    root = parsed(at(*range(100)))
    shown = [text for text in texts(root) if text.startswith("e")]
    assert 0 < len(shown) < 100
    assert {f"in: e{time}, {time}" for time in range(100)} <= {one.text for one in root.iter(f"{SVG}title")}
    numbers = [one for one in root.iter(f"{SVG}text") if (one.text or "").isdigit()]
    places = [float(one.get("x")) for one in numbers]
    assert min(b - a for a, b in pairwise(places)) > 14


def test_of_very_many_events_some_are_left_out_and_counted():
    root = parsed(at(*range(MOST_ON_A_LANE + 7)))
    assert len(circles(root)) == MOST_ON_A_LANE
    assert "7 more events are left out" in texts(root)


def test_many_overlapping_results_stay_within_some_rows():
    root = parsed(Lane("out", [Marble("r", 0, end) for end in range(1, 80)], is_result=True))
    assert float(root.get("height")) < 300


def test_nothing_at_all_is_a_picture_too():
    assert "in: nothing" in parsed(Lane("in", []))[1].text
    assert parsed().tag == f"{SVG}svg"


def test_the_description_says_in_words_what_is_drawn():
    out = Lane("out", [Marble("r", 1, 5), Marble("r", 1, 5, is_taken_back=True)], is_result=True)
    assert parsed(at(1), out)[1].text == "in: e1 at 1. out: r at 1 to 5, r at 1 to 5 (taken back)"
    assert parsed(at(*range(30)))[1].text.endswith(", and 18 more")


def test_times_are_shown_as_asked():
    assert {"t1", "in: e1, t1"} <= {one.text for one in parsed(at(1), time_text=lambda time: f"t{time}").iter()}


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "[/RED]", "\x1b[31m\x00", "\u202e", '"><svg onload=x>'])
def test_hostile_names_and_labels_stay_text(text):
    root = parsed(Lane(text, [Marble(text, 0, 1)]), title=text)
    assert root[0].text == visible(text)
    tags = {one.tag.removeprefix(SVG) for one in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "circle", "path", "text"}
    assert not any(name.startswith("on") for one in root.iter() for name in one.attrib)


@pytest.mark.parametrize("background", ["#ffffff", "#131416"])
@pytest.mark.parametrize("colour", [INPUT, RESULT])
def test_shapes_stand_out_on_light_and_on_dark_pages(colour, background):
    """WCAG 2.1, 1.4.11: shapes need a contrast of 3 to 1."""

    def luminance(text):
        parts = [int(text[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    shape = colour.partition(",")[2].rstrip(")")
    dark, light = sorted([luminance(shape), luminance(background)])
    assert (light + 0.05) / (dark + 0.05) > 3
